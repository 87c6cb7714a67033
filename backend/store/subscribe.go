package store

import (
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
)

// feedBacklog is how many commits may wait for slow subscribers. When it is
// full the writer waits, and so slows to their pace: nothing is dropped.
const feedBacklog = 1024

// feed hands committed changes to the subscribers, from one goroutine that run
// owns and close ends.
type feed struct {
	commits chan []Change
	done    chan struct{}
	logger  *slog.Logger

	mu   sync.Mutex // guards subs, never held while one is called
	subs []*subscriber
}

type subscriber struct {
	fn        func([]Change)
	cancelled atomic.Bool
}

func newFeed(logger *slog.Logger) *feed {
	return &feed{commits: make(chan []Change, feedBacklog), done: make(chan struct{}), logger: logger}
}

func (f *feed) run() {
	defer close(f.done)
	for changes := range f.commits {
		f.mu.Lock()
		subs := slices.Clone(f.subs)
		f.mu.Unlock()
		for _, s := range subs {
			if !s.cancelled.Load() {
				f.deliver(s, changes)
			}
		}
	}
}

func (f *feed) deliver(s *subscriber, changes []Change) {
	defer func() {
		if v := recover(); v != nil {
			f.logger.Error("subscriber to changes panicked", "value", v, "stack", string(debug.Stack()))
		}
	}()
	s.fn(slices.Clone(changes))
}

func (f *feed) publish(changes []Change) {
	select {
	case f.commits <- changes:
	default:
		f.logger.Warn("subscribers to changes are slow; commits wait for them", "waiting", feedBacklog)
		f.commits <- changes
	}
}

func (f *feed) close() {
	close(f.commits)
	<-f.done
}

// Subscribe has fn called with the changes of each commit, after COMMIT, in
// commit order, from one goroutine. fn owns the slice. It must not block and
// must not call Write: once 1024 commits wait for it, writers wait too. cancel
// may be called twice, also from fn; a call already under way may still end
// after it. Subscribing and then reading a snapshot loses nothing: changes up
// to the snapshot's [ReadTx.Seq] are to be ignored.
func (db *DB) Subscribe(fn func([]Change)) (cancel func()) {
	if db == nil {
		return func() {}
	}
	s := &subscriber{fn: fn}
	db.feed.mu.Lock()
	db.feed.subs = append(db.feed.subs, s)
	db.feed.mu.Unlock()
	return func() {
		s.cancelled.Store(true)
		db.feed.mu.Lock()
		defer db.feed.mu.Unlock()
		db.feed.subs = slices.DeleteFunc(db.feed.subs, func(other *subscriber) bool { return other == s })
	}
}
