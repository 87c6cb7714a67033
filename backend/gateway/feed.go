package gateway

import (
	"context"
	"fmt"
	"sync"

	"countersign/backend/protocol"
)

const (
	// replayPage is how many changes are read at once, maxReplay how many a client
	// may be behind before it is told to reload instead.
	replayPage = 500
	maxReplay  = 10_000
)

// changeFeed hands one client the durable changes in order, each once: first
// those of the log, then the live ones. Live changes that come while the log is
// read wait, and those the log held already are left out.
type changeFeed struct {
	mu        sync.Mutex
	replaying bool
	last      int64
	waiting   []waitingChange
}

type waitingChange struct {
	seq int64
	it  *item
}

// begin keeps live changes back until done.
func (f *changeFeed) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replaying = true
}

// live takes a change that has just been committed.
func (f *changeFeed) live(out *outbound, seq int64, it *item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.replaying {
		f.waiting = append(f.waiting, waitingChange{seq, it})
		return
	}
	f.pass(out, seq, it)
}

func (f *changeFeed) pass(out *outbound, seq int64, it *item) {
	if seq <= f.last {
		return
	}
	f.last = seq
	out.push(it)
}

// replayed sends one change from the log.
func (f *changeFeed) replayed(out *outbound, change protocol.ChangeEvent) error {
	body, err := encode(change)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pass(out, change.Seq, &item{event: protocol.EventChange, payload: body, size: int64(len(body) + frameOverhead)})
	return nil
}

// done goes live: what has been sent, or is known to the client, ends at last.
func (f *changeFeed) done(out *outbound, last int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replaying = false
	f.last = max(f.last, last)
	for _, w := range f.waiting {
		f.pass(out, w.seq, w.it)
	}
	f.waiting = nil
}

// plan decides what a resuming client gets: the changes after a sequence, or
// nothing and the advice to reload.
func (g *Gateway) plan(ctx context.Context, resume *protocol.ResumeParams) (hello *protocol.HelloChange, changes []protocol.ChangeEvent, err error) {
	last, err := g.opts.Changes.Last(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read the newest change: %w", err)
	}
	hello = &protocol.HelloChange{LastSeq: last, Complete: true}
	if resume == nil || resume.AfterSeq == last {
		return hello, nil, nil
	}
	if resume.AfterSeq > last || resume.AfterSeq < 0 || last-resume.AfterSeq > maxReplay {
		// A client ahead of us knows another history: a restored backup, another home.
		hello.Complete = false
		return hello, nil, nil
	}
	for after := resume.AfterSeq; ; {
		page, complete, err := g.opts.Changes.Since(ctx, after, replayPage)
		if err != nil {
			return nil, nil, fmt.Errorf("read changes after %d: %w", after, err)
		}
		if !complete || len(changes) > maxReplay {
			hello.Complete = false
			return hello, nil, nil
		}
		changes = append(changes, page...)
		if len(page) == 0 {
			return hello, changes, nil
		}
		after = page[len(page)-1].Seq
		hello.LastSeq = max(hello.LastSeq, after)
	}
}
