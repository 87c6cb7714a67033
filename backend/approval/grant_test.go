package approval_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/backend/approval"
	"countersign/backend/protocol"
	"countersign/backend/store"
)

func (r *rig) grant(g approval.Grant) {
	r.Helper()
	g.ApprovalID, g.AgentID, g.Tool = "aaaa-1", "main", "exec"
	r.must(func(tx *store.Tx) error { return approval.AddGrant(tx, g, 100) })
}

func (r *rig) use(id string, nowMs int64) error {
	return r.write(func(tx *store.Tx) error { return approval.ConsumeGrant(tx, id, nowMs) })
}

func (r *rig) grants(window protocol.SessionID, hash string) (ids []string) {
	r.Helper()
	r.must(func(tx *store.Tx) error {
		found, err := approval.Grants(tx, window, hash)
		ids = nil
		for _, g := range found {
			ids = append(ids, g.ID)
		}
		return err
	})
	return ids
}

func TestAGrantIsGoodForItsWindowAndPlanOnly(t *testing.T) {
	r := newRig(t)
	r.bring("aaaa-1", "run", protocol.ApprovalAllowed)
	r.grant(approval.Grant{ID: "g1", SessionID: "w1", PlanHash: "hash", Remaining: -1})
	if got := r.grants("w1", "hash"); !slices.Equal(got, []string{"g1"}) {
		t.Errorf("found %v", got)
	}
	for _, other := range [][2]string{{"w2", "hash"}, {"w1", "other"}, {"", "hash"}, {"w1", ""}} {
		if got := r.grants(protocol.SessionID(other[0]), other[1]); len(got) > 0 {
			t.Errorf("%v finds %v", other, got)
		}
	}
	for range 5 { // without a count it lasts
		if err := r.use("g1", 200); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.write(func(tx *store.Tx) error {
		return approval.AddGrant(tx, approval.Grant{ID: "g2", ApprovalID: "nobody"}, 1)
	}); err == nil {
		t.Error("a grant was stored that nobody gave")
	}
}

func TestAGrantIsUsedUp(t *testing.T) {
	r := newRig(t)
	r.bring("aaaa-1", "run", protocol.ApprovalAllowed)
	r.grant(approval.Grant{ID: "g1", SessionID: "w1", PlanHash: "hash", Remaining: 3})
	var used atomic.Int32
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			if r.db.Write(context.Background(), func(tx *store.Tx) error { return approval.ConsumeGrant(tx, "g1", 200) }) == nil {
				used.Add(1)
			}
		})
	}
	wg.Wait()
	if used.Load() != 3 {
		t.Errorf("a grant for 3 was used %d times", used.Load())
	}
	if got := r.grants("w1", "hash"); len(got) > 0 {
		t.Errorf("a grant that is used up is still found: %v", got)
	}
}

func TestAGrantExpiresAndCanBeRevoked(t *testing.T) {
	r := newRig(t)
	r.bring("aaaa-1", "run", protocol.ApprovalAllowed)
	r.grant(approval.Grant{ID: "g1", SessionID: "w1", PlanHash: "hash", Remaining: -1, ExpiresAtMs: 1000})
	if err := r.use("g1", 999); err != nil {
		t.Errorf("before it expires: %v", err)
	}
	for _, now := range []int64{1000, 1001} {
		if err := r.use("g1", now); !isConsumed(err) {
			t.Errorf("at %d: %v", now, err)
		}
	}
	r.must(func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE grants SET revoked_at_ms = 500 WHERE grant_id = 'g1'`)
		return err
	})
	if err := r.use("g1", 600); !isConsumed(err) || len(r.grants("w1", "hash")) > 0 {
		t.Errorf("after it was revoked: %v, found %v", err, r.grants("w1", "hash"))
	}
	if err := r.use("nobody", 1); !isConsumed(err) {
		t.Errorf("a grant that never was: %v", err)
	}
}
