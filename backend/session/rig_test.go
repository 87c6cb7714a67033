package session_test

import (
	"context"
	"fmt"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/session"
	"countersign/backend/store"
	"countersign/backend/testkit/tempstore"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key protocol.SessionKey = "agent:main:main"

type rig struct {
	*testing.T
	db *store.DB
	n  int
}

// newRig is a store with one session in its window w1.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, db: tempstore.Open(t, session.Schema())}
	r.create(key, "w1", 100)
	return r
}

func (r *rig) write(fn func(*store.Tx) error) error { return r.db.Write(context.Background(), fn) }

func (r *rig) must(fn func(*store.Tx) error) {
	r.Helper()
	tempstore.Write(r, r.db, fn)
}

func (r *rig) create(k protocol.SessionKey, id protocol.SessionID, at int64) (s session.Session) {
	r.Helper()
	r.must(func(tx *store.Tx) (err error) {
		s, err = session.GetOrCreate(tx, k, id, at)
		return err
	})
	return s
}

func (r *rig) get(k protocol.SessionKey) (s session.Session) {
	r.Helper()
	tempstore.Read(r, r.db, func(tx *store.ReadTx) (err error) {
		s, err = session.Get(tx, k)
		return err
	})
	return s
}

func text(s string) protocol.Blocks { return protocol.Blocks{protocol.TextBlock{Text: s}} }

// says appends a message and returns it as stored.
func (r *rig) says(id protocol.SessionID, role protocol.Role, content protocol.Blocks) (m protocol.Message) {
	r.Helper()
	r.n++
	n := r.n
	r.must(func(tx *store.Tx) (err error) {
		m, err = session.Append(tx, id, protocol.Message{
			ID: protocol.MessageID(fmt.Sprintf("m%d", n)), Role: role, Content: content, TimestampMs: 1000 + int64(n), RunID: "r1",
		})
		return err
	})
	return m
}

func (r *rig) history(id protocol.SessionID) (out []protocol.Message) {
	r.Helper()
	tempstore.Read(r, r.db, func(tx *store.ReadTx) (err error) {
		out, err = session.History(tx, id)
		return err
	})
	return out
}

func (r *rig) told(after int64) (kinds []string) {
	r.Helper()
	changes, complete, err := r.db.Changes(context.Background(), after, 0)
	if err != nil || !complete {
		r.Fatal("read changes", complete, err)
	}
	for _, c := range changes {
		kinds = append(kinds, c.Kind+" "+c.Key)
	}
	return kinds
}

func ids(messages []protocol.Message) (out []protocol.MessageID) {
	for _, m := range messages {
		out = append(out, m.ID)
	}
	return out
}
