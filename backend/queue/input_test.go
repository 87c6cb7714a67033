package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/store"
)

func TestOneKeyIsAcceptedOnceHoweverOftenItComes(t *testing.T) {
	r := newRig(t)
	var accepted atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if r.db.Write(context.Background(), func(tx *store.Tx) error { return accept(tx, lane, "same") }) == nil {
				accepted.Add(1)
			}
		})
	}
	wg.Wait()
	if accepted.Load() != 1 {
		t.Errorf("%d were accepted, want 1", accepted.Load())
	}
	// The key is global: another session does not make it new.
	if err := r.write(func(tx *store.Tx) error { return accept(tx, "agent:main:other", "same") }); err == nil {
		t.Error("the key was accepted for another session")
	}
	var inputs, runs int
	r.must(func(tx *store.Tx) error {
		return errors.Join(tx.QueryRow(`SELECT count(*) FROM inputs`).Scan(&inputs), tx.QueryRow(`SELECT count(*) FROM runs`).Scan(&runs))
	})
	if inputs != 1 || runs != 1 {
		t.Errorf("%d inputs and %d runs, want one of each", inputs, runs)
	}
}

func TestAnInputIsTakenOnce(t *testing.T) {
	r := newRig(t)
	r.accept(lane, "a")
	for i := range 3 {
		r.must(func(tx *store.Tx) error {
			in, ok, err := queue.TakeInput(tx, "a")
			if ok != (i == 0) {
				t.Errorf("take %d: ok is %v", i, ok)
			}
			if ok && (in.RunID != "a" || in.Message.ID != "m-a" || in.Message.Content.Text() != "say a") {
				t.Errorf("took %+v", in)
			}
			return err
		})
	}
}

func TestAnInputWhoseTakingWasRolledBackIsStillThere(t *testing.T) {
	r := newRig(t)
	r.accept(lane, "a")
	broken := errors.New("something else failed")
	err := r.write(func(tx *store.Tx) error {
		if _, ok, err := queue.TakeInput(tx, "a"); err != nil || !ok {
			t.Errorf("take: %v %v", ok, err)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	r.must(func(tx *store.Tx) error {
		_, ok, err := queue.TakeInput(tx, "a")
		if !ok {
			t.Error("the message was lost")
		}
		return err
	})
}

func TestARunThatEndsDropsItsInput(t *testing.T) {
	r := newRig(t)
	r.accept(lane, "a")
	r.accept(lane, "b")
	r.must(func(tx *store.Tx) error { return queue.Finish(tx, "a", queue.Ending{State: protocol.RunStopped}, 1) })
	r.must(func(tx *store.Tx) error {
		pending, err := queue.PendingInputs(tx, lane)
		if len(pending) != 1 || pending[0].RunID != "b" {
			t.Errorf("pending are %+v", pending)
		}
		if _, ok, _ := queue.TakeInput(tx, "a"); ok {
			t.Error("the input of a stopped run was given out")
		}
		return err
	})
}

func TestPendingInputsComeInOrderOfAcceptance(t *testing.T) {
	r := newRig(t)
	var want []protocol.RunID
	for i := range 12 { // "r10" sorts before "r2" as text
		id := protocol.RunID(fmt.Sprintf("r%d", i))
		want = append(want, id)
		r.accept(lane, id)
		r.accept("agent:main:other", "other "+id)
	}
	var got []protocol.RunID
	r.must(func(tx *store.Tx) error {
		pending, err := queue.PendingInputs(tx, lane)
		for _, in := range pending {
			got = append(got, in.RunID)
		}
		return err
	})
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestListFiltersAndCounts(t *testing.T) {
	r := newRig(t)
	for _, s := range states {
		r.bring("run "+protocol.RunID(s), s)
	}
	r.accept(lane, "last")
	ids := func(f queue.Filter) (out []protocol.RunID) {
		r.must(func(tx *store.Tx) error {
			runs, err := queue.List(tx, f)
			for _, run := range runs {
				out = append(out, run.ID)
			}
			return err
		})
		return out
	}
	for _, c := range []struct {
		name string
		f    queue.Filter
		want []protocol.RunID
	}{
		{"all, newest first", queue.Filter{}, []protocol.RunID{"last", "run stopped", "run failed", "run done", "run parked", "run running", "run queued"}},
		{"open", queue.Filter{OpenOnly: true}, []protocol.RunID{"last", "run parked", "run running", "run queued"}},
		{"state", queue.Filter{State: protocol.RunDone}, []protocol.RunID{"run done"}},
		{"session", queue.Filter{SessionKey: lane}, []protocol.RunID{"last"}},
		{"window", queue.Filter{SessionID: "another"}, nil},
		{"limit", queue.Filter{Limit: 2}, []protocol.RunID{"last", "run stopped"}},
	} {
		if got := ids(c.f); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	r.must(func(tx *store.Tx) error {
		queued, running, parked, err := queue.Counts(tx)
		if queued != 2 || running != 1 || parked != 1 {
			t.Errorf("counted %d queued, %d running, %d parked", queued, running, parked)
		}
		latest, ok, err2 := queue.Latest(tx, lane)
		if !ok || latest.ID != "last" {
			t.Errorf("latest is %v %+v", ok, latest)
		}
		_, ok, err3 := queue.Latest(tx, "agent:main:nobody")
		if ok {
			t.Error("a session without runs has a latest one")
		}
		return errors.Join(err, err2, err3)
	})
}
