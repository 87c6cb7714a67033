package effect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/backend/effect"
	"countersign/backend/protocol"
	"countersign/backend/store"
)

var states = []effect.State{
	effect.Planned, effect.Authorised, effect.Started, effect.Done, effect.Failed, effect.Unknown, effect.Denied, effect.Stopped,
}

// arrows are those of the package comment: from each state that permits the verb
// to the state it leads to. What is not here is refused.
var arrows = []struct {
	name   string
	repeat string
	do     func(*store.Tx, effect.Effect) error
	to     map[effect.State]effect.State
}{
	{"Authorise", "once", func(tx *store.Tx, e effect.Effect) error {
		return effect.Authorise(tx, e.ID, protocol.Authority{Kind: "approval"})
	}, map[effect.State]effect.State{effect.Planned: effect.Authorised}},
	{"Replan", "once", func(tx *store.Tx, e effect.Effect) error {
		e.PlanHash = "new"
		return effect.Replan(tx, e)
	}, map[effect.State]effect.State{effect.Planned: effect.Planned, effect.Authorised: effect.Planned}},
	{"Start", "once", func(tx *store.Tx, e effect.Effect) error {
		_, err := effect.Start(tx, e.ID, 400)
		return err
	}, map[effect.State]effect.State{effect.Authorised: effect.Started}},
	{"SetResult", "once", func(tx *store.Tx, e effect.Effect) error {
		if _, err := tx.Exec(`UPDATE effects SET result_text = '' WHERE effect_id = ?`, string(e.ID)); err != nil {
			return err
		}
		return effect.SetResult(tx, e.ID, "the owner looked", false)
	}, map[effect.State]effect.State{effect.Unknown: effect.Unknown}},
	{"Finish done", "once", finish(protocol.OutcomeDone), map[effect.State]effect.State{effect.Started: effect.Done}},
	{"Finish failed", "once", finish(protocol.OutcomeFailed), map[effect.State]effect.State{effect.Started: effect.Failed}},
	{"Finish done, keyed", "keyed", finish(protocol.OutcomeDone), map[effect.State]effect.State{effect.Started: effect.Done}},
	{"Finish done, read", "read", finish(protocol.OutcomeDone), map[effect.State]effect.State{effect.Planned: effect.Done, effect.Started: effect.Done}},
	{"Finish failed, read", "read", finish(protocol.OutcomeFailed), map[effect.State]effect.State{effect.Planned: effect.Failed, effect.Started: effect.Failed}},
	{"Finish done, local", "local", finish(protocol.OutcomeDone), map[effect.State]effect.State{effect.Planned: effect.Done, effect.Started: effect.Done}},
	{"Finish unknown", "once", finish(protocol.OutcomeUnknown), map[effect.State]effect.State{effect.Started: effect.Unknown}},
	{"Finish unknown, read", "read", finish(protocol.OutcomeUnknown), map[effect.State]effect.State{effect.Started: effect.Unknown}},
	{"Finish denied", "once", finish(protocol.OutcomeDenied), map[effect.State]effect.State{effect.Planned: effect.Denied}},
	{"Finish stopped", "once", finish(protocol.OutcomeStopped), map[effect.State]effect.State{
		effect.Planned: effect.Stopped, effect.Authorised: effect.Stopped, effect.Started: effect.Stopped,
	}},
	{"Finish as nothing", "once", finish(""), nil},
	{"Finish as planned", "once", finish("planned"), nil},
	{"Finish as started", "once", finish("started"), nil},
}

func finish(o protocol.Outcome) func(*store.Tx, effect.Effect) error {
	return func(tx *store.Tx, e effect.Effect) error {
		_, err := effect.Finish(tx, e, ending("late receipt of "+string(e.ID), o), 400)
		return err
	}
}

func TestEveryPairOfStateAndVerb(t *testing.T) {
	r := newRig(t)
	for i, v := range arrows {
		for _, from := range states {
			t.Run(fmt.Sprintf("%s of a %s one", v.name, from), func(t *testing.T) {
				e := planned(fmt.Sprintf("%d/%s", i, from))
				e.Repeat = v.repeat
				r.bring(e, from)
				before, receipts, seq := r.get(e.ID), r.list(protocol.ReceiptsListParams{}).Total, r.db.LastSeq()
				err := r.write(func(tx *store.Tx) error { return v.do(tx, e) })
				after, written := r.get(e.ID), r.list(protocol.ReceiptsListParams{}).Total-receipts
				to, allowed := v.to[from]
				switch {
				case allowed && (err != nil || after.State != to):
					t.Errorf("it is %s (%v), want %s", after.State, err, to)
				case allowed && to.Ended() && to != from && (written != 1 || r.told(seq) != 1 || after.EndedMs != 400 || after.ReceiptID == ""):
					t.Errorf("its end left %d receipts, was told %d times, and is %+v", written, r.told(seq), after)
				case !allowed && !errors.Is(err, effect.ErrWrongState):
					t.Errorf("got %v, want ErrWrongState", err)
				case !allowed && (!reflect.DeepEqual(before, after) || written != 0):
					t.Errorf("a refused verb changed it from %+v to %+v and wrote %d receipts", before, after, written)
				}
			})
		}
	}
}

func TestACallHasOneRowHoweverOftenItIsPlanned(t *testing.T) {
	r := newRig(t)
	var stored atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			e := planned(fmt.Sprintf("e%d", i))
			e.RunID = "one run"
			if r.write(func(tx *store.Tx) error { return effect.Insert(tx, e) }) == nil {
				stored.Add(1)
			}
		})
	}
	wg.Wait()
	if stored.Load() != 1 {
		t.Errorf("the call was planned %d times", stored.Load())
	}
	other := planned("other")
	other.RunID = "another run" // providers count their calls from zero in each run
	r.insert(other)
}

func TestAnEffectIsReadAsItWasStored(t *testing.T) {
	r := newRig(t)
	e := planned("e")
	e.CallIndex, e.State = 3, effect.Planned
	e.Authority = protocol.Authority{Kind: "clause", Clause: "because"}
	e.Before = &effect.Before{Path: "/w/notes.md", Existed: true, Mode: 0o640, Blob: "b", SHA256: "s"}
	r.insert(e)
	if got := r.get("e"); !reflect.DeepEqual(got, e) {
		t.Errorf("stored %+v, read %+v", e, got)
	}
	e.Plan, e.PlanHash, e.Target, e.Before = json.RawMessage(`{"p":2}`), "hash 2", "other.md", &effect.Before{Path: "/w/other.md"}
	r.must(func(tx *store.Tx) error { return effect.Authorise(tx, "e", protocol.Authority{Kind: "approval"}) })
	r.must(func(tx *store.Tx) error { return effect.Replan(tx, e) })
	e.Authority = protocol.Authority{} // what allowed the old plan no longer counts
	if got := r.get("e"); !reflect.DeepEqual(got, e) {
		t.Errorf("planned anew as %+v, read %+v", e, got)
	}
	err := r.write(func(tx *store.Tx) error {
		_, err := effect.Get(tx, "nobody")
		return err
	})
	if !errors.Is(err, effect.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
}

func TestEffectsOfARunComeInThePlannedOrderAndDoubtIsFound(t *testing.T) {
	r := newRig(t)
	for i, id := range []string{"c", "b", "a"} {
		e := planned(id)
		e.RunID, e.ToolCallID, e.CallIndex = "run", id, i
		r.bring(e, []effect.State{effect.Done, effect.Started, effect.Planned}[i])
	}
	r.bring(planned("elsewhere"), effect.Started)
	ids := func(fn func(*store.Tx) ([]effect.Effect, error)) (out []protocol.EffectID) {
		r.must(func(tx *store.Tx) error {
			found, err := fn(tx)
			out = nil
			for _, e := range found {
				out = append(out, e.ID)
			}
			return err
		})
		return out
	}
	if got := ids(func(tx *store.Tx) ([]effect.Effect, error) { return effect.OfRun(tx, "run") }); !slices.Equal(got, []protocol.EffectID{"c", "b", "a"}) {
		t.Errorf("of the run: %v", got)
	}
	got := ids(func(tx *store.Tx) ([]effect.Effect, error) { return effect.InDoubt(tx) })
	slices.Sort(got)
	if !slices.Equal(got, []protocol.EffectID{"b", "elsewhere"}) {
		t.Errorf("in doubt: %v", got)
	}
}

func TestAnUnknownOutcomeIsExplainedOnce(t *testing.T) {
	r := newRig(t)
	e := planned("e")
	r.bring(e, effect.Started)
	end := ending("receipt", protocol.OutcomeUnknown)
	end.ResultText = ""
	r.finish(e, end)
	r.must(func(tx *store.Tx) error { return effect.SetResult(tx, "e", "The owner says it was done.", false) })
	err := r.write(func(tx *store.Tx) error { return effect.SetResult(tx, "e", "No, it was not.", true) })
	if got := r.get("e"); !errors.Is(err, effect.ErrWrongState) || got.ResultText != "The owner says it was done." || got.State != effect.Unknown {
		t.Errorf("explained as %+v, then %v", got, err)
	}
}

// begun counts how often a permit let something begin.
func begun(p *effect.Permit, times int) (n int64, refused int64) {
	var ran, no atomic.Int64
	var wg sync.WaitGroup
	for range times {
		wg.Go(func() {
			err := p.Begin(context.Background(), func(context.Context) error { ran.Add(1); return nil })
			if errors.Is(err, effect.ErrNoPermit) {
				no.Add(1)
			}
		})
	}
	wg.Wait()
	return ran.Load(), no.Load()
}

func TestNothingBeginsBeforeItsStartIsCommitted(t *testing.T) {
	r := newRig(t)
	r.bring(planned("e"), effect.Authorised)
	var p *effect.Permit
	r.must(func(tx *store.Tx) (err error) {
		if p, err = effect.Start(tx, "e", 1); err != nil {
			return err
		}
		if ran, refused := begun(p, 1); ran != 0 || refused != 1 {
			t.Errorf("it began %d times before its start was on disk", ran)
		}
		return nil
	})
	if ran, refused := begun(p, 100); ran != 1 || refused != 99 {
		t.Errorf("of 100 at once %d began and %d were refused", ran, refused)
	}
	if ran, _ := begun(p, 1); ran != 0 {
		t.Error("it began again")
	}
}

func TestNothingBeginsAfterARollback(t *testing.T) {
	r := newRig(t)
	r.bring(planned("e"), effect.Authorised)
	var p *effect.Permit
	broken := errors.New("the step could not be counted")
	err := r.write(func(tx *store.Tx) (err error) {
		if p, err = effect.Start(tx, "e", 1); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) || r.get("e").State != effect.Authorised {
		t.Fatalf("%v, and the effect is %s", err, r.get("e").State)
	}
	if ran, _ := begun(p, 10); ran != 0 {
		t.Errorf("it began %d times although its start was rolled back", ran)
	}
	var none *effect.Permit
	if ran, refused := begun(none, 1); ran != 0 || refused != 1 {
		t.Error("it began without any permit")
	}
}

func TestOfManyStartsOneGetsAPermit(t *testing.T) {
	r := newRig(t)
	r.bring(planned("e"), effect.Authorised)
	var ran atomic.Int64
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			var p *effect.Permit
			err := r.write(func(tx *store.Tx) (err error) {
				p, err = effect.Start(tx, "e", 1)
				return err
			})
			if err == nil {
				n, _ := begun(p, 2)
				ran.Add(n)
			}
		})
	}
	wg.Wait()
	if ran.Load() != 1 {
		t.Errorf("it began %d times", ran.Load())
	}
}

func TestAReadBeginsOnceWithoutARow(t *testing.T) {
	if ran, refused := begun(effect.ReadPermit(), 20); ran != 1 || refused != 19 {
		t.Errorf("%d began, %d were refused", ran, refused)
	}
}

func TestBeginHandsOnItsContextAndError(t *testing.T) {
	type key struct{}
	want := errors.New("it did not work")
	err := effect.ReadPermit().Begin(context.WithValue(context.Background(), key{}, "x"), func(ctx context.Context) error {
		if ctx.Value(key{}) != "x" {
			t.Error("the context was replaced")
		}
		return want
	})
	if !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
}
