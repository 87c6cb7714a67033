package effect_test

import (
	"strings"
	"testing"

	"countersign/backend/effect"
	"countersign/backend/protocol"
	"countersign/backend/store"
)

func undoable(e *effect.Effect, end *effect.Ending) {
	e.Before = &effect.Before{Path: "/w/notes.md", Existed: true, Mode: 0o600, Blob: "blob", SHA256: "before"}
	end.AfterSHA256 = "after"
}

func (r *rig) handle(id protocol.ReceiptID) (rc protocol.Receipt, before effect.Before, after string, ok bool) {
	r.Helper()
	r.must(func(tx *store.Tx) (err error) {
		rc, before, after, ok, err = effect.UndoHandle(tx, id)
		return err
	})
	return rc, before, after, ok
}

func TestAChangeKeepsWhatUndoNeeds(t *testing.T) {
	r := newRig(t)
	rc := r.receipt(undoable)
	if !rc.Undo.Available || rc.Undo.Reason != "" {
		t.Errorf("undo is %+v", rc.Undo)
	}
	_, before, after, ok := r.handle(rc.ID)
	if want := (effect.Before{Path: "/w/notes.md", Existed: true, Mode: 0o600, Blob: "blob", SHA256: "before"}); !ok || before != want || after != "after" {
		t.Errorf("handle %+v, %s (%v)", before, after, ok)
	}
}

func TestWhatCannotBeUndoneSaysWhy(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		name, why string
		change    func(*effect.Effect, *effect.Ending)
	}{
		{"a read", "It changed nothing.", func(e *effect.Effect, _ *effect.Ending) { e.Class = protocol.ClassRead }},
		{"a question", "It changed nothing.", func(e *effect.Effect, _ *effect.Ending) { e.Class = protocol.ClassAsk }},
		{"a command", "What a command did cannot be taken back from here.", func(e *effect.Effect, _ *effect.Ending) { e.Class = protocol.ClassCommand }},
		{"a change without a former state", "There is nothing to put back.", func(*effect.Effect, *effect.Ending) {}},
		{"a change whose result nobody knows", "There is nothing to put back.", func(e *effect.Effect, end *effect.Ending) {
			undoable(e, end)
			end.AfterSHA256 = ""
		}},
		{"a change that failed", "There is nothing to put back.", func(e *effect.Effect, end *effect.Ending) {
			undoable(e, end)
			end.Outcome = protocol.OutcomeFailed
		}},
		{"a change that may have happened", "There is nothing to put back.", func(e *effect.Effect, end *effect.Ending) {
			undoable(e, end)
			end.Outcome = protocol.OutcomeUnknown
		}},
		{"what says so itself", "It was an undo itself.", func(e *effect.Effect, end *effect.Ending) {
			undoable(e, end)
			end.NoUndo = "It was an undo itself."
		}},
	} {
		rc := r.receipt(c.change)
		if rc.Undo.Available || rc.Undo.Reason != c.why {
			t.Errorf("%s: %+v, want %q", c.name, rc.Undo, c.why)
		}
		if got, _, _, ok := r.handle(rc.ID); ok || got.Undo.Reason != c.why {
			t.Errorf("%s has a handle", c.name)
		}
	}
	denied := planned("denied")
	r.insert(denied)
	if rc := r.finish(denied, ending("receipt denied", protocol.OutcomeDenied)); rc.Undo.Reason != "Nothing was done." {
		t.Errorf("denied: %+v", rc.Undo)
	}
}

func TestOnlyAnUndoThatWasDoneTakesAReceiptBack(t *testing.T) {
	r := newRig(t)
	change := r.receipt(undoable)
	undo := func(o protocol.Outcome) protocol.Receipt {
		return r.receipt(func(e *effect.Effect, end *effect.Ending) {
			e.Tool, e.Class, end.Outcome, end.Undoes, end.NoUndo = "undo", protocol.ClassUndo, o, change.ID, "It was an undo itself."
		})
	}
	for _, o := range []protocol.Outcome{protocol.OutcomeFailed, protocol.OutcomeUnknown, protocol.OutcomeStopped} {
		undo(o)
		if got := r.read(change.ID); !got.Undo.Available || got.Undo.UndoneBy != "" {
			t.Errorf("an undo that ended %s took it back: %+v", o, got.Undo)
		}
	}
	by := undo(protocol.OutcomeDone)
	got := r.read(change.ID)
	if got.Undo.Available || got.Undo.UndoneBy != by.ID || got.Undo.Reason == "" || by.Undo.Undoes != change.ID {
		t.Errorf("undone as %+v by %+v", got.Undo, by.Undo)
	}
	if _, _, _, ok := r.handle(change.ID); ok {
		t.Error("it can be undone twice")
	}
	if l := r.list(protocol.ReceiptsListParams{}); l.Receipts[len(l.Receipts)-1].Undo.UndoneBy != by.ID {
		t.Errorf("the list shows %+v", l.Receipts)
	}
	if _, _, broken := r.verify(); broken != nil {
		t.Errorf("being undone broke the chain: %+v", broken)
	}
}

// A list asks of each receipt whether it was undone; without the index that is
// a walk over all of them each time.
func TestWhoUndidAReceiptIsFoundByTheIndex(t *testing.T) {
	r := newRig(t)
	var plan strings.Builder
	r.must(func(tx *store.Tx) error {
		rows, err := tx.Query(`EXPLAIN QUERY PLAN ` + effect.ListSQL)
		if err != nil {
			return err
		}
		for rows.Next() {
			var a, b, c int
			var detail string
			if err := rows.Scan(&a, &b, &c, &detail); err != nil {
				return err
			}
			plan.WriteString(detail + "\n")
		}
		return rows.Err()
	})
	if !strings.Contains(plan.String(), "SEARCH u USING INDEX receipts_undoes") {
		t.Errorf("the plan is\n%s", plan.String())
	}
}
