package sandbox

import (
	"context"
	"errors"
	"log/slog"
)

// Options configure a Runner.
type Options struct {
	// Logger receives what the owner need not see; nil discards it.
	Logger *slog.Logger
}

// Runner carries plans out. It is safe for concurrent use.
type Runner struct {
	log *slog.Logger
}

// NewRunner returns a runner; it starts nothing until it is used.
func NewRunner(o Options) *Runner {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Runner{log: log}
}

// Status says what protects commands here. The first call may start a short
// probe; later calls return the same answer.
func (r *Runner) Status() Status {
	return Status{Mechanism: MechanismNone}
}

// Run carries out s.Plan and returns when nothing of it runs any more. out, if
// not nil, is called from one goroutine at a time. Cancelling ctx ends the whole
// process tree within two seconds and is reported as Result.Stopped, not as an
// error. It returns a *PlanChangedError, which matches ErrPlanChanged, when
// the plan no longer describes what would run; the caller asks again.
func (r *Runner) Run(ctx context.Context, s Spec, out func(Chunk)) (Result, error) {
	return Result{}, errors.ErrUnsupported
}
