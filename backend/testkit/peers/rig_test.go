//go:build peers

package peers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/backend/testkit/kill"
)

// patience bounds one step of a peer. On a quiet machine most take two seconds,
// nearly all of it the start of Node; a builder's machine is seldom quiet.
const patience = 3 * time.Minute

const token = "a-token-of-the-peers-tests-0123456789"

// program is the host's program, built once for all tests.
var program string

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "countersign-peers")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if program, err = kill.Build(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// peer returns the folder of an installed peer.
func peer(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "..", ".cache", "peers", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "installed")); err != nil {
		t.Fatalf("the peer %s is not installed; run build/peers.sh %s, which says what is in the way", name, name)
	}
	return dir
}

// node returns Node 24, which OpenClaw wants and which the system may lack.
func node(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(peer(t, "node"), "node_modules", "node-*", "bin", "node"))
	if err != nil || len(found) == 0 {
		t.Fatalf("the peer node holds no program; run build/peers.sh node: %v", err)
	}
	return found[0]
}

// needs fails the test when a program of the system is missing.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Fatalf("the program %s is missing; run build/peers.sh, which installs it or says what to install", p)
		}
	}
}

// host is a running host with the practice model.
type host struct {
	*kill.Host
	t    *testing.T
	home string
}

func startHost(t *testing.T) *host {
	t.Helper()
	h := newHost(t)
	h.must("model", "add", "--name", "practice", "--provider", "practice", "--default")
	h.start()
	return h
}

// newHost is a data directory whose host does not run yet.
func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, home: filepath.Join(t.TempDir(), "data")}
	if err := os.Mkdir(h.home, 0o700); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *host) start() {
	h.t.Helper()
	file := filepath.Join(h.t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	var err error
	if h.Host, err = kill.Start(ctx, kill.Options{Bin: program, Home: h.home, Args: []string{"--token-file", file}}); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		select {
		case <-h.Done():
			return
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := h.Stop(ctx); err != nil {
			h.t.Error(err)
		}
	})
}

// address is the host's as OpenClaw is told it: its clients add no path.
func (h *host) address() string { return strings.TrimSuffix(h.WS, "/ws") }

// command is our own command line on this data directory.
func (h *host) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "COUNTERSIGN_HOME="+h.home, "HOME="+filepath.Dir(h.home), "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent")
	return cmd
}

func (h *host) must(args ...string) string {
	h.t.Helper()
	out, status := output(h.t, h.command(args...))
	if status != 0 {
		h.t.Fatalf("countersign %s ended with %d: %s", strings.Join(args, " "), status, out)
	}
	return out
}

// output runs a command to its end and returns what it wrote and its status.
func output(t *testing.T, cmd *exec.Cmd) (string, int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run %s: %v", cmd.Path, err)
	}
	if out.Len() == 0 {
		return errs.String(), cmd.ProcessState.ExitCode()
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// until looks again and again until a thing outside of this process is so. There
// is no signal to wait for.
func until(t *testing.T, what string, look func() bool, state func() string) {
	t.Helper()
	ticker := time.NewTicker(300 * time.Millisecond)
	defer ticker.Stop()
	end := time.After(patience)
	for !look() {
		select {
		case <-ticker.C:
		case <-end:
			t.Fatalf("waited in vain for %s; the last is:\n%s", what, state())
		}
	}
}

func decode[T any](t *testing.T, raw string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("read %q: %v", raw, err)
	}
	return v
}
