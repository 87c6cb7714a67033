package queue_test

import (
	"errors"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/store"
)

func held(r *rig, l queue.Lease) error {
	return r.write(func(tx *store.Tx) error {
		_, err := queue.Held(tx, l)
		return err
	})
}

func TestALeaseHoldsUntilItIsGivenUp(t *testing.T) {
	giveUp := map[string]func(*store.Tx) error{
		"park":    func(tx *store.Tx) error { return queue.Park(tx, "a", protocol.ParkQuestion, "", 1) },
		"release": func(tx *store.Tx) error { return queue.Release(tx, "a", "", false, 1) },
		"done":    func(tx *store.Tx) error { return queue.Finish(tx, "a", queue.Ending{State: protocol.RunDone}, 1) },
		"failed":  func(tx *store.Tx) error { return queue.Finish(tx, "a", queue.Ending{State: protocol.RunFailed}, 1) },
		"stopped": func(tx *store.Tx) error { return queue.Finish(tx, "a", queue.Ending{State: protocol.RunStopped}, 1) },
	}
	for name, do := range giveUp {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.accept(lane, "a")
			l := r.claim("a")
			if err := held(r, l); err != nil {
				t.Fatalf("a fresh lease: %v", err)
			}
			r.must(do)
			if err := held(r, l); !errors.Is(err, queue.ErrLeaseLost) {
				t.Errorf("after %s the lease answers %v", name, err)
			}
		})
	}
}

func TestALeaseOfAnOlderNumberIsVoid(t *testing.T) {
	r := newRig(t)
	r.accept(lane, "a")
	old := r.claim("a")
	r.must(func(tx *store.Tx) error { return queue.Release(tx, "a", "", false, 1) })
	fresh := r.claim("a")
	if old.No == fresh.No {
		t.Fatal("two leases have one number")
	}
	if err := held(r, old); !errors.Is(err, queue.ErrLeaseLost) {
		t.Errorf("old lease: %v", err)
	}
	if err := held(r, fresh); err != nil {
		t.Errorf("new lease: %v", err)
	}
}

func TestABootVoidsEveryOlderLeaseAtOnce(t *testing.T) {
	r := newRig(t)
	r.accept(lane, "a")
	r.accept("agent:main:other", "b")
	l, older := r.claim("a"), r.epoch
	r.boot()
	if r.epoch <= older {
		t.Fatalf("epoch went from %d to %d", older, r.epoch)
	}
	// The run still says running: nobody has recovered it yet.
	if err := held(r, l); !errors.Is(err, queue.ErrLeaseLost) {
		t.Errorf("a lease of the boot before answers %v", err)
	}
	err := r.write(func(tx *store.Tx) error {
		_, err := queue.Claim(tx, "b", older, 1)
		return err
	})
	if !errors.Is(err, queue.ErrLeaseLost) || r.get("b").State != protocol.RunQueued {
		t.Errorf("a claim by the boot before: %v, and the run is %s", err, r.get("b").State)
	}
}

func TestWhatIsWrittenUnderAVoidLeaseIsNotStored(t *testing.T) {
	r := newRig(t)
	r.accept(lane, "a")
	l := r.claim("a")
	r.boot()
	before := r.get("a")
	err := r.write(func(tx *store.Tx) error {
		if err := queue.Advance(tx, "a", queue.Progress{ModelCalls: 1}, 1); err != nil {
			return err
		}
		_, err := queue.Held(tx, l)
		return err
	})
	if !errors.Is(err, queue.ErrLeaseLost) || r.get("a") != before {
		t.Errorf("%v, and the run went from %+v to %+v", err, before, r.get("a"))
	}
}

func TestBootTellsHowTheOneBeforeEnded(t *testing.T) {
	r := newRig(t)
	boot := func() (clean bool) {
		r.must(func(tx *store.Tx) (err error) {
			r.epoch, clean, err = queue.Boot(tx, 1)
			return err
		})
		return clean
	}
	if boot() {
		t.Error("a boot that never ended counts as clean")
	}
	r.must(func(tx *store.Tx) error { return queue.EndBoot(tx, r.epoch, 2) })
	if !boot() {
		t.Error("a boot that ended in order counts as unclean")
	}
	if boot() {
		t.Error("an older clean end hides a newer unclean one")
	}
}

func TestTheFirstBootIsClean(t *testing.T) {
	r := newRig(t)
	r.must(func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM boots`)
		return err
	})
	r.must(func(tx *store.Tx) error {
		_, clean, err := queue.Boot(tx, 1)
		if err == nil && !clean {
			t.Error("there was nothing that could have ended uncleanly")
		}
		return err
	})
}

func TestAnOlderOpenRunHoldsTheLane(t *testing.T) {
	for _, state := range states {
		t.Run(string(state), func(t *testing.T) {
			r := newRig(t)
			r.bring("older", state)
			key := r.get("older").SessionKey
			r.accept(key, "newer")
			id, ok := r.next()
			switch {
			case state == protocol.RunQueued && (!ok || id != "older"):
				t.Errorf("next is %q, want the older one", id)
			case state.Ended() && (!ok || id != "newer"):
				t.Errorf("next is %q, want the newer one", id)
			case (state == protocol.RunRunning || state == protocol.RunParked) && ok:
				t.Errorf("next is %q although the lane is held", id)
			}
			err := r.write(func(tx *store.Tx) error {
				_, err := queue.Claim(tx, "newer", r.epoch, 1)
				return err
			})
			if state.Ended() != (err == nil) {
				t.Errorf("claim past a %s run: %v", state, err)
			}
		})
	}
}

func TestNextGoesByAgeAcrossSessions(t *testing.T) {
	r := newRig(t)
	r.accept("agent:main:x", "x1")
	r.accept("agent:main:x", "x2")
	r.accept("agent:main:y", "y1")
	for _, want := range []protocol.RunID{"x1", "y1"} {
		id, _ := r.next()
		if id != want {
			t.Fatalf("next is %q, want %q", id, want)
		}
		r.claim(id)
	}
	if id, ok := r.next(); ok {
		t.Errorf("next is %q although both lanes are held", id)
	}
	// A released run keeps its place before younger ones of its session.
	r.must(func(tx *store.Tx) error { return queue.Release(tx, "x1", "", false, 1) })
	if id, _ := r.next(); id != "x1" {
		t.Errorf("next is %q, want x1 again", id)
	}
}
