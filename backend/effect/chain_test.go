package effect_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"countersign/backend/effect"
	"countersign/backend/protocol"
	"countersign/backend/store"
)

func (r *rig) verify() (head effect.ChainHead, count int64, broken *effect.Break) {
	r.Helper()
	r.must(func(tx *store.Tx) (err error) {
		head, count, broken, err = effect.Verify(tx)
		return err
	})
	return head, count, broken
}

// chain writes n receipts in few transactions.
func (r *rig) chain(n int) {
	r.Helper()
	for done := 0; done < n; {
		batch := min(100, n-done)
		first := done
		r.must(func(tx *store.Tx) error {
			for i := range batch {
				e := planned(fmt.Sprintf("c-effect-%04d", first+i))
				e.Repeat, e.Class, e.Tool = "read", protocol.ClassRead, "read"
				if _, err := effect.Record(tx, e, ending(fmt.Sprintf("c-receipt-%04d", first+i), protocol.OutcomeDone), int64(first+i)); err != nil {
					return err
				}
			}
			return nil
		})
		done += batch
	}
}

func TestAnEmptyChainVerifies(t *testing.T) {
	head, count, broken := newRig(t).verify()
	if head != (effect.ChainHead{}) || count != 0 || broken != nil {
		t.Errorf("head %+v of %d, broken %+v", head, count, broken)
	}
}

func TestAThousandReceiptsVerify(t *testing.T) {
	r := newRig(t)
	r.chain(1000)
	head, count, broken := r.verify()
	if broken != nil || count != 1000 || head.Seq != 1000 {
		t.Fatalf("head %+v of %d, broken %+v", head, count, broken)
	}
	r.must(func(tx *store.Tx) error {
		now, err := effect.Head(tx)
		at, ok, err2 := effect.HashAt(tx, 1000)
		_, beyond, err3 := effect.HashAt(tx, 1001)
		if now != head || at != head.Hash || !ok || beyond {
			t.Errorf("head %+v, hash at it %s (%v), beyond %v", now, at, ok, beyond)
		}
		return errors.Join(err, err2, err3)
	})
}

// A receipt that was rolled back leaves no gap.
func TestAChainHasNoGapAfterARollback(t *testing.T) {
	r := newRig(t)
	r.chain(2)
	broken := errors.New("something else failed")
	err := r.write(func(tx *store.Tx) error {
		if _, err := effect.Record(tx, func() effect.Effect { e := planned("lost"); e.Repeat = "read"; return e }(), ending("lost-1", protocol.OutcomeDone), 1); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	r.receipt(nil)
	if head, count, broken := r.verify(); broken != nil || count != 3 || head.Seq != 3 {
		t.Errorf("head %+v of %d, broken %+v", head, count, broken)
	}
}

func TestEveryTamperingIsFoundAtItsPlace(t *testing.T) {
	swap := `UPDATE receipts SET seq = -1 WHERE seq = 4; UPDATE receipts SET seq = 4 WHERE seq = 5; UPDATE receipts SET seq = 5 WHERE seq = -1`
	for _, c := range []struct {
		name, sql string
		at        int64
		why       string
	}{
		{"a word in the content", `UPDATE receipts SET payload_json = replace(payload_json, 'notes.md', 'other.md') WHERE seq = 4`, 4, "content"},
		{"a space in the content", `UPDATE receipts SET payload_json = payload_json || ' ' WHERE seq = 4`, 4, "content"},
		{"content and its hash", `UPDATE receipts SET payload_json = '{}', payload_hash = '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a' WHERE seq = 4`, 4, "hash"},
		{"the payload's hash", `UPDATE receipts SET payload_hash = 'x' WHERE seq = 4`, 4, "content"},
		{"the payload's hash under a tombstone", `UPDATE receipts SET payload_json = '', payload_hash = 'x' WHERE seq = 4`, 4, "hash"},
		{"the link's hash", `UPDATE receipts SET hash = 'x' WHERE seq = 4`, 4, "hash"},
		{"the link before", `UPDATE receipts SET prev = 'x' WHERE seq = 4`, 4, "follow"},
		{"the first removed", `DELETE FROM receipts WHERE seq = 1`, 2, "missing"},
		{"one in the middle removed", `DELETE FROM receipts WHERE seq = 4`, 5, "missing"},
		{"removed and closed up", `DELETE FROM receipts WHERE seq = 4; UPDATE receipts SET seq = seq - 1 WHERE seq > 4`, 4, "follow"},
		{"two in other order", swap, 4, "follow"},
		{"the sentence that lists show", `UPDATE receipts SET sentence = 'Nothing happened.' WHERE seq = 4`, 4, "lists"},
		{"the outcome that lists filter by", `UPDATE receipts SET outcome = 'failed' WHERE seq = 4`, 4, "lists"},
		{"what it took back", `UPDATE receipts SET undoes = 'c-receipt-0001' WHERE seq = 4`, 4, "lists"},
		{"its time", `UPDATE receipts SET ended_at_ms = 1 WHERE seq = 4`, 4, "lists"},
		{"the last", `UPDATE receipts SET payload_json = '{}' WHERE seq = 9`, 9, "content"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.chain(9)
			for _, q := range strings.Split(c.sql, ";") {
				r.exec(q)
			}
			head, count, broken := r.verify()
			if broken == nil {
				t.Fatalf("nothing was found; head %+v of %d", head, count)
			}
			if broken.Seq != c.at || !strings.Contains(broken.Why, c.why) || count != c.at-1 && c.why != "missing" {
				t.Errorf("found %+v after %d, want seq %d because of its %s", broken, count, c.at, c.why)
			}
		})
	}
}

// Who recomputes every hash after a change makes a chain that verifies, and one
// who cuts the end leaves one: both are found by the hash kept elsewhere.
func TestACutTailIsFoundByTheAnchor(t *testing.T) {
	r := newRig(t)
	r.chain(9)
	anchor, _, _ := r.verify()
	r.exec(`DELETE FROM receipts WHERE seq > 7`)
	if head, count, broken := r.verify(); broken != nil || count != 7 || head.Seq != 7 {
		t.Fatalf("a shorter chain holds in itself; found %+v %d %+v", head, count, broken)
	}
	at := func() (hash string, ok bool) {
		r.must(func(tx *store.Tx) (err error) {
			hash, ok, err = effect.HashAt(tx, anchor.Seq)
			return err
		})
		return hash, ok
	}
	if hash, ok := at(); ok {
		t.Errorf("the anchor's link %d is gone and was found: %s", anchor.Seq, hash)
	}
	// New receipts do not hide the cut: their numbers go on after it.
	r.receipt(nil)
	if _, _, broken := r.verify(); broken == nil || broken.Seq != 10 {
		t.Errorf("the gap was not found: %+v", broken)
	}
	// With the counter put back too, the chain holds, and the anchor tells.
	r.exec(`DELETE FROM receipts WHERE seq > 7`)
	r.exec(`UPDATE sqlite_sequence SET seq = 7 WHERE name = 'receipts'`)
	r.receipt(nil)
	r.receipt(nil)
	if head, _, broken := r.verify(); broken != nil || head.Seq != 9 {
		t.Fatalf("head %+v, broken %+v", head, broken)
	}
	if hash, ok := at(); !ok || hash == anchor.Hash {
		t.Errorf("link %d is %s (%v), the anchor says %s", anchor.Seq, hash, ok, anchor.Hash)
	}
}

func TestATombstoneVerifiesAndIsShownAsOne(t *testing.T) {
	r := newRig(t)
	r.chain(3)
	target := r.receipt(undoable)
	r.receipt(nil)
	r.exec(`UPDATE receipts SET payload_json = '', sentence = '', target = '' WHERE seq = 4`)
	if head, count, broken := r.verify(); broken != nil || count != 5 || head.Seq != 5 {
		t.Errorf("head %+v of %d, broken %+v", head, count, broken)
	}
	got := r.read(target.ID)
	if got.Seq != 4 || got.Outcome != protocol.OutcomeDone || got.Tool != "write" || !strings.Contains(got.Sentence, "erased") || got.Chain != target.Chain || got.Undo.Available {
		t.Errorf("the tombstone shows as %+v", got)
	}
	if all := r.list(protocol.ReceiptsListParams{}); len(all.Receipts) != 5 || string(all.Receipts[1].Args) != "{}" {
		t.Errorf("the list shows %+v", all.Receipts)
	}
	r.must(func(tx *store.Tx) error {
		_, _, _, ok, err := effect.UndoHandle(tx, target.ID)
		if ok {
			t.Error("what was erased can be undone")
		}
		return err
	})
}
