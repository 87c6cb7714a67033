package session_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/backend/protocol"
	"countersign/backend/session"
	"countersign/backend/store"
)

func TestAppendNumbersMessagesAndMovesTheHead(t *testing.T) {
	r := newRig(t)
	seq := r.db.LastSeq()
	m1 := r.says("w1", protocol.RoleUser, text("What is\n in notes?"))
	if got, want := r.told(seq), []string{"session " + string(key), "message m1"}; !slices.Equal(got, want) {
		t.Errorf("clients were told %v, want %v", got, want)
	}
	call := protocol.ToolCallBlock{ID: "c1", Name: "read", Arguments: json.RawMessage(`{"path":"notes.md"}`)}
	m2 := r.says("w1", protocol.RoleAssistant, protocol.Blocks{call})
	m3 := r.says("w1", protocol.RoleToolResult, text("a very long file"))
	if s := r.get(key); s.Title != "What is in notes?" || s.Preview != "What is in notes?" {
		t.Errorf("a call or its result became the preview: %+v", s)
	}
	m4 := r.says("w1", protocol.RoleAssistant, text("Nothing."))
	r.says("w1", protocol.RoleUser, text("Thanks"))
	s := r.get(key)
	if m1.Seq != 1 || m2.Seq != 2 || m3.Seq != 3 || m4.Seq != 4 || s.LastSeq != 5 || s.MessageCount != 5 {
		t.Errorf("numbered %d %d %d %d, head at %d of %d", m1.Seq, m2.Seq, m3.Seq, m4.Seq, s.LastSeq, s.MessageCount)
	}
	if s.Title != "What is in notes?" || s.Preview != "Thanks" || !s.Unread || s.UpdatedAtMs != 1005 {
		t.Errorf("head is %+v", s)
	}
	got := r.history("w1")
	if !slices.Equal(ids(got), []protocol.MessageID{"m1", "m2", "m3", "m4", "m5"}) || !reflect.DeepEqual(got[1], m2) {
		t.Errorf("history is %+v", got)
	}
}

func TestAMessageIdIsUsedOnce(t *testing.T) {
	r := newRig(t)
	r.says("w1", protocol.RoleUser, text("one"))
	r.n = 0
	err := r.write(func(tx *store.Tx) error {
		_, err := session.Append(tx, "w1", protocol.Message{ID: "m1", Role: protocol.RoleUser, Content: text("two")})
		return err
	})
	if err == nil || r.get(key).LastSeq != 1 || r.get(key).Preview != "one" {
		t.Errorf("stored twice: %v, %+v", err, r.get(key))
	}
}

func TestAWindowThatWasLeftTakesNothingMore(t *testing.T) {
	for name, leave := range map[string]func(*rig){
		"reset": func(r *rig) {
			r.must(func(tx *store.Tx) error {
				_, err := session.Reset(tx, key, "w2", "new", 2000)
				return err
			})
		},
		"deleted": func(r *rig) {
			r.must(func(tx *store.Tx) error { return session.Delete(tx, key, false, "", 2000) })
		},
		"deleted and begun anew": func(r *rig) {
			r.must(func(tx *store.Tx) error { return session.Delete(tx, key, false, "", 2000) })
			r.create(key, "w2", 2001)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			m := r.says("w1", protocol.RoleUser, text("before"))
			leave(r)
			err := r.write(func(tx *store.Tx) error {
				_, err := session.Append(tx, "w1", protocol.Message{ID: "late", Role: protocol.RoleAssistant, Content: text("late")})
				return err
			})
			if !errors.Is(err, session.ErrChanged) {
				t.Errorf("append: %v, want ErrChanged", err)
			}
			err = r.write(func(tx *store.Tx) error { return session.ReplaceFrom(tx, "w1", m.ID, 3000) })
			if !errors.Is(err, session.ErrNotFound) {
				t.Errorf("replace: %v, want ErrNotFound", err)
			}
			if got := ids(r.history("w1")); !slices.Equal(got, []protocol.MessageID{"m1"}) {
				t.Errorf("the old window holds %v", got)
			}
		})
	}
	r := newRig(t)
	err := r.write(func(tx *store.Tx) error {
		_, err := session.Append(tx, "never", protocol.Message{ID: "x", Role: protocol.RoleUser})
		return err
	})
	if !errors.Is(err, session.ErrChanged) {
		t.Errorf("append to a window that never was: %v", err)
	}
}

func TestReplaceFromTakesAMessageAndItsFollowersBack(t *testing.T) {
	r := newRig(t)
	r.says("w1", protocol.RoleUser, text("first"))
	r.says("w1", protocol.RoleAssistant, text("answer one"))
	m3 := r.says("w1", protocol.RoleUser, text("second, secret"))
	r.says("w1", protocol.RoleAssistant, text("answer two"))
	seq := r.db.LastSeq()
	r.must(func(tx *store.Tx) error { return session.ReplaceFrom(tx, "w1", m3.ID, 5000) })
	s := r.get(key)
	if got := ids(r.history("w1")); !slices.Equal(got, []protocol.MessageID{"m1", "m2"}) || s.MessageCount != 2 {
		t.Errorf("history is %v, counted as %d", got, s.MessageCount)
	}
	if s.Title != "first" || s.Preview != "answer one" {
		t.Errorf("the list still shows what was taken back: %+v", s)
	}
	if got := r.told(seq); !slices.Equal(got, []string{"session " + string(key)}) {
		t.Errorf("clients were told %v", got)
	}
	// Numbers are never given out twice, and what was replaced cannot be again.
	if m := r.says("w1", protocol.RoleUser, text("second")); m.Seq != 5 {
		t.Errorf("numbered %d, want 5", m.Seq)
	}
	err := r.write(func(tx *store.Tx) error { return session.ReplaceFrom(tx, "w1", m3.ID, 6000) })
	if !errors.Is(err, session.ErrNotFound) {
		t.Errorf("replaced twice: %v", err)
	}
	if got := ids(r.history("w1")); !slices.Equal(got, []protocol.MessageID{"m1", "m2", "m5"}) {
		t.Errorf("history is %v", got)
	}
	r.must(func(tx *store.Tx) error { // it is kept, and still found by its id
		m, k, err := session.Message(tx, m3.ID)
		if m.Content.Text() != "second, secret" || k != key {
			t.Errorf("found %+v of %s", m, k)
		}
		return err
	})
	// The first message gone, its title goes too.
	r.must(func(tx *store.Tx) error { return session.ReplaceFrom(tx, "w1", "m1", 7000) })
	r.says("w1", protocol.RoleUser, text("other words"))
	if s := r.get(key); s.Title != "other words" || s.MessageCount != 1 {
		t.Errorf("head is %+v", s)
	}
}

func TestPageWalksBackwardsWithoutGapOrRepeat(t *testing.T) {
	r := newRig(t)
	const all = 7
	for range all {
		r.says("w1", protocol.RoleUser, text("x"))
	}
	page := func(before int64, limit int) (out []protocol.Message, more bool) {
		r.must(func(tx *store.Tx) (err error) {
			out, more, err = session.Page(tx, "w1", before, limit)
			return err
		})
		return out, more
	}
	for limit := 1; limit <= all+1; limit++ {
		var got []int64
		before, more := int64(0), true
		for more {
			var p []protocol.Message
			p, more = page(before, limit)
			if len(p) > limit || len(p) == 0 {
				t.Fatalf("limit %d gave %d", limit, len(p))
			}
			var seqs []int64
			for _, m := range p {
				seqs = append(seqs, m.Seq)
			}
			got, before = append(seqs, got...), p[0].Seq
		}
		if !slices.Equal(got, []int64{1, 2, 3, 4, 5, 6, 7}) {
			t.Errorf("limit %d walked over %v", limit, got)
		}
	}
	if p, more := page(1, 5); len(p) > 0 || more {
		t.Errorf("before the first there are %d, more %v", len(p), more)
	}
	if p, more := page(0, all); len(p) != all || more {
		t.Errorf("exactly all gave %d, more %v", len(p), more)
	}
	for _, limit := range []int{0, -1, -100} {
		if p, more := page(0, limit); len(p) != 1 || p[0].Seq != all || !more {
			t.Errorf("limit %d gave %d, more %v", limit, len(p), more)
		}
	}
}

func TestOfRunReadsOneRunInItsWindow(t *testing.T) {
	r := newRig(t)
	r.says("w1", protocol.RoleUser, text("mine"))
	r.must(func(tx *store.Tx) error {
		_, err := session.Append(tx, "w1", protocol.Message{ID: "other", Role: protocol.RoleUser, RunID: "r2", Content: text("x")})
		return err
	})
	r.must(func(tx *store.Tx) error {
		got, err := session.OfRun(tx, "w1", "r1")
		if !slices.Equal(ids(got), []protocol.MessageID{"m1"}) {
			t.Errorf("got %v", ids(got))
		}
		return err
	})
}

// A newer version may have written what this one does not know. That part is
// lost to the eye, and nothing around it.
func TestAnUnknownBlockCostsThatBlockOnly(t *testing.T) {
	r := newRig(t)
	r.says("w1", protocol.RoleUser, text("before"))
	for id, content := range map[string]string{
		"m-type":  `[{"type":"text","text":"seen"},{"type":"hologram","rays":[1,2]},{"type":"toolCall","id":"c1","name":"read","arguments":{}}]`,
		"m-shape": `[{"type":"text","text":"seen"},{"type":"image","mimeType":{"main":"image"}},{"type":"toolCall","id":"c1","name":"read","arguments":{}}]`,
	} {
		r.plant(id, `{"id":"`+id+`","role":"assistant","content":`+content+`}`)
	}
	r.says("w1", protocol.RoleUser, text("after"))
	got := r.history("w1")
	if len(got) != 4 {
		t.Fatalf("history holds %v", ids(got))
	}
	for _, m := range got[1:3] {
		want := protocol.Blocks{
			protocol.TextBlock{Text: "seen"}, protocol.TextBlock{Text: protocol.UnreadableBlock},
			protocol.ToolCallBlock{ID: "c1", Name: "read", Arguments: json.RawMessage(`{}`)},
		}
		if !reflect.DeepEqual(m.Content, want) {
			t.Errorf("%s holds %#v", m.ID, m.Content)
		}
	}
}

func TestADamagedRowCostsThatMessageOnly(t *testing.T) {
	r := newRig(t)
	r.says("w1", protocol.RoleUser, text("before"))
	r.plant("m-json", `{"id":"m-json","content":[{"type":"te`)
	r.plant("m-field", `{"id":"m-field","usage":"many"}`)
	r.plant("m-bare", `{"id":"m-bare","content":[7]}`)
	r.says("w1", protocol.RoleUser, text("after"))
	got := r.history("w1")
	if !slices.Equal(ids(got), []protocol.MessageID{"m1", "m-json", "m-field", "m-bare", "m2"}) {
		t.Fatalf("history holds %v", ids(got))
	}
	for i, m := range got[1:4] {
		if m.Role != protocol.RoleAssistant || m.Seq != int64(i+2) || !m.Incomplete || !strings.Contains(m.Content.Text(), "damaged") {
			t.Errorf("the damaged message shows as %+v", m)
		}
	}
	r.must(func(tx *store.Tx) error {
		page, _, err := session.Page(tx, "w1", 0, 10)
		one, _, err2 := session.Message(tx, "m-json")
		if len(page) != 5 || one.ID != "m-json" {
			t.Errorf("page %v, message %+v", ids(page), one)
		}
		return errors.Join(err, err2)
	})
}

// plant stores an assistant's row as another program would have.
func (r *rig) plant(id, raw string) {
	r.Helper()
	r.must(func(tx *store.Tx) error {
		if _, err := session.Append(tx, "w1", protocol.Message{ID: protocol.MessageID(id), Role: protocol.RoleAssistant}); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE messages SET message_json = ? WHERE message_id = ?`, raw, id)
		return err
	})
}

func TestShortenCutsAtCharactersAndKeepsOneLine(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{" \n\t ", ""},
		{"one\ntwo\t three", "one two three"},
		{strings.Repeat("a", 80), strings.Repeat("a", 80)},
		{strings.Repeat("a", 81), strings.Repeat("a", 79) + "…"},
		{strings.Repeat("ä", 80), strings.Repeat("ä", 80)},
		{strings.Repeat("🦊", 200), strings.Repeat("🦊", 79) + "…"},
		{strings.Repeat("a", 78) + " bc", strings.Repeat("a", 78) + "…"},
		{"a\u00a0b\u2028c", "a b c"},
	} {
		got := session.Shorten(c.in)
		if got != c.want || utf8.RuneCountInString(got) > 80 {
			t.Errorf("Shorten(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
