package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/backend/agent"
	"countersign/backend/model"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/session"
	"countersign/backend/store"
)

// claimNext takes the next run under a lease, moves its input into the
// transcript, and starts its goroutine. It returns whether there was one.
func (m *Manager) claimNext(ctx context.Context) (bool, error) {
	var lease queue.Lease
	var r queue.Run
	found := false
	err := m.o.DB.Write(ctx, func(tx *store.Tx) error {
		found = false
		if paused, err := queue.Paused(tx); err != nil || paused {
			return err
		}
		id, ok, err := queue.Next(tx)
		if err != nil || !ok {
			return err
		}
		found = true
		if lease, err = queue.Claim(tx, id, m.epoch, m.nowMs()); err != nil {
			return err
		}
		if r, err = queue.Get(tx, id); err != nil {
			return err
		}
		return m.enter(tx, &r)
	})
	if err != nil || !found {
		return false, err
	}
	if r.State == protocol.RunRunning {
		m.begin(lease, r)
	}
	return true, nil
}

// enter moves the input of a claimed run into its transcript. A conversation
// that was reset or deleted meanwhile ends the run, visibly.
func (m *Manager) enter(tx *store.Tx, r *queue.Run) error {
	in, ok, err := queue.TakeInput(tx, r.ID)
	if err != nil || !ok {
		return err
	}
	if in.Replace != "" {
		if err := session.ReplaceFrom(tx, r.SessionID, in.Replace, m.nowMs()); err != nil && !errors.Is(err, session.ErrNotFound) {
			return err
		}
	}
	_, err = session.Append(tx, r.SessionID, in.Message)
	if errors.Is(err, session.ErrChanged) {
		r.State = protocol.RunFailed
		return m.finish(tx, *r, queue.Ending{State: protocol.RunFailed, ErrorKind: protocol.ErrorUnknown,
			ErrorMessage: "This conversation was reset before your message was read. Send it again."}, nil)
	}
	return err
}

// begin starts the goroutine of a claimed run.
func (m *Manager) begin(lease queue.Lease, r queue.Run) {
	ctx, cancel := context.WithCancelCause(m.ctx)
	a := &active{session: r.SessionKey, cancel: cancel, done: make(chan struct{}), live: newLive(m.o.Events, r)}
	m.mu.Lock()
	m.active[r.ID] = a
	m.mu.Unlock()
	m.workers.Go(func() {
		defer func() {
			cancel(nil)
			m.mu.Lock()
			delete(m.active, r.ID)
			m.mu.Unlock()
			close(a.done)
			m.poke()
		}()
		m.work(ctx, lease, r, a)
	})
}

// work runs the loop of one lease to its end and stores how it ended.
func (m *Manager) work(ctx context.Context, lease queue.Lease, r queue.Run, a *active) {
	j := &journal{m: m, lease: lease, run: r, live: a.live, commits: make(chan struct{}, 1)}
	if left := time.Duration(r.Limits.WallMs-r.WallMs) * time.Millisecond; left > 0 {
		timer := time.AfterFunc(left, func() { a.cancel(errWallTime) })
		defer timer.Stop()
	} else {
		a.cancel(errWallTime)
	}
	a.live.lifecycle("start", "")
	err := m.loop(ctx, j)
	if ctx.Err() != nil && err != nil && !errors.Is(err, agent.ErrParked) && !errors.Is(err, agent.ErrReleased) {
		err = context.Cause(ctx) // what ended the work, not how its step noticed
	}
	if err := j.end(context.WithoutCancel(ctx), err); err != nil && !errors.Is(err, queue.ErrLeaseLost) {
		m.o.Logger.Error("end run", "run", r.ID, "cause", err)
	}
}

// loop prepares what the run needs and works until it ends.
func (m *Manager) loop(ctx context.Context, j *journal) error {
	if err := j.prepare(ctx); err != nil {
		return err
	}
	retrier := model.NewRetrier(j.selected.Provider, model.RetryOptions{Notify: j.live.retrying})
	loop := &agent.Loop{Model: retrier, Journal: j, Emit: j.live.delta}
	if err := loop.Run(ctx); err != nil {
		return fmt.Errorf("run loop: %w", err)
	}
	return nil
}
