package session_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/session"
	"countersign/backend/store"
)

func TestGetOrCreateMakesASessionOnce(t *testing.T) {
	r := newRig(t)
	again := r.create(key, "w9", 900)
	if again.ID != "w1" || again.CreatedAtMs != 100 || again.Version != 1 || again.AgentID != "main" {
		t.Errorf("made twice: %+v", again)
	}
	err := r.write(func(tx *store.Tx) error {
		_, err := session.Get(tx, "agent:main:nobody")
		return err
	})
	if !errors.Is(err, session.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
}

func TestApplyChangesOnlyWhatIsGiven(t *testing.T) {
	r := newRig(t)
	label, model, yes, no := "Taxes", "big", true, false
	apply := func(p session.Patch) (s session.Session) {
		r.must(func(tx *store.Tx) (err error) {
			s, err = session.Apply(tx, key, p, 500)
			return err
		})
		return s
	}
	s := apply(session.Patch{Label: &label, Pinned: &yes, Unread: &yes})
	if s.Label != "Taxes" || !s.Pinned || !s.Unread || s.Archived || s.Model != "" || s.Version != 2 {
		t.Errorf("got %+v", s)
	}
	s = apply(session.Patch{Model: &model, Archived: &yes, Pinned: &no})
	if s.Label != "Taxes" || s.Pinned || !s.Unread || !s.Archived || s.Model != "big" || s.UpdatedAtMs != 100 {
		t.Errorf("got %+v", s)
	}
	err := r.write(func(tx *store.Tx) error {
		_, err := session.Apply(tx, "agent:main:nobody", session.Patch{Label: &label}, 1)
		return err
	})
	if !errors.Is(err, session.ErrNotFound) {
		t.Errorf("apply to nobody: %v", err)
	}
}

func TestResetBeginsAnEmptyWindowAndKeepsTheOldOne(t *testing.T) {
	r := newRig(t)
	label := "Kept"
	r.must(func(tx *store.Tx) error {
		_, err := session.Apply(tx, key, session.Patch{Label: &label}, 1)
		return err
	})
	r.says("w1", protocol.RoleUser, text("old"))
	var s session.Session
	r.must(func(tx *store.Tx) (err error) {
		s, err = session.Reset(tx, key, "w2", "new", 2000)
		return err
	})
	if s.ID != "w2" || s.Title != "" || s.Preview != "" || s.LastSeq != 0 || s.MessageCount != 0 || s.Unread || s.Label != "Kept" {
		t.Errorf("reset to %+v", s)
	}
	m := r.says("w2", protocol.RoleUser, text("new"))
	if m.Seq != 1 || !slices.Equal(ids(r.history("w2")), []protocol.MessageID{"m2"}) || !slices.Equal(ids(r.history("w1")), []protocol.MessageID{"m1"}) {
		t.Errorf("windows hold %v and %v", ids(r.history("w1")), ids(r.history("w2")))
	}
	err := r.write(func(tx *store.Tx) error {
		_, err := session.Reset(tx, "agent:main:nobody", "w3", "", 1)
		return err
	})
	if !errors.Is(err, session.ErrNotFound) {
		t.Errorf("reset of nobody: %v", err)
	}
}

func TestDeleteHidesAndOnDemandErases(t *testing.T) {
	for _, erase := range []bool{false, true} {
		t.Run(fmt.Sprintf("erase %v", erase), func(t *testing.T) {
			r := newRig(t)
			r.says("w1", protocol.RoleUser, text("canary one"))
			r.must(func(tx *store.Tx) error {
				_, err := session.Reset(tx, key, "w2", "", 1)
				return err
			})
			r.says("w2", protocol.RoleUser, text("canary two"))
			r.create("agent:main:other", "o1", 1)
			r.says("o1", protocol.RoleUser, text("stays"))
			err := r.write(func(tx *store.Tx) error { return session.Delete(tx, key, erase, "w1", 3000) })
			if !errors.Is(err, session.ErrChanged) {
				t.Errorf("delete of what it no longer is: %v", err)
			}
			r.must(func(tx *store.Tx) error { return session.Delete(tx, key, erase, "w2", 3000) })
			err = r.write(func(tx *store.Tx) error { return session.Delete(tx, key, erase, "", 3000) })
			if !errors.Is(err, session.ErrNotFound) {
				t.Errorf("deleted twice: %v", err)
			}
			left := len(r.history("w1")) + len(r.history("w2"))
			if erase != (left == 0) || len(r.history("o1")) != 1 {
				t.Errorf("%d messages are left, and %d of another session", left, len(r.history("o1")))
			}
			if quoted := r.quoted("%canary%"); erase && quoted > 0 {
				t.Errorf("%d rows still quote what was erased", quoted)
			}
			s := r.create(key, "w3", 4000)
			if s.ID != "w3" || s.Title != "" || s.Preview != "" || s.Unread || s.CreatedAtMs != 4000 || s.LastSeq != 0 {
				t.Errorf("begun anew as %+v", s)
			}
		})
	}
}

// quoted counts the rows of this owner that hold a text anywhere.
func (r *rig) quoted(like string) (n int) {
	r.Helper()
	r.must(func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT (SELECT count(*) FROM messages WHERE message_json LIKE ?1) + (SELECT count(*) FROM sessions WHERE title LIKE ?1 OR preview LIKE ?1)`, like).Scan(&n)
	})
	return n
}

func TestASessionMadeAgainForgetsItsSettings(t *testing.T) {
	r := newRig(t)
	label, yes := "Old", true
	r.must(func(tx *store.Tx) error {
		if _, err := session.Apply(tx, key, session.Patch{Label: &label, Model: &label, Pinned: &yes, Archived: &yes, Unread: &yes}, 1); err != nil {
			return err
		}
		return session.Delete(tx, key, false, "", 2)
	})
	if s := r.create(key, "w2", 3); s.Label != "" || s.Model != "" || s.Pinned || s.Archived || s.Unread {
		t.Errorf("begun anew as %+v", s)
	}
}

func TestListSearchesFiltersOrdersAndPages(t *testing.T) {
	r := newRig(t)
	words := []string{`100% sure`, `100 sure`, `snake_case`, `snakeXcase`, `back\slash`, `backslash`}
	for i, w := range words {
		k := protocol.SessionKey(fmt.Sprintf("agent:main:s%d", i))
		r.create(k, protocol.SessionID(k), int64(200+i))
		r.says(protocol.SessionID(k), protocol.RoleUser, text(w))
	}
	r.create("agent:writer:w", "ww", 5000)
	yes, no := true, false
	r.must(func(tx *store.Tx) error {
		_, err := session.Apply(tx, "agent:main:s0", session.Patch{Pinned: &yes}, 1)
		_, err2 := session.Apply(tx, "agent:main:s1", session.Patch{Archived: &yes}, 1)
		return errors.Join(err, err2)
	})
	r.create("agent:main:gone", "gone", 1)
	r.must(func(tx *store.Tx) error { return session.Delete(tx, "agent:main:gone", false, "", 2) })
	list := func(f session.Filter) (out []string, total int) {
		r.must(func(tx *store.Tx) error {
			found, n, err := session.List(tx, f)
			out, total = nil, n
			for _, s := range found {
				out = append(out, string(s.Key)[len("agent:"):])
			}
			return err
		})
		return out, total
	}
	everything := []string{"main:s0", "writer:w", "main:s5", "main:s4", "main:s3", "main:s2", "main:s1", "main:main"}
	for _, c := range []struct {
		name  string
		f     session.Filter
		want  []string
		total int
	}{
		{"pinned first, then the newest", session.Filter{}, everything, 8},
		{"per cent is a letter", session.Filter{Search: "100%"}, []string{"main:s0"}, 1},
		{"underscore is a letter", session.Filter{Search: "e_c"}, []string{"main:s2"}, 1},
		{"backslash is a letter", session.Filter{Search: `k\s`}, []string{"main:s4"}, 1},
		{"a lone per cent", session.Filter{Search: "%"}, []string{"main:s0"}, 1},
		{"a lone underscore", session.Filter{Search: "_"}, []string{"main:s2"}, 1},
		{"case does not matter", session.Filter{Search: "SNAKEX"}, []string{"main:s3"}, 1},
		{"nothing found", session.Filter{Search: "%%"}, nil, 0},
		{"by key", session.Filter{Search: "writer:"}, []string{"writer:w"}, 1},
		{"archived", session.Filter{Archived: &yes}, []string{"main:s1"}, 1},
		{"not archived", session.Filter{Archived: &no, AgentID: "main"}, []string{"main:s0", "main:s5", "main:s4", "main:s3", "main:s2", "main:main"}, 6},
		{"of an agent", session.Filter{AgentID: "writer"}, []string{"writer:w"}, 1},
		{"since", session.Filter{SinceMs: 1005}, []string{"writer:w", "main:s5", "main:s4"}, 3},
		{"first page", session.Filter{Limit: 3}, everything[:3], 8},
		{"second page", session.Filter{Limit: 3, Offset: 3}, everything[3:6], 8},
		{"last page", session.Filter{Limit: 3, Offset: 6}, everything[6:], 8},
		{"past the end", session.Filter{Limit: 3, Offset: 9}, nil, 8},
	} {
		got, total := list(c.f)
		if !slices.Equal(got, c.want) || total != c.total {
			t.Errorf("%s: %v of %d, want %v of %d", c.name, got, total, c.want, c.total)
		}
	}
	r.must(func(tx *store.Tx) error {
		n, err := session.Count(tx)
		if n != 8 {
			t.Errorf("counted %d", n)
		}
		return err
	})
}
