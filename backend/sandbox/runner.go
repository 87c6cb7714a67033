package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// stopGrace is how long a command may take to end by itself after it was asked
// to. With killWait it stays below the two seconds that Stop promises.
const (
	stopGrace = 700 * time.Millisecond
	killWait  = 500 * time.Millisecond
)

// Options configure a Runner.
type Options struct {
	// Logger receives what the owner need not see; nil discards it.
	Logger *slog.Logger
}

// Runner carries plans out. It is safe for concurrent use.
type Runner struct {
	log *slog.Logger
	// detect finds the mechanism and start uses it; tests replace them to run
	// without one.
	detect func() detected
	start  func(context.Context, detected, request) (*process, error)

	mu    sync.Mutex
	found detected
	until time.Time // a failure is looked at again after this moment
}

// retryDetection is how long a failed detection is believed.
const retryDetection = 15 * time.Second

// NewRunner returns a runner; it starts nothing until it is used.
func NewRunner(o Options) *Runner {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Runner{log: log, detect: detect, start: start}
}

// Status says what protects commands here. It may start a short probe; a working
// mechanism is probed once, a missing one again after a while, so that
// installing it needs no restart.
func (r *Runner) Status() Status { return r.mechanism().Status }

func (r *Runner) mechanism() detected {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.found.Mechanism == "" || (r.found.Mechanism == MechanismNone && now.After(r.until)) {
		r.found = r.detect()
		r.until = now.Add(retryDetection)
		r.log.Info("sandbox", "mechanism", r.found.Mechanism, "reason", r.found.Reason)
	}
	return r.found
}

// Run carries out s.Plan and returns when nothing of it runs any more. out, if
// not nil, is called by one goroutine at a time and has to return soon; it gets
// at most MaxOutput bytes of each stream. Cancelling ctx ends the whole process
// tree within two seconds and is reported as Result.Stopped, not as an error. It
// returns a *PlanChangedError, which matches ErrPlanChanged, when the plan no
// longer describes what would run; the caller asks again. After any error
// nothing has run.
func (r *Runner) Run(ctx context.Context, s Spec, out func(Chunk)) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{ExitCode: -1, Stopped: true, Mechanism: r.mechanism().Mechanism}, nil
	}
	if len(s.Plan.Argv) == 0 {
		return Result{}, refuse(nil, "The command is empty.")
	}
	m := r.mechanism()
	env := Scrub(s.Env, s.Plan.Network)
	mounts, tools := s.Place.mounts(), toolDirs(env)
	if err := checkPlace(mounts, tools, s.Plan); err != nil {
		return Result{}, err
	}
	if err := verify(s.Plan, s.Env); err != nil {
		return Result{}, err
	}
	private, err := newPrivate(m.Mechanism)
	if err != nil {
		return Result{}, err
	}
	defer private.remove(r.log)
	l, err := seal(s.Plan, mounts, private.base)
	if err != nil {
		return Result{}, err
	}
	defer closeAll(l.held)
	if err := private.fill(l.files); err != nil {
		return Result{}, err
	}
	p, err := r.start(ctx, m, request{spec: s, launch: l, mounts: mounts, tools: tools, env: env, private: private})
	if err != nil && ctx.Err() != nil {
		return Result{ExitCode: -1, Stopped: true, Mechanism: m.Mechanism}, nil
	}
	if err != nil {
		return Result{}, fmt.Errorf("start %s: %w", s.Plan.Program, err)
	}
	res := p.follow(ctx, s, out)
	res.Mechanism = m.Mechanism
	return res, nil
}

// request is everything that starting a command needs.
type request struct {
	spec    Spec
	launch  launch
	mounts  []mount
	tools   []string
	env     []string
	private private
}

// private is the folder of one run: its home and, without bubblewrap, its copies.
type private struct {
	// base is where copies are, as the command sees it.
	base string
	// dir is on this disk, or empty when everything is inside the sandbox.
	dir string
}

// insideBase is where copies lie under bubblewrap.
const insideBase = "/run/countersign"

func newPrivate(m Mechanism) (private, error) {
	if m == MechanismBubblewrap {
		return private{base: insideBase}, nil
	}
	dir, err := os.MkdirTemp("", "countersign-run-")
	if err != nil {
		return private{}, fmt.Errorf("make a private folder for the command: %w", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	p := private{base: filepath.Join(dir, "code"), dir: dir}
	if err := os.Mkdir(p.home(), 0o700); err != nil {
		return p, fmt.Errorf("make a private folder for the command: %w", err)
	}
	return p, nil
}

func (p private) home() string { return filepath.Join(p.dir, "home") }

// fill writes the copies to the disk when the sandbox does not hold them itself.
func (p private) fill(files []sealedFile) error {
	if p.dir == "" {
		return nil
	}
	for _, f := range files {
		err := os.MkdirAll(filepath.Dir(f.path), 0o700)
		if err == nil && f.target != "" {
			err = linkOrSkip(f.target, f.path)
		} else if err == nil {
			err = os.WriteFile(f.path, f.data, f.mode&^0o022)
		}
		if err != nil {
			return fmt.Errorf("copy what the command runs: %w", err)
		}
	}
	return nil
}

func (p private) remove(log *slog.Logger) {
	if p.dir == "" {
		return
	}
	if err := os.RemoveAll(p.dir); err != nil {
		log.Warn("private folder of a command stays", "dir", p.dir, "cause", err)
	}
}
