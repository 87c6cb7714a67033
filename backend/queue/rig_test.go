package queue_test

import (
	"context"
	"fmt"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/store"
	"countersign/backend/testkit/tempstore"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lane protocol.SessionKey = "agent:main:main"

// rig is a store with one boot behind it.
type rig struct {
	tempstore.TB
	db    *store.DB
	epoch int64
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return start(t, t.TempDir())
}

func start(t tempstore.TB, dir string) *rig {
	t.Helper()
	r := &rig{TB: t, db: tempstore.OpenIn(t, dir, queue.Schema())}
	r.boot()
	return r
}

func (r *rig) boot() {
	r.Helper()
	r.must(func(tx *store.Tx) (err error) {
		r.epoch, _, err = queue.Boot(tx, 1)
		return err
	})
}

func (r *rig) write(fn func(*store.Tx) error) error { return r.db.Write(context.Background(), fn) }

func (r *rig) must(fn func(*store.Tx) error) {
	r.Helper()
	tempstore.Write(r, r.db, fn)
}

func (r *rig) accept(key protocol.SessionKey, id protocol.RunID) {
	r.Helper()
	r.must(func(tx *store.Tx) error { return accept(tx, key, id) })
}

func accept(tx *store.Tx, key protocol.SessionKey, id protocol.RunID) error {
	return queue.Accept(tx, queue.Run{
		ID: id, SessionKey: key, SessionID: "w1", AgentID: "main", ContentHash: "hash of " + string(id), Channel: "window", Sender: "you",
		ReplyTarget: "{}", Title: string(id), Limits: queue.Limits{ModelCalls: 10, ToolCalls: 20, WallMs: 30000}, AcceptedAtMs: 100,
	}, queue.Input{
		RunID:   id,
		Message: protocol.Message{ID: protocol.MessageID("m-" + id), Role: protocol.RoleUser, Content: protocol.Blocks{protocol.TextBlock{Text: "say " + string(id)}}},
	})
}

func (r *rig) claim(id protocol.RunID) (lease queue.Lease) {
	r.Helper()
	r.must(func(tx *store.Tx) (err error) {
		lease, err = queue.Claim(tx, id, r.epoch, 200)
		return err
	})
	return lease
}

func (r *rig) get(id protocol.RunID) (run queue.Run) {
	r.Helper()
	tempstore.Read(r, r.db, func(tx *store.ReadTx) (err error) {
		run, err = queue.Get(tx, id)
		return err
	})
	return run
}

func (r *rig) next() (id protocol.RunID, ok bool) {
	r.Helper()
	tempstore.Read(r, r.db, func(tx *store.ReadTx) (err error) {
		id, ok, err = queue.Next(tx)
		return err
	})
	return id, ok
}

// bring makes a run that is in the given state.
func (r *rig) bring(id protocol.RunID, state protocol.RunState) {
	r.Helper()
	r.accept(protocol.SessionKey("agent:main:"+id), id)
	if state == protocol.RunQueued {
		return
	}
	r.claim(id)
	r.must(func(tx *store.Tx) error {
		switch state {
		case protocol.RunRunning:
			return nil
		case protocol.RunParked:
			return queue.Park(tx, id, protocol.ParkCeiling, string(protocol.CeilingModelCalls), 300)
		}
		return queue.Finish(tx, id, queue.Ending{State: state}, 300)
	})
	if got := r.get(id).State; got != state {
		r.Fatal(fmt.Sprintf("the run is %s, want %s", got, state))
	}
}

func (r *rig) changes(after int64) []store.Change {
	r.Helper()
	changes, complete, err := r.db.Changes(context.Background(), after, 0)
	if err != nil || !complete {
		r.Fatal("read changes: ", complete, err)
	}
	return changes
}
