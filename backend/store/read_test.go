package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/backend/store"
)

func TestAReaderSeesOneSnapshotAndNothingUncommitted(t *testing.T) {
	db := openNew(t)
	if err := put(db, "a", "x"); err != nil {
		t.Fatal(err)
	}
	inside, gate, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- db.Write(context.Background(), func(tx *store.Tx) error {
			if err := insert("b")(tx); err != nil {
				return err
			}
			close(inside)
			<-gate
			return nil
		})
	}()
	<-inside
	var before, during, after int
	err := db.Read(context.Background(), func(tx *store.ReadTx) error {
		n := func(into *int) error { return tx.QueryRow(`SELECT count(*) FROM note`).Scan(into) }
		if err := n(&before); err != nil {
			return err
		}
		close(gate)
		if err := <-done; err != nil {
			return err
		}
		return n(&during)
	})
	if err != nil {
		t.Fatal(err)
	}
	after = count(t, db)
	if before != 1 || during != 1 || after != 2 {
		t.Errorf("before %d, in the same snapshot %d, after %d; want 1, 1, 2", before, during, after)
	}
}

func TestTheSnapshotIsTakenAtItsBeginning(t *testing.T) {
	db := openNew(t)
	var n int
	err := db.Read(context.Background(), func(tx *store.ReadTx) error {
		if err := put(db, "a", "x"); err != nil {
			return err
		}
		return tx.QueryRow(`SELECT count(*) FROM note`).Scan(&n)
	})
	if err != nil || n != 0 {
		t.Errorf("%d notes, %v; want none", n, err)
	}
}

func TestAReaderCannotWrite(t *testing.T) {
	db := openNew(t)
	err := db.Read(context.Background(), func(tx *store.ReadTx) error {
		return tx.QueryRow(`INSERT INTO note (id, body) VALUES ('a', 'x') RETURNING id`).Err()
	})
	if !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("insert by a reader: %v", err)
	}
}

const endless = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n`

func TestAReadEndsWithItsContext(t *testing.T) {
	db := openNew(t)
	ctx, cancel := context.WithCancel(context.Background())
	err := db.Read(ctx, func(tx *store.ReadTx) error {
		cancel()
		var n int
		return tx.QueryRow(endless).Scan(&n)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled read: %v", err)
	}
	if n := count(t, db); n != 0 {
		t.Errorf("%d notes", n)
	}
}

// lockedBuffer lets a test read the log while a timer writes to it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestAnOldReaderIsNamedAndThenEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		o := options(filepath.Join(t.TempDir(), "state.db"))
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		db, err := store.Open(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = db.Read(context.Background(), func(tx *store.ReadTx) error {
			<-time.After(4 * time.Second)
			if early := log.String(); early != "" {
				t.Errorf("too early: %s", early)
			}
			<-time.After(2 * time.Second)
			synctest.Wait()
			if !strings.Contains(log.String(), "TestAnOldReaderIsNamed") {
				t.Errorf("the log does not name the reader: %q", log.String())
			}
			<-time.After(2 * time.Minute)
			var n int
			return tx.QueryRow(`SELECT 1`).Scan(&n)
		})
		if !errors.Is(err, store.ErrReadTooLong) {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseWaitsForWritersAndReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.db")
		db, err := store.Open(context.Background(), options(path))
		if err != nil {
			t.Fatal(err)
		}
		release := hold(t, db)
		gate, read := make(chan struct{}), make(chan error, 1)
		go func() {
			read <- db.Read(context.Background(), func(tx *store.ReadTx) error {
				<-gate
				var n int
				return tx.QueryRow(`SELECT count(*) FROM note`).Scan(&n)
			})
		}()
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- db.Close() }()
		synctest.Wait()
		stillOpen := func(why string) {
			select {
			case err := <-ended:
				t.Fatalf("closed under %s: %v", why, err)
			default:
			}
		}
		stillOpen("a writer and a reader")
		if err := db.Write(context.Background(), insert("late")); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a late write: %v", err)
		}
		if err := db.Read(context.Background(), func(*store.ReadTx) error { return nil }); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a late read: %v", err)
		}
		release()
		synctest.Wait()
		stillOpen("a reader")
		close(gate)
		if err := <-read; err != nil {
			t.Errorf("the reader under way: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("close: %v", err)
		}
		closed(t, options(path), nil)
	})
}

func TestConcurrentClosesGiveOneAnswer(t *testing.T) {
	db, err := store.Open(context.Background(), options(filepath.Join(t.TempDir(), "state.db")))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if err := db.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	wg.Wait()
}

func TestACancelledSubscriberIsNotCalledAgain(t *testing.T) {
	db := openNew(t)
	var cancelSecond func()
	called := make(chan string, 4)
	cancelFirst := db.Subscribe(func([]store.Change) { cancelSecond(); called <- "first" })
	cancelSecond = db.Subscribe(func([]store.Change) { called <- "second" })
	cancelThird := db.Subscribe(func([]store.Change) { called <- "third" })
	if err := db.Write(context.Background(), emit("note", "k", 1)); err != nil {
		t.Fatal(err)
	}
	if a, b := <-called, <-called; a != "first" || b != "third" {
		t.Errorf("called %s, %s; want first, third", a, b)
	}
	cancelFirst()
	cancelThird()
}

func emit(kind, key string, version int64) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		tx.Emit(store.Change{Kind: kind, Key: key, Version: version})
		return insert(fmt.Sprint(key, version))(tx)
	}
}

func TestChangesCommitWithTheirRowsAndArriveInOrder(t *testing.T) {
	o := options(filepath.Join(t.TempDir(), "state.db"))
	o.Now = func() time.Time { return time.UnixMilli(1234) }
	db := openAt(t, o)
	const writers, each = 20, 10
	var mu sync.Mutex
	var got []store.Change
	all := make(chan struct{})
	cancel := db.Subscribe(func(changes []store.Change) {
		mu.Lock()
		defer mu.Unlock()
		if last := changes[len(changes)-1].Seq; db.LastSeq() < last {
			t.Errorf("told of %d while %d is committed", last, db.LastSeq())
		}
		got = append(got, changes...)
		if len(got) == writers*each {
			close(all)
		}
	})
	defer db.Subscribe(func([]store.Change) { panic("harms nobody") })()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				_ = db.Write(context.Background(), func(tx *store.Tx) error {
					_ = emit("note", fmt.Sprint("lost", w), int64(i))(tx)
					return errors.New("no")
				})
				if err := db.Write(context.Background(), emit("note", fmt.Sprint("w", w), int64(i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	<-all
	cancel()
	cancel()
	if err := db.Write(context.Background(), emit("note", "unheard", 0)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	next := map[string]int64{}
	for i, c := range got {
		if c.Seq != int64(i+1) || c.AtMs != 1234 || c.Kind != "note" || strings.HasPrefix(c.Key, "lost") {
			t.Fatalf("change %d is %+v", i, c)
		}
		if c.Version != next[c.Key] {
			t.Fatalf("%s: version %d, want %d", c.Key, c.Version, next[c.Key])
		}
		next[c.Key]++
	}
	stored, complete, err := db.Changes(context.Background(), 0, 0)
	if err != nil || !complete || len(stored) != writers*each+1 {
		t.Fatalf("%d stored, complete %v, %v", len(stored), complete, err)
	}
	for i, c := range got {
		if stored[i] != c {
			t.Errorf("stored %+v, told %+v", stored[i], c)
		}
	}
	if n := count(t, db); n != writers*each+1 {
		t.Errorf("%d rows for %d changes", n, writers*each+1)
	}
}

func TestAChangeWithoutAKindFailsItsTransaction(t *testing.T) {
	db := openNew(t)
	errs := together(t, db, func(tx *store.Tx) error {
		tx.Emit(store.Change{Kind: "note", Key: "good", Version: 1})
		return emit("", "a", 1)(tx)
	})
	if errs[0] == nil {
		t.Error("accepted")
	}
	if n := count(t, db); n != 0 {
		t.Errorf("%d rows", n)
	}
	errs = together(t, db, func(tx *store.Tx) error {
		tx.Emit(store.Change{Kind: "note", Key: "good", Version: 1})
		return emit("", "a", 1)(tx)
	}, emit("note", "b", 1))
	if errs[1] != nil || db.LastSeq() != 1 {
		t.Errorf("a failed change took a number: %d, %v", db.LastSeq(), errs)
	}
}

func TestTheChangeLogIsBoundedAndSaysSo(t *testing.T) {
	o := options(filepath.Join(t.TempDir(), "state.db"))
	o.ChangeLogKeep = 16
	closed(t, o, func(db *store.DB) {
		for i := range 100 {
			if err := db.Write(context.Background(), emit("note", "k", int64(i))); err != nil {
				t.Fatal(err)
			}
			var rows int
			err := db.Read(context.Background(), func(tx *store.ReadTx) error {
				return tx.QueryRow(`SELECT count(*) FROM change_log`).Scan(&rows)
			})
			if err != nil || rows > 18 || i > 16 && rows < 16 {
				t.Fatalf("%d rows after %d changes, %v", rows, i+1, err)
			}
		}
	})
	db := openAt(t, o)
	if db.LastSeq() != 100 {
		t.Errorf("last sequence %d after reopening, want 100", db.LastSeq())
	}
	for after, want := range map[int64]struct {
		n        int
		complete bool
	}{0: {0, false}, 50: {0, false}, 98: {2, true}, 100: {0, true}, 101: {0, false}} {
		got, complete, err := db.Changes(context.Background(), after, 0)
		if err != nil || complete != want.complete || len(got) != want.n {
			t.Errorf("after %d: %d changes, complete %v, %v; want %+v", after, len(got), complete, err, want)
		}
	}
	if got, complete, err := db.Changes(context.Background(), 90, 3); err != nil || !complete || len(got) != 3 || got[0].Seq != 91 {
		t.Errorf("limited: %v %v %v", got, complete, err)
	}
	if err := db.Write(context.Background(), emit("note", "next", 1)); err != nil || db.LastSeq() != 101 {
		t.Errorf("next: %v, %d", err, db.LastSeq())
	}
}

func TestASnapshotAndItsSequenceMissNothing(t *testing.T) {
	db := openNew(t)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for i := range 200 {
			if err := db.Write(context.Background(), emit("note", "k", int64(i))); err != nil {
				t.Error(err)
			}
		}
	})
	for range 50 {
		err := db.Read(context.Background(), func(tx *store.ReadTx) error {
			var rows int64
			if err := tx.QueryRow(`SELECT count(*) FROM note`).Scan(&rows); err != nil {
				return err
			}
			if rows != tx.Seq() {
				return fmt.Errorf("%d rows at sequence %d", rows, tx.Seq())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
