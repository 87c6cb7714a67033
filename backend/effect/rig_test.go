package effect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"countersign/backend/effect"
	"countersign/backend/protocol"
	"countersign/backend/store"
	"countersign/backend/testkit/tempstore"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type rig struct {
	testing.TB
	db *store.DB
	n  int
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return &rig{TB: t, db: tempstore.Open(t, effect.Schema())}
}

func (r *rig) write(fn func(*store.Tx) error) error { return r.db.Write(context.Background(), fn) }

func (r *rig) must(fn func(*store.Tx) error) {
	r.Helper()
	tempstore.Write(r, r.db, fn)
}

// planned is an effect of its own run, changing a file once.
func planned(id string) effect.Effect {
	return effect.Effect{
		ID: protocol.EffectID(id), RunID: protocol.RunID("run of " + id), SessionKey: "agent:main:main", AgentID: "main", MessageID: "m1", ToolCallID: "call",
		Tool: "write", Class: protocol.ClassWrite, Repeat: "once", Args: json.RawMessage(`{"path":"notes.md"}`), Plan: json.RawMessage(`{"p":1}`), PlanHash: "hash",
		Target: "notes.md", PlannedMs: 100,
	}
}

func ending(receipt string, o protocol.Outcome) effect.Ending {
	return effect.Ending{ReceiptID: protocol.ReceiptID(receipt), Outcome: o, ResultText: "ok", Represents: "you"}
}

func (r *rig) insert(e effect.Effect) {
	r.Helper()
	r.must(func(tx *store.Tx) error { return effect.Insert(tx, e) })
}

func (r *rig) get(id protocol.EffectID) (e effect.Effect) {
	r.Helper()
	r.must(func(tx *store.Tx) (err error) {
		e, err = effect.Get(tx, id)
		return err
	})
	return e
}

// bring makes an effect that is in the given state.
func (r *rig) bring(e effect.Effect, state effect.State) {
	r.Helper()
	r.insert(e)
	if state == effect.Planned {
		return
	}
	if state == effect.Denied {
		r.finish(e, ending("receipt of "+string(e.ID), protocol.OutcomeDenied))
		return
	}
	r.must(func(tx *store.Tx) error { return effect.Authorise(tx, e.ID, protocol.Authority{Kind: "clause"}) })
	if state == effect.Authorised {
		return
	}
	r.must(func(tx *store.Tx) error {
		_, err := effect.Start(tx, e.ID, 200)
		return err
	})
	if state != effect.Started {
		r.finish(e, ending("receipt of "+string(e.ID), protocol.Outcome(state)))
	}
	if got := r.get(e.ID).State; got != state {
		r.Fatalf("the effect is %s, want %s", got, state)
	}
}

func (r *rig) finish(e effect.Effect, end effect.Ending) (rc protocol.Receipt) {
	r.Helper()
	r.must(func(tx *store.Tx) (err error) {
		rc, err = effect.Finish(tx, e, end, 300)
		return err
	})
	return rc
}

// receipt writes one more receipt, of a change that was done.
func (r *rig) receipt(change func(*effect.Effect, *effect.Ending)) protocol.Receipt {
	r.Helper()
	r.n++
	e := planned(fmt.Sprintf("effect-%04d", r.n))
	end := ending(fmt.Sprintf("receipt-%04d", r.n), protocol.OutcomeDone)
	if change != nil {
		change(&e, &end)
	}
	r.bring(e, effect.Started)
	return r.finish(e, end)
}

func (r *rig) read(id protocol.ReceiptID) (rc protocol.Receipt) {
	r.Helper()
	r.must(func(tx *store.Tx) (err error) {
		rc, err = effect.GetReceipt(tx, id)
		return err
	})
	return rc
}

func (r *rig) list(p protocol.ReceiptsListParams) (out protocol.ReceiptsList) {
	r.Helper()
	tempstore.Read(r, r.db, func(tx *store.ReadTx) (err error) {
		out, err = effect.ListReceipts(tx, p)
		return err
	})
	return out
}

func (r *rig) told(after int64) int {
	r.Helper()
	changes, complete, err := r.db.Changes(context.Background(), after, 0)
	if err != nil || !complete {
		r.Fatal("read changes", complete, err)
	}
	return len(changes)
}

func (r *rig) exec(q string, args ...any) {
	r.Helper()
	r.must(func(tx *store.Tx) error {
		_, err := tx.Exec(q, args...)
		return err
	})
}
