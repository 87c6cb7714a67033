package queue_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/store"
)

var states = []protocol.RunState{
	protocol.RunQueued, protocol.RunRunning, protocol.RunParked, protocol.RunDone, protocol.RunFailed, protocol.RunStopped,
}

// verbs are the arrows of the package comment: from each state that permits the
// verb to the state it leads to. What is not here is refused.
var verbs = []struct {
	name string
	do   func(tx *store.Tx, id protocol.RunID, epoch int64) error
	to   map[protocol.RunState]protocol.RunState
}{
	{"Claim", func(tx *store.Tx, id protocol.RunID, epoch int64) error {
		_, err := queue.Claim(tx, id, epoch, 400)
		return err
	}, map[protocol.RunState]protocol.RunState{protocol.RunQueued: protocol.RunRunning}},
	{"Advance", func(tx *store.Tx, id protocol.RunID, _ int64) error {
		return queue.Advance(tx, id, queue.Progress{ModelCalls: 1}, 400)
	}, map[protocol.RunState]protocol.RunState{protocol.RunRunning: protocol.RunRunning}},
	{"Park", func(tx *store.Tx, id protocol.RunID, _ int64) error {
		return queue.Park(tx, id, protocol.ParkApproval, "", 400)
	}, map[protocol.RunState]protocol.RunState{protocol.RunRunning: protocol.RunParked}},
	{"Resume", func(tx *store.Tx, id protocol.RunID, _ int64) error {
		return queue.Resume(tx, id, "a note", 400)
	}, map[protocol.RunState]protocol.RunState{protocol.RunParked: protocol.RunQueued}},
	{"Release", func(tx *store.Tx, id protocol.RunID, _ int64) error {
		return queue.Release(tx, id, "Paused", false, 400)
	}, map[protocol.RunState]protocol.RunState{protocol.RunRunning: protocol.RunQueued}},
	{"Finish done", finish(protocol.RunDone), map[protocol.RunState]protocol.RunState{protocol.RunRunning: protocol.RunDone}},
	{"Finish failed", finish(protocol.RunFailed), map[protocol.RunState]protocol.RunState{
		protocol.RunRunning: protocol.RunFailed, protocol.RunParked: protocol.RunFailed,
	}},
	{"Finish stopped", finish(protocol.RunStopped), map[protocol.RunState]protocol.RunState{
		protocol.RunQueued: protocol.RunStopped, protocol.RunRunning: protocol.RunStopped, protocol.RunParked: protocol.RunStopped,
	}},
	{"Finish queued", finish(protocol.RunQueued), nil},
	{"Finish running", finish(protocol.RunRunning), nil},
	{"Finish parked", finish(protocol.RunParked), nil},
	{"RequestStop", func(tx *store.Tx, id protocol.RunID, _ int64) error {
		return queue.RequestStop(tx, id, "you", 400)
	}, map[protocol.RunState]protocol.RunState{
		protocol.RunQueued: protocol.RunQueued, protocol.RunRunning: protocol.RunRunning, protocol.RunParked: protocol.RunParked,
	}},
	{"Raise", func(tx *store.Tx, id protocol.RunID, _ int64) error {
		return queue.Raise(tx, id, protocol.CeilingModelCalls)
	}, map[protocol.RunState]protocol.RunState{protocol.RunParked: protocol.RunParked}},
}

func finish(state protocol.RunState) func(*store.Tx, protocol.RunID, int64) error {
	return func(tx *store.Tx, id protocol.RunID, _ int64) error {
		return queue.Finish(tx, id, queue.Ending{State: state, ErrorMessage: "why", ErrorKind: protocol.ErrorUnknown}, 400)
	}
}

func TestEveryPairOfStateAndVerb(t *testing.T) {
	r := newRig(t)
	for _, v := range verbs {
		for _, from := range states {
			t.Run(fmt.Sprintf("%s of a %s run", v.name, from), func(t *testing.T) {
				id := protocol.RunID(fmt.Sprintf("%s/%s", v.name, from))
				r.bring(id, from)
				before, seq := r.get(id), r.db.LastSeq()
				err := r.write(func(tx *store.Tx) error { return v.do(tx, id, r.epoch) })
				after, changes := r.get(id), r.changes(seq)
				to, allowed := v.to[from]
				if !allowed {
					if !errors.Is(err, queue.ErrWrongState) {
						t.Errorf("got %v, want ErrWrongState", err)
					}
					if !reflect.DeepEqual(before, after) || len(changes) > 0 {
						t.Errorf("a refused verb changed the run: %+v, then %+v, told as %v", before, after, changes)
					}
					return
				}
				if err != nil || after.State != to {
					t.Fatalf("the run is %s (%v), want %s", after.State, err, to)
				}
				if after.Version != before.Version+1 {
					t.Errorf("version went from %d to %d", before.Version, after.Version)
				}
				if len(changes) != 1 || changes[0].Kind != queue.ChangeRun || changes[0].Key != string(id) {
					t.Errorf("clients were told %v, want one change of the run", changes)
				}
			})
		}
	}
}

func TestAVerbOnARunThatDoesNotExistIsRefused(t *testing.T) {
	r := newRig(t)
	for _, v := range verbs {
		if err := r.write(func(tx *store.Tx) error { return v.do(tx, "nobody", r.epoch) }); !errors.Is(err, queue.ErrWrongState) {
			t.Errorf("%s: %v", v.name, err)
		}
	}
	err := r.write(func(tx *store.Tx) error {
		_, err := queue.Get(tx, "nobody")
		return err
	})
	if !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
}

func TestAdvanceAddsAndKeepsWordsThatAreNotGiven(t *testing.T) {
	r := newRig(t)
	r.bring("a", protocol.RunRunning)
	r.must(func(tx *store.Tx) error {
		return queue.Advance(tx, "a", queue.Progress{ModelCalls: 1, ToolCalls: 2, WallMs: 3, InputTokens: 4, OutputTokens: 5, Step: "Thinking", Model: "m"}, 1)
	})
	r.must(func(tx *store.Tx) error {
		return queue.Advance(tx, "a", queue.Progress{ModelCalls: 10, ToolCalls: 20, WallMs: 30, InputTokens: 40, OutputTokens: 50}, 7)
	})
	got := r.get("a")
	if got.ModelCalls != 11 || got.ToolCalls != 22 || got.WallMs != 33 || got.WallAtMs != 7 || got.InputTokens != 44 || got.OutputTokens != 55 || got.Step != "Thinking" || got.Model != "m" {
		t.Errorf("got %+v", got)
	}
}

func TestACeilingIsRaisedOnceEach(t *testing.T) {
	r := newRig(t)
	r.bring("a", protocol.RunParked)
	raise := func(c protocol.CeilingName) error {
		return r.write(func(tx *store.Tx) error { return queue.Raise(tx, "a", c) })
	}
	for _, c := range []protocol.CeilingName{protocol.CeilingModelCalls, protocol.CeilingToolCalls, protocol.CeilingWallTime} {
		if err := raise(c); err != nil {
			t.Errorf("raise %s: %v", c, err)
		}
		if err := raise(c); !errors.Is(err, queue.ErrWrongState) {
			t.Errorf("raise %s again: %v", c, err)
		}
	}
	if err := raise("money"); !errors.Is(err, queue.ErrWrongState) {
		t.Errorf("raise what is no ceiling: %v", err)
	}
	if got, want := r.get("a").Limits, (queue.Limits{ModelCalls: 20, ToolCalls: 40, WallMs: 60000}); got != want {
		t.Errorf("limits are %+v, want %+v", got, want)
	}
}

func TestAReleaseCostsARecoveryOnlyAfterACrash(t *testing.T) {
	r := newRig(t)
	r.bring("a", protocol.RunRunning)
	for i, costs := range []bool{false, true, true, false} {
		if i > 0 {
			r.claim("a")
		}
		r.must(func(tx *store.Tx) error { return queue.Release(tx, "a", "Paused", costs, 1) })
	}
	if got := r.get("a"); got.Recoveries != 2 || got.Step != "Paused" {
		t.Errorf("%d recoveries at step %q, want 2 at Paused", got.Recoveries, got.Step)
	}
}

func TestTheWishToStopSurvivesParkAndRelease(t *testing.T) {
	r := newRig(t)
	r.bring("a", protocol.RunRunning)
	r.must(func(tx *store.Tx) error { return queue.RequestStop(tx, "a", "the tray", 1) })
	r.must(func(tx *store.Tx) error { return queue.Release(tx, "a", "", true, 1) })
	r.claim("a")
	r.must(func(tx *store.Tx) error { return queue.Park(tx, "a", protocol.ParkApproval, "", 1) })
	if got := r.get("a"); !got.StopRequested || got.StopBy != "the tray" {
		t.Errorf("the wish is forgotten: %+v", got)
	}
}

func TestParkAndResumeKeepTheirWords(t *testing.T) {
	r := newRig(t)
	r.bring("a", protocol.RunParked)
	got := r.get("a")
	if got.ParkReason != protocol.ParkCeiling || got.ParkDetail != "modelCalls" || got.ParkedAtMs != 300 || got.Step != "" {
		t.Errorf("parked as %+v", got)
	}
	r.must(func(tx *store.Tx) error { return queue.Resume(tx, "a", "first", 1) })
	got = r.get("a")
	if got.ParkReason != "" || got.ParkDetail != "" || got.ParkedAtMs != 0 {
		t.Errorf("resumed as %+v", got)
	}
	r.claim("a")
	r.must(func(tx *store.Tx) error { return queue.Park(tx, "a", protocol.ParkApproval, "", 1) })
	r.must(func(tx *store.Tx) error { return queue.Resume(tx, "a", "", 1) })
	for _, want := range []string{"first", "", ""} { // kept over a resume without a note, then given once
		var note string
		r.must(func(tx *store.Tx) (err error) {
			note, err = queue.TakeNote(tx, "a")
			return err
		})
		if note != want {
			t.Errorf("note is %q, want %q", note, want)
		}
	}
}

func TestPauseIsASwitchOnDisk(t *testing.T) {
	dir := t.TempDir()
	read := func(r *rig) (paused bool) {
		r.must(func(tx *store.Tx) (err error) {
			paused, err = queue.Paused(tx)
			return err
		})
		return paused
	}
	t.Run("first life", func(t *testing.T) {
		r := start(t, dir)
		if read(r) {
			t.Error("paused from the beginning")
		}
		for _, paused := range []bool{true, true, false, true} {
			seq := r.db.LastSeq()
			r.must(func(tx *store.Tx) error { return queue.SetPaused(tx, paused, 5) })
			if read(r) != paused {
				t.Errorf("paused is %v, want %v", !paused, paused)
			}
			if c := r.changes(seq); len(c) != 1 || c[0].Kind != queue.ChangeSwitch {
				t.Errorf("clients were told %v", c)
			}
		}
	})
	t.Run("second life", func(t *testing.T) {
		if !read(start(t, dir)) {
			t.Error("the pause was forgotten")
		}
	})
}
