package sandbox

import (
	"errors"
	"strings"
)

// ErrPlanChanged matches every PlanChangedError. The caller resolves the plan
// again and asks a new question.
var ErrPlanChanged = errors.New("the command changed since it was approved")

// PlanChangedError says what differs between the plan and what would run now.
type PlanChangedError struct {
	// Differences are plain clauses, such as "build.sh has other content".
	Differences []string
}

// Error lists the differences.
func (e *PlanChangedError) Error() string {
	return ErrPlanChanged.Error() + ": " + strings.Join(e.Differences, "; ")
}

// Is makes errors.Is(err, ErrPlanChanged) true.
func (e *PlanChangedError) Is(target error) bool { return target == ErrPlanChanged }

// ResolveError says in one sentence why a command cannot be planned. The
// sentence is meant for the model and the owner.
type ResolveError struct {
	Sentence string
	Err      error
}

// Error returns the sentence.
func (e *ResolveError) Error() string { return e.Sentence }

// Unwrap returns the cause, such as fs.ErrNotExist, or nil.
func (e *ResolveError) Unwrap() error { return e.Err }
