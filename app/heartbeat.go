package app

import (
	"context"
	"sync"
	"time"
)

// The page answers a beat every few seconds. When its process dies, Wails leaves a blank window and tells nobody, so
// silence is the only sign.
const (
	beatEvery   = 5 * time.Second
	beatMissing = 20 * time.Second
)

// heartbeat watches a page that has shown life once. It asks for each beat by a script of its own, because timers of a
// hidden page may be slowed down to one in a minute.
type heartbeat struct {
	ask func()

	mu   sync.Mutex // guards last
	last time.Time  // zero before the first beat
}

// beat notes a sign of life.
func (h *heartbeat) beat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = time.Now()
}

// silentFor reports how long the page has been silent, zero before its first beat.
func (h *heartbeat) silentFor() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last.IsZero() {
		return 0
	}
	return time.Since(h.last)
}

// watch returns true once the page has been silent for too long, false when ctx ends. When this process itself stood
// still — the computer slept, or it was stopped — the page is given its time again.
func (h *heartbeat) watch(ctx context.Context) bool {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	before := time.Now()
	for {
		select {
		case <-ctx.Done():
			return false
		case now := <-tick.C:
			// Round drops the monotonic reading, which stands still while the computer sleeps.
			stood := max(now.Sub(before), now.Round(0).Sub(before.Round(0)))
			before = now
			if h.overdue(stood) {
				return true
			}
			h.ask()
		}
	}
}

// overdue judges the page, after stood has gone by since the last judgement.
func (h *heartbeat) overdue(stood time.Duration) bool {
	if stood > 2*beatEvery && h.silentFor() > 0 {
		h.beat()
	}
	return h.silentFor() >= beatMissing
}
