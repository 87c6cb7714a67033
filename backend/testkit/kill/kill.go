// Package kill starts the real `countersign serve`, waits until it is ready, and
// ends it as a power cut would: by SIGKILL, with nothing said and nothing closed.
//
// It controls one process and judges nothing; what a killed host left behind is
// for package invariant. The host it starts sees no session bus, so that no test
// reaches the owner's keychain, and its own home folder, so that none reaches the
// owner's files.
package kill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// program is the package of the host.
const program = "countersign/backend/cmd/countersign"

// pipeTime is how long a child may hold the output of an ended host.
const pipeTime = 5 * time.Second

// ErrNotReady reports a host that ended, or took too long, before it was ready.
var ErrNotReady = errors.New("the host did not become ready")

// Build builds the host's program into dir and returns its path. It must be
// called inside the module, and takes the flags of `make build`, so that what was
// compiled there is used again.
func Build(ctx context.Context, dir string) (bin string, err error) {
	bin = filepath.Join(dir, "countersign")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", bin, program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the host: %w\n%s", err, out)
	}
	return bin, nil
}

// Options say which host to start.
type Options struct {
	// Bin is the program, Home its data directory. The host's home folder is
	// Home's parent.
	Bin  string
	Home string
	// Args follow `serve`, Env is added to the environment.
	Args []string
	Env  []string
	// Log takes what the host writes to its standard error; nil drops it.
	Log io.Writer
}

// Ready is what a host prints when it can be used, and how long that took.
type Ready struct {
	URL    string        `json:"url"`
	WS     string        `json:"ws"`
	Ticket string        `json:"ticket"`
	PID    int           `json:"pid"`
	Took   time.Duration `json:"-"`
}

// Host is one running host. It is safe for concurrent use.
type Host struct {
	Ready
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how the process ended, once done is closed
}

// Start starts a host and waits until it is ready. A host that ended before, or
// was not ready when ctx ended, is killed and reported as ErrNotReady.
func Start(ctx context.Context, o Options) (*Host, error) {
	cmd := exec.Command(o.Bin, append([]string{"serve"}, o.Args...)...)
	cmd.Env = append(environment(o.Home), o.Env...)
	cmd.WaitDelay = pipeTime
	line := &firstLine{came: make(chan []byte, 1)}
	tail := &tail{also: o.Log}
	cmd.Stdout, cmd.Stderr = line, tail
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the host: %w", err)
	}
	h := &Host{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(h.done)
		h.err = cmd.Wait()
	}()
	select {
	case raw := <-line.came:
		h.Took = time.Since(began)
		if err := json.Unmarshal(raw, &h.Ready); err != nil {
			h.Kill()
			return nil, fmt.Errorf("%w: it printed %q", ErrNotReady, raw)
		}
		return h, nil
	case <-h.done:
		return nil, fmt.Errorf("%w: it ended (%w) and said: %s", ErrNotReady, h.err, tail)
	case <-ctx.Done():
		h.Kill()
		return nil, fmt.Errorf("%w: %w; it said: %s", ErrNotReady, ctx.Err(), tail)
	}
}

// environment is that of this process without what leads to the owner's session.
func environment(home string) []string {
	var out []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		switch {
		case name == "HOME", name == "DISPLAY", name == "WAYLAND_DISPLAY", strings.HasPrefix(name, "XDG_"), strings.HasPrefix(name, "DBUS_"),
			strings.HasSuffix(name, "_API_KEY"):
		default:
			out = append(out, e)
		}
	}
	return append(out, "COUNTERSIGN_HOME="+home, "HOME="+filepath.Dir(home), "DBUS_SESSION_BUS_ADDRESS=unix:path="+filepath.Join(home, "no-session-bus"))
}

// Kill ends the host by SIGKILL and returns when the process is gone. What the
// host had started is not touched.
func (h *Host) Kill() {
	// The only error is that it has ended already.
	_ = h.cmd.Process.Kill()
	<-h.done
}

// Stop asks the host to end in order and waits for it; when ctx ends first, it
// kills the host and reports that.
func (h *Host) Stop(ctx context.Context) error {
	if err := h.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the host: %w", err)
	}
	select {
	case <-h.done:
		if h.err != nil {
			return fmt.Errorf("stop the host: %w", h.err)
		}
		return nil
	case <-ctx.Done():
		h.Kill()
		return fmt.Errorf("stop the host: it did not end in time: %w", ctx.Err())
	}
}

// Done is closed when the process has ended.
func (h *Host) Done() <-chan struct{} { return h.done }

// firstLine hands on the first line written to it and drops the rest.
type firstLine struct {
	came chan []byte
	part []byte
	sent bool
}

func (l *firstLine) Write(p []byte) (int, error) {
	if l.sent {
		return len(p), nil
	}
	l.part = append(l.part, p...)
	if line, _, ok := bytes.Cut(l.part, []byte("\n")); ok {
		l.sent = true
		l.came <- line
	}
	return len(p), nil
}

// tailSize is how much of a host's last words is kept, in bytes.
const tailSize = 4096

// tail keeps the end of what is written to it. It is safe for concurrent use.
type tail struct {
	also io.Writer

	mu   sync.Mutex // guards kept
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - tailSize; extra > 0 {
		t.kept = t.kept[extra:]
	}
	t.mu.Unlock()
	if t.also != nil {
		return t.also.Write(p)
	}
	return len(p), nil
}

// String is the end of what was written.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.kept))
}
