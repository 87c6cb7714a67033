package approval_test

import (
	"context"
	"testing"

	"countersign/backend/approval"
	"countersign/backend/protocol"
	"countersign/backend/store"
	"countersign/backend/testkit/tempstore"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type rig struct {
	testing.TB
	db *store.DB
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return &rig{TB: t, db: tempstore.Open(t, approval.Schema())}
}

func (r *rig) write(fn func(*store.Tx) error) error { return r.db.Write(context.Background(), fn) }

func (r *rig) must(fn func(*store.Tx) error) {
	r.Helper()
	tempstore.Write(r, r.db, fn)
}

var everything = []protocol.Decision{protocol.AllowOnce, protocol.AllowSession, protocol.Deny}

func request(run protocol.RunID) protocol.ApprovalRequest {
	return protocol.ApprovalRequest{
		RunID: run, SessionKey: "agent:main:main", EffectID: protocol.EffectID("effect of " + run), Tool: "exec", Sentence: "Run ls", PlanHash: "hash",
		AllowedDecisions: everything,
	}
}

func (r *rig) ask(id protocol.ApprovalID, run protocol.RunID) {
	r.Helper()
	r.must(func(tx *store.Tx) error {
		return approval.Ask(tx, protocol.Approval{ID: id, Request: request(run), CreatedAtMs: 100})
	})
}

func (r *rig) get(id protocol.ApprovalID) (a protocol.Approval) {
	r.Helper()
	tempstore.Read(r, r.db, func(tx *store.ReadTx) (err error) {
		a, err = approval.Get(tx, id)
		return err
	})
	return a
}

func (r *rig) decide(id protocol.ApprovalID, v approval.Verdict) (a protocol.Approval, err error) {
	err = r.write(func(tx *store.Tx) (err error) {
		a, err = approval.Decide(tx, id, v, 200)
		return err
	})
	return a, err
}

func verdict(d protocol.Decision) approval.Verdict {
	return approval.Verdict{Decision: d, Reason: "because", Resolver: protocol.Resolver{Kind: "client", ID: "c1", Name: "you, in the window"}}
}

// force puts an approval into a state that no verb leads to yet.
func (r *rig) force(id protocol.ApprovalID, state protocol.ApprovalState) {
	r.Helper()
	r.must(func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE approvals SET state = ? WHERE approval_id = ?`, string(state), string(id))
		return err
	})
}

func (r *rig) told(after int64) int {
	r.Helper()
	changes, complete, err := r.db.Changes(context.Background(), after, 0)
	if err != nil || !complete {
		r.Fatal("read changes", complete, err)
	}
	return len(changes)
}
