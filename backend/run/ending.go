package run

import (
	"context"
	"errors"
	"fmt"

	"countersign/backend/agent"
	"countersign/backend/approval"
	"countersign/backend/effect"
	"countersign/backend/model"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/session"
	"countersign/backend/store"
)

// sentence gives the words of an error for a person; what nobody foresaw is
// called that.
func sentence(err error) string {
	var me *model.Error
	if errors.As(err, &me) {
		return me.Sentence
	}
	var pe *protocol.Error
	if errors.As(err, &pe) {
		return pe.Message
	}
	return "Something went wrong inside Countersign; your message is kept. Try again, and look at the log if it happens again."
}

func kind(err error) protocol.ErrorKind {
	var me *model.Error
	if errors.As(err, &me) {
		return me.Kind
	}
	return protocol.ErrorUnknown
}

// end stores how the work under a lease ended, whatever ended it.
func (j *journal) end(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, agent.ErrReleased), errors.Is(err, agent.ErrParked), errors.Is(err, queue.ErrLeaseLost):
		return nil
	case errors.Is(err, errStopped):
		return j.stopped(ctx)
	case errors.Is(err, errShutdown):
		return j.tx(ctx, func(tx *store.Tx, r queue.Run) error {
			if err := queue.Advance(tx, r.ID, queue.Progress{WallMs: j.worked()}, j.m.nowMs()); err != nil {
				return err
			}
			return queue.Release(tx, r.ID, stepStopped, false, j.m.nowMs())
		})
	case errors.Is(err, errWallTime):
		return j.tx(ctx, func(tx *store.Tx, r queue.Run) error {
			if err := queue.Advance(tx, r.ID, queue.Progress{WallMs: j.worked()}, j.m.nowMs()); err != nil {
				return err
			}
			return j.m.ceiling(tx, r, protocol.CeilingWallTime)
		})
	}
	return j.failed(ctx, err)
}

func (j *journal) stopped(ctx context.Context) error {
	return j.tx(ctx, func(tx *store.Tx, r queue.Run) error {
		if err := queue.Advance(tx, r.ID, queue.Progress{WallMs: j.worked()}, j.m.nowMs()); err != nil {
			return err
		}
		return j.m.stopNow(tx, r, r.StopBy)
	})
}

func (j *journal) failed(ctx context.Context, cause error) error {
	words, k := sentence(cause), kind(cause)
	j.m.o.Logger.Warn("run failed", "run", j.run.ID, "kind", k, "cause", cause)
	return j.tx(ctx, func(tx *store.Tx, r queue.Run) error {
		if err := j.m.closeCalls(tx, r, "The run ended before this began; nothing was done."); err != nil {
			return err
		}
		return j.m.finish(tx, r, queue.Ending{State: protocol.RunFailed, ErrorMessage: words, ErrorKind: k}, nil)
	})
}

// finish ends a run and, once that is on disk, tells every client how. final is
// the last message of a run that is done.
func (m *Manager) finish(tx *store.Tx, r queue.Run, e queue.Ending, final *protocol.Message) error {
	if err := queue.Finish(tx, r.ID, e, m.nowMs()); err != nil {
		return err
	}
	tx.OnCommit(func() { m.liveOf(r).finished(e, final) })
	return nil
}

// liveOf returns the live side of a run, made anew for one that does not work.
func (m *Manager) liveOf(r queue.Run) *live {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, ok := m.active[r.ID]; ok {
		return a.live
	}
	return newLive(m.o.Events, r)
}

// ceiling parks a run at a hard limit. One that was raised before ends instead:
// a ceiling is raised once.
func (m *Manager) ceiling(tx *store.Tx, r queue.Run, c protocol.CeilingName) error {
	if raisedBefore(r, c) {
		words := fmt.Sprintf("It reached %s a second time and was ended. What it did is kept; send a message to go on.", ceilingWords(r, c))
		if err := m.closeCalls(tx, r, "The run reached its limit before this began; nothing was done."); err != nil {
			return err
		}
		return m.finish(tx, r, queue.Ending{State: protocol.RunFailed, ErrorMessage: words, ErrorKind: protocol.ErrorUnknown}, nil)
	}
	return queue.Park(tx, r.ID, protocol.ParkCeiling, string(c), m.nowMs())
}

func ceilingWords(r queue.Run, c protocol.CeilingName) string {
	switch c {
	case protocol.CeilingModelCalls:
		return fmt.Sprintf("its limit of %d model calls", r.Limits.ModelCalls)
	case protocol.CeilingToolCalls:
		return fmt.Sprintf("its limit of %d tool calls", r.Limits.ToolCalls)
	}
	return fmt.Sprintf("its limit of %d seconds of work", r.Limits.WallMs/1000)
}

// stopNow ends a run that holds no goroutine, or whose goroutine calls this as
// its last write: what waits is cancelled, and every open call gets its result.
func (m *Manager) stopNow(tx *store.Tx, r queue.Run, by string) error {
	if err := approval.Cancel(tx, r.ID, "The run was stopped.", m.maskJSON, m.nowMs()); err != nil {
		return err
	}
	if err := m.showInput(tx, r); err != nil {
		return err
	}
	if err := m.closeCalls(tx, r, "Stopped by the owner before this began; nothing was done."); err != nil {
		return err
	}
	return m.finish(tx, r, queue.Ending{State: protocol.RunStopped, ErrorMessage: "Stopped by " + by + "."}, nil)
}

// showInput puts the message of a run that never began into the transcript, so
// that it is seen to have ended. It is marked as stopped: no model may hear it,
// least of all the run before it, in whose middle it may stand.
func (m *Manager) showInput(tx *store.Tx, r queue.Run) error {
	in, ok, err := queue.TakeInput(tx, r.ID)
	if err != nil || !ok {
		return err
	}
	in.Message.StopReason = protocol.StopAborted
	if _, err := session.Append(tx, r.SessionID, in.Message); err != nil && !errors.Is(err, session.ErrChanged) {
		return err
	}
	return nil
}

// closeCalls gives every open call of a run that ends its result: effects that
// have not begun are ended as stopped, with a receipt.
func (m *Manager) closeCalls(tx *store.Tx, r queue.Run, words string) error {
	j := &journal{m: m, run: r}
	history, err := session.History(tx, r.SessionID)
	if err != nil {
		return err
	}
	j.history = history
	if err := j.openCalls(tx); err != nil {
		return err
	}
	if len(j.pending) == 0 {
		return nil
	}
	if j.agent, err = agentOf(tx, r); err != nil {
		return err
	}
	for _, c := range j.pending {
		if c.effect != nil && !c.effect.State.Ended() {
			outcome, told := protocol.OutcomeStopped, words
			if c.effect.State == effect.Started {
				// Its end could not be stored, so nobody knows it any more.
				outcome, told = protocol.OutcomeUnknown, "The result of this was lost; it may have happened. Do not repeat it without checking."
			}
			end := j.ending(c, outcome)
			end.Facts.NeverStarted, end.ResultText, end.IsError = outcome == protocol.OutcomeStopped, told, true
			receipt, err := effect.Finish(tx, *c.effect, end, m.nowMs())
			if err != nil {
				return err
			}
			c.result = &result{text: told, isError: true, receipt: receipt.ID}
		}
		if c.result == nil && c.effect != nil {
			c.result = &result{text: c.effect.ResultText, isError: c.effect.IsError, receipt: c.effect.ReceiptID, taint: c.effect.Taint}
		}
		if c.result == nil {
			c.result = &result{text: words, isError: true}
		}
	}
	_, err = j.flush(tx)
	if errors.Is(err, session.ErrChanged) {
		return nil // the transcript was reset; there is nothing to complete
	}
	return err
}
