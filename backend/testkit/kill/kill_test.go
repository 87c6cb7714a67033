package kill_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/backend/testkit/kill"
)

// program writes a shell script that stands in for the host.
func program(t *testing.T, script string) kill.Options {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "host")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return kill.Options{Bin: bin, Home: filepath.Join(dir, "data")}
}

const readyLine = `echo '{"url":"http://u","ws":"ws://w","ticket":"t","pid":7}'` + "\n"

func TestAHostIsReadyOnceItSaysSoAndIsGoneOnceKilled(t *testing.T) {
	o := program(t, readyLine+"trap '' INT TERM; while :; do sleep 0.1; done")
	h, err := kill.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if h.URL != "http://u" || h.WS != "ws://w" || h.Ticket != "t" || h.PID != 7 || h.Took <= 0 {
		t.Errorf("ready: %+v", h.Ready)
	}
	select {
	case <-h.Done():
		t.Fatal("it has ended by itself")
	default:
	}
	h.Kill()
	h.Kill() // a second time is fine
	select {
	case <-h.Done():
	default:
		t.Error("killed and not gone")
	}
}

func TestAHostThatEndsBeforeItIsReadyIsToldWithItsLastWords(t *testing.T) {
	_, err := kill.Start(t.Context(), program(t, "echo the disk is gone >&2; exit 1"))
	if !errors.Is(err, kill.ErrNotReady) || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("told as %v", err)
	}
}

func TestAHostThatTakesTooLongIsKilled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := kill.Start(ctx, program(t, "exec sleep 60")); !errors.Is(err, kill.ErrNotReady) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("told as %v", err)
	}
}

func TestAHostThatPrintsSomethingElseIsNotReady(t *testing.T) {
	if _, err := kill.Start(t.Context(), program(t, "echo hello; exec sleep 60")); !errors.Is(err, kill.ErrNotReady) {
		t.Errorf("told as %v", err)
	}
}

func TestStopWaitsForTheEndAndKillsWhatDoesNotEnd(t *testing.T) {
	h, err := kill.Start(t.Context(), program(t, "trap 'exit 0' INT\n"+readyLine+"while :; do sleep 0.05; done"))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Stop(t.Context()); err != nil {
		t.Errorf("a clean end is told as %v", err)
	}
	h, err = kill.Start(t.Context(), program(t, "trap '' INT\n"+readyLine+"while :; do sleep 0.05; done"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := h.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a host that ignores it is told as %v", err)
	}
	<-h.Done()
}

func TestAHostSeesItsDataFolderAndNothingOfTheOwnersSession(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1/bus")
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/1")
	t.Setenv("ANTHROPIC_API_KEY", "the-owners-key")
	o := program(t, `printf '%s\n' "$COUNTERSIGN_HOME|$HOME|$XDG_RUNTIME_DIR|$ANTHROPIC_API_KEY|$EXTRA|$1|$2" > "$HOME/seen"; env > "$HOME/env"`+"\n"+readyLine)
	o.Args, o.Env = []string{"--listen"}, []string{"EXTRA=1"}
	h, err := kill.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	<-h.Done()
	parent := filepath.Dir(o.Home)
	seen, err := os.ReadFile(filepath.Join(parent, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	if want := o.Home + "|" + parent + "|||1|serve|--listen\n"; string(seen) != want {
		t.Errorf("it saw %q, want %q", seen, want)
	}
	env, err := os.ReadFile(filepath.Join(parent, "env"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(env)) {
		if bus, ok := strings.CutPrefix(strings.TrimSpace(line), "DBUS_SESSION_BUS_ADDRESS=unix:path="); ok {
			if _, err := net.Dial("unix", bus); err == nil {
				t.Errorf("a bus answers at %s", bus)
			}
		}
	}
}
