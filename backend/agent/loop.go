// Package agent is the loop between a model and its tools.
//
// It has no database and no network of its own: it asks a [Journal] where the
// run stands, calls the model, and hands the model's calls back to the journal,
// which decides, performs and stores them. Everything it learns is on disk
// before it goes on, so that a loop started again after a restart, a decision or
// a pause continues where the journal says, and nowhere else.
package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"countersign/backend/model"
	"countersign/backend/protocol"
)

// Standing is what the journal knows of one call.
type Standing int

// Standings of a call: its result is settled, it may be performed, or it waits
// for a person.
const (
	Settled Standing = iota
	Ready
	Waiting
)

// Call is one tool call of the newest answer. Reads says that it changes nothing
// and goes nowhere, so that neighbours of its kind may run beside it.
type Call struct {
	Block    protocol.ToolCallBlock
	Standing Standing
	Reads    bool
}

// Journal is the loop's memory and its hands. Each method returns after what it
// did is on disk. A method may return ErrParked or ErrReleased, which end the
// loop.
type Journal interface {
	// Open returns the calls that wait for a result, in the model's order; none
	// means that the model is next.
	Open(ctx context.Context) ([]protocol.ToolCallBlock, error)
	// BeginModelCall counts a model call and returns the request to send.
	BeginModelCall(ctx context.Context) (model.Request, error)
	// Answer stores a complete answer; done says that the run has ended with it.
	Answer(ctx context.Context, r model.Response) (done bool, err error)
	// Broken stores what had arrived of an answer that failed and ends the run.
	Broken(ctx context.Context, partial model.Response, cause error) error
	// Decide settles what may be done with every open call before any begins.
	Decide(ctx context.Context, calls []protocol.ToolCallBlock) ([]Call, error)
	// Perform carries out one ready call and stores its result. It is safe to
	// perform several calls that only read at once.
	Perform(ctx context.Context, call protocol.ToolCallBlock) error
	// Park leaves the run waiting, unless a person has decided meanwhile: then it
	// returns nil and the loop looks again.
	Park(ctx context.Context) error
}

// ErrParked says that the run waits for a person and the loop has ended.
var ErrParked = errors.New("the run is parked")

// ErrReleased says that the run went back to its queue and the loop has ended.
var ErrReleased = errors.New("the run went back to its queue")

// ErrLookAgain says that what was decided about a call no longer holds and
// nothing was done: the loop asks the journal anew.
var ErrLookAgain = errors.New("what was decided no longer holds")

// maxReads bounds how many reading calls run at once.
const maxReads = 4

// Loop runs one run.
type Loop struct {
	Model   model.Provider
	Journal Journal
	// Emit receives the parts of an answer as they arrive.
	Emit func(model.Delta)
}

// Run works until the run has ended (nil), is parked or released, or ctx ends.
func (l *Loop) Run(ctx context.Context) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		open, err := l.Journal.Open(ctx)
		if err != nil {
			return err
		}
		if len(open) > 0 {
			if err := l.batch(ctx, open); err != nil && !errors.Is(err, ErrLookAgain) {
				return err
			}
			continue
		}
		done, err := l.turn(ctx)
		if err != nil || done {
			return err
		}
	}
}

func (l *Loop) turn(ctx context.Context) (done bool, err error) {
	req, err := l.Journal.BeginModelCall(ctx)
	if err != nil {
		return false, err
	}
	resp, err := l.Model.Stream(ctx, req, l.Emit)
	if err != nil {
		return true, l.Journal.Broken(ctx, resp, err)
	}
	return l.Journal.Answer(ctx, resp)
}

// batch performs calls in the model's order up to the first that waits for a
// person; those after it may depend on it, so they wait too. Neighbours that
// only read run together.
func (l *Loop) batch(ctx context.Context, open []protocol.ToolCallBlock) error {
	calls, err := l.Journal.Decide(ctx, open)
	if err != nil {
		return err
	}
	for i := 0; i < len(calls); {
		switch c := calls[i]; {
		case c.Standing == Settled:
			i++
		case c.Standing == Waiting:
			return l.Journal.Park(ctx)
		case c.Reads:
			n := readsFrom(calls[i:])
			if err := l.together(ctx, calls[i:i+n]); err != nil {
				return err
			}
			i += n
		default:
			if err := l.perform(ctx, c); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

func readsFrom(calls []Call) int {
	n := 0
	for n < len(calls) && n < maxReads && calls[n].Standing == Ready && calls[n].Reads {
		n++
	}
	return n
}

func (l *Loop) perform(ctx context.Context, c Call) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := l.Journal.Perform(ctx, c.Block); err != nil {
		return fmt.Errorf("perform %s: %w", c.Block.Name, err)
	}
	return nil
}

func (l *Loop) together(ctx context.Context, calls []Call) error {
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() { errs[i] = l.perform(ctx, c) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
