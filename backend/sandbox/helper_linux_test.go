package sandbox

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bed is a workspace with a runner.
type bed struct {
	t      *testing.T
	runner *Runner
	dir    string
	place  Place
	env    []string
}

// onEach runs fn with every way to start a command that works on this machine.
func onEach(t *testing.T, fn func(*testing.T, *Runner)) {
	t.Helper()
	ways := map[string]func(*Runner){
		"bubblewrap": func(*Runner) {},
		"namespace": func(r *Runner) {
			r.detect = none
			r.start = func(_ context.Context, _ detected, q request) (*process, error) { return startInNamespace(q) }
		},
		"marked": func(r *Runner) {
			r.detect = none
			r.start = func(_ context.Context, _ detected, q request) (*process, error) { return startMarked(q) }
		},
	}
	for name, prepare := range ways {
		t.Run(name, func(t *testing.T) {
			r := NewRunner(Options{})
			prepare(r)
			if name == "bubblewrap" {
				needBubblewrap(t, r)
			}
			fn(t, r)
		})
	}
}

func none() detected { return detected{Status: Status{Mechanism: MechanismNone, Reason: "test"}} }

func needBubblewrap(t *testing.T, r *Runner) {
	t.Helper()
	if s := r.Status(); s.Mechanism != MechanismBubblewrap {
		t.Skipf("no bubblewrap: %s %s", s.Reason, s.Remedy)
	}
}

func boxed(t *testing.T) *bed {
	t.Helper()
	r := NewRunner(Options{})
	needBubblewrap(t, r)
	return newBed(t, r)
}

func newBed(t *testing.T, r *Runner) *bed {
	t.Helper()
	dir := t.TempDir()
	return &bed{t: t, runner: r, dir: dir, place: Place{Roots: []Root{{Path: dir, Writable: true}}}}
}

func (b *bed) write(name, text string, mode os.FileMode) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bed) plan(argv ...string) Plan {
	b.t.Helper()
	p, err := Resolve(argv, b.dir, b.env, false)
	if err != nil {
		b.t.Fatalf("Resolve(%q): %v", argv, err)
	}
	return p
}

func (b *bed) run(argv ...string) Result {
	b.t.Helper()
	return b.runPlan(b.plan(argv...))
}

func (b *bed) runPlan(p Plan) Result {
	b.t.Helper()
	res, err := b.runner.Run(context.Background(), Spec{Plan: p, Place: b.place, Env: b.env, Timeout: time.Minute}, nil)
	if err != nil {
		b.t.Fatalf("Run(%q): %v", p.Argv, err)
	}
	return res
}

func (b *bed) wantOutput(res Result, want string) {
	b.t.Helper()
	if res.ExitCode != 0 || res.Stdout != want {
		b.t.Fatalf("exit %d, stdout %q, stderr %q; want %q", res.ExitCode, res.Stdout, res.Stderr, want)
	}
}

// alive returns the command lines of living processes that hold marker.
func alive(marker string) []string {
	var found []string
	for _, p := range processes() {
		line, err := os.ReadFile(filepath.Join("/proc", itoa(p.pid), "cmdline"))
		if err == nil && !p.zombie && strings.Contains(string(line), marker) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// poll asks until ok is true or the deadline has passed.
func poll(limit time.Duration, ok func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok() {
			return true
		}
		select {
		case <-deadline.C:
			return ok()
		case <-tick.C:
		}
	}
}
