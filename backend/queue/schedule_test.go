package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/store"

	"pgregory.net/rapid"
)

// schedule drives a queue at random and keeps beside it what must be true.
type schedule struct {
	*rig
	t        *rapid.T
	n        int
	order    map[protocol.SessionKey][]protocol.RunID // accepted and not ended, oldest first
	leases   map[protocol.RunID]queue.Lease           // of runs that work
	void     []queue.Lease
	parked   map[protocol.RunID]bool
	ended    map[protocol.RunID]bool
	consumed map[protocol.RunID]int
	paused   bool
}

// TestRandomSchedulesLoseNothing prints its seed when it fails; give it back
// with -rapid.seed.
func TestRandomSchedulesLoseNothing(t *testing.T) {
	db := newRig(t).db
	rapid.Check(t, func(rt *rapid.T) {
		s := &schedule{
			rig: &rig{TB: rt, db: db}, t: rt, order: map[protocol.SessionKey][]protocol.RunID{},
			leases: map[protocol.RunID]queue.Lease{}, parked: map[protocol.RunID]bool{}, ended: map[protocol.RunID]bool{}, consumed: map[protocol.RunID]int{},
		}
		s.must(func(tx *store.Tx) error {
			for _, table := range []string{"inputs", "runs", "switches", "boots"} {
				if _, err := tx.Exec(`DELETE FROM ` + table); err != nil {
					return err
				}
			}
			return nil
		})
		s.boot()
		rt.Repeat(map[string]func(*rapid.T){
			"accept": s.accepts, "claim": s.claims, "park": s.parks, "resume": s.resumes, "release": s.releases, "finish": s.finishes,
			"stop": s.stops, "crash": s.crashes, "pause": s.pauses, "": s.holds,
		})
		s.drain()
	})
}

func (s *schedule) accepts(t *rapid.T) {
	key := protocol.SessionKey("agent:main:" + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "session"))
	s.n++
	id := protocol.RunID(fmt.Sprintf("r%d", s.n))
	s.accept(key, id)
	s.order[key] = append(s.order[key], id)
}

// claims does what the conductor does: the next run, its lease and its input in
// one transaction.
func (s *schedule) claims(t *rapid.T) {
	var id protocol.RunID
	var ok, took bool
	var lease queue.Lease
	s.must(func(tx *store.Tx) (err error) {
		ok, took = false, false
		if paused, err := queue.Paused(tx); err != nil || paused {
			return err
		}
		if id, ok, err = queue.Next(tx); err != nil || !ok {
			return err
		}
		if lease, err = queue.Claim(tx, id, s.epoch, 1); err != nil {
			return err
		}
		_, took, err = queue.TakeInput(tx, id)
		return err
	})
	want := s.expected()
	if !ok {
		if len(want) > 0 && !s.paused {
			t.Fatalf("nothing was claimed although %v could work", want)
		}
		return
	}
	if s.paused || !slices.Contains(want, id) {
		t.Fatalf("%s was claimed (paused: %v), only %v may", id, s.paused, want)
	}
	if took {
		s.consumed[id]++
	}
	s.leases[id] = lease
}

// expected are the runs that may be claimed: the oldest of each session, if it
// neither works nor waits.
func (s *schedule) expected() (out []protocol.RunID) {
	for _, ids := range s.order {
		if _, works := s.leases[ids[0]]; !works && !s.parked[ids[0]] {
			out = append(out, ids[0])
		}
	}
	return out
}

func (s *schedule) oneThatWorks(t *rapid.T) protocol.RunID {
	if len(s.leases) == 0 {
		t.Skip("nothing works")
	}
	return pick(t, s.leases)
}

func pick[V any](t *rapid.T, from map[protocol.RunID]V) protocol.RunID {
	ids := make([]protocol.RunID, 0, len(from))
	for id := range from {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(t, "run")
}

// under writes as the run's worker does.
func (s *schedule) under(id protocol.RunID, fn func(*store.Tx) error) {
	lease := s.leases[id]
	s.must(func(tx *store.Tx) error {
		if _, err := queue.Held(tx, lease); err != nil {
			return err
		}
		return fn(tx)
	})
}

func (s *schedule) gaveUp(id protocol.RunID) {
	s.void = append(s.void, s.leases[id])
	delete(s.leases, id)
}

func (s *schedule) parks(t *rapid.T) {
	id := s.oneThatWorks(t)
	s.under(id, func(tx *store.Tx) error { return queue.Park(tx, id, protocol.ParkApproval, "", 1) })
	s.gaveUp(id)
	s.parked[id] = true
}

func (s *schedule) resumes(t *rapid.T) {
	if len(s.parked) == 0 {
		t.Skip("nothing waits")
	}
	id := pick(t, s.parked)
	s.must(func(tx *store.Tx) error { return queue.Resume(tx, id, "", 1) })
	delete(s.parked, id)
}

func (s *schedule) releases(t *rapid.T) {
	id := s.oneThatWorks(t)
	s.under(id, func(tx *store.Tx) error { return queue.Release(tx, id, "", false, 1) })
	s.gaveUp(id)
}

func (s *schedule) finishes(t *rapid.T) {
	id := s.oneThatWorks(t)
	state := rapid.SampledFrom([]protocol.RunState{protocol.RunDone, protocol.RunFailed, protocol.RunStopped}).Draw(t, "ending")
	s.under(id, func(tx *store.Tx) error { return queue.Finish(tx, id, queue.Ending{State: state}, 1) })
	s.gaveUp(id)
	s.end(id)
}

// stops ends any open run from outside, also one in the middle of its queue.
func (s *schedule) stops(t *rapid.T) {
	open := map[protocol.RunID]bool{}
	for _, ids := range s.order {
		for _, id := range ids {
			open[id] = true
		}
	}
	if len(open) == 0 {
		t.Skip("nothing is open")
	}
	id := pick(t, open)
	s.must(func(tx *store.Tx) error { return queue.Finish(tx, id, queue.Ending{State: protocol.RunStopped}, 1) })
	if _, works := s.leases[id]; works {
		s.gaveUp(id)
	}
	delete(s.parked, id)
	s.end(id)
}

func (s *schedule) end(id protocol.RunID) {
	s.ended[id] = true
	for key, ids := range s.order {
		if ids = slices.DeleteFunc(ids, func(o protocol.RunID) bool { return o == id }); len(ids) == 0 {
			delete(s.order, key)
		} else {
			s.order[key] = ids
		}
	}
}

// crashes begins a new boot and puts back what the old one left at work.
func (s *schedule) crashes(*rapid.T) {
	s.boot()
	for id := range s.leases {
		s.gaveUp(id)
		s.must(func(tx *store.Tx) error { return queue.Release(tx, id, "", true, 1) })
	}
}

func (s *schedule) pauses(t *rapid.T) {
	s.paused = rapid.Bool().Draw(t, "paused")
	s.must(func(tx *store.Tx) error { return queue.SetPaused(tx, s.paused, 1) })
}

// holds compares the disk with what must be true after every step.
func (s *schedule) holds(t *rapid.T) {
	var runs []queue.Run
	s.must(func(tx *store.Tx) (err error) {
		runs, err = queue.List(tx, queue.Filter{Limit: 1 << 20})
		return err
	})
	if len(runs) != s.n {
		t.Fatalf("%d runs are stored, %d were accepted", len(runs), s.n)
	}
	working := map[protocol.SessionKey]protocol.RunID{}
	for _, r := range runs {
		_, works := s.leases[r.ID]
		if r.State == protocol.RunRunning && working[r.SessionKey] != "" {
			t.Fatalf("%s and %s of one session work at once", r.ID, working[r.SessionKey])
		}
		if r.State == protocol.RunRunning {
			working[r.SessionKey] = r.ID
		}
		if works != (r.State == protocol.RunRunning) || s.parked[r.ID] != (r.State == protocol.RunParked) || s.ended[r.ID] != r.State.Ended() {
			t.Fatalf("%s is %s on disk; works %v, parked %v, ended %v", r.ID, r.State, works, s.parked[r.ID], s.ended[r.ID])
		}
		if s.consumed[r.ID] > 1 {
			t.Fatalf("the message of %s was read %d times", r.ID, s.consumed[r.ID])
		}
	}
	if n := len(s.void); n > 0 {
		if err := s.write(func(tx *store.Tx) error {
			_, err := queue.Held(tx, s.void[n-1])
			return err
		}); !errors.Is(err, queue.ErrLeaseLost) {
			t.Fatalf("void lease %+v answers %v", s.void[n-1], err)
		}
	}
}

// drain answers everybody and finishes everything: what was accepted must end.
func (s *schedule) drain() {
	s.paused = false
	s.must(func(tx *store.Tx) error { return queue.SetPaused(tx, false, 1) })
	for len(s.order) > 0 {
		for id := range s.parked {
			s.must(func(tx *store.Tx) error { return queue.Resume(tx, id, "", 1) })
			delete(s.parked, id)
		}
		if len(s.leases) == 0 {
			s.claims(s.t)
		}
		for id := range s.leases {
			s.under(id, func(tx *store.Tx) error { return queue.Finish(tx, id, queue.Ending{State: protocol.RunDone}, 1) })
			s.gaveUp(id)
			s.end(id)
		}
	}
	s.holds(s.t)
	if len(s.ended) != s.n {
		s.t.Fatalf("%d of %d runs ended", len(s.ended), s.n)
	}
}
