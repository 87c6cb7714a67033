package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/backend/store"
)

// hold keeps the writer inside a function until release is called, so that
// everything sent meanwhile waits for the same batch.
func hold(t testing.TB, db *store.DB) (release func()) {
	t.Helper()
	inside, gate, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		done <- db.Write(context.Background(), func(*store.Tx) error {
			once.Do(func() { close(inside) })
			<-gate
			return nil
		})
	}()
	<-inside
	return func() {
		close(gate)
		if err := <-done; err != nil {
			t.Errorf("holding function: %v", err)
		}
	}
}

// together has every function wait for the writer before the first runs. A
// batch ends after 10 ms, so the holder, which takes longer, has one of its
// own and the rest share the next ones.
func together(t testing.TB, db *store.DB, fns ...func(*store.Tx) error) []error {
	t.Helper()
	release := hold(t, db)
	errs := make([]error, len(fns))
	var wg sync.WaitGroup
	for i, fn := range fns {
		wg.Go(func() { errs[i] = db.Write(context.Background(), fn) })
	}
	store.WaitForWriters(db, len(fns))
	release()
	wg.Wait()
	return errs
}

func inserts(n int) []func(*store.Tx) error {
	fns := make([]func(*store.Tx) error, n)
	for i := range fns {
		fns[i] = insert(fmt.Sprint("n", i))
	}
	return fns
}

func insert(id string) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO note (id, body) VALUES (?, 'x')`, id)
		return err
	}
}

func TestWaitingFunctionsShareACommit(t *testing.T) {
	db := openNew(t)
	for i, err := range together(t, db, inserts(64)...) {
		if err != nil {
			t.Errorf("function %d: %v", i, err)
		}
	}
	s := db.Stats()
	if s.Transactions != 65 {
		t.Errorf("%d transactions, want 65", s.Transactions)
	}
	if s.Commits > 20 {
		t.Errorf("%d commits for %d transactions: not shared", s.Commits, s.Transactions)
	}
	if n := count(t, db); n != 64 {
		t.Errorf("%d notes, want 64", n)
	}
}

func TestFailingNeighboursHarmNobody(t *testing.T) {
	db := openNew(t)
	if err := put(db, "taken", "x"); err != nil {
		t.Fatal(err)
	}
	mine := errors.New("mine")
	partly := func(end func() error) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			if err := insert("half")(tx); err != nil {
				return err
			}
			tx.Emit(store.Change{Kind: "note", Key: "half", Version: 1})
			return end()
		}
	}
	errs := together(t, db,
		insert("a"),
		partly(func() error { return mine }),
		insert("b"),
		insert("taken"),
		partly(func() error { panic("boom") }),
		insert("c"),
	)
	var panicked *store.PanicError
	switch {
	case errs[0] != nil || errs[2] != nil || errs[5] != nil:
		t.Errorf("good functions failed: %v", errs)
	case !errors.Is(errs[1], mine):
		t.Errorf("own error: %v", errs[1])
	case errs[3] == nil || !strings.Contains(errs[3].Error(), "UNIQUE"):
		t.Errorf("duplicate: %v", errs[3])
	case !errors.As(errs[4], &panicked) || panicked.Value != "boom" || len(panicked.Stack) == 0:
		t.Errorf("panic: %v", errs[4])
	}
	if n := count(t, db); n != 4 {
		t.Errorf("%d notes, want taken, a, b, c", n)
	}
	if db.LastSeq() != 0 {
		t.Errorf("a rolled back change was numbered: %d", db.LastSeq())
	}
	if r := db.Stats().Reruns; r != 0 {
		t.Errorf("%d reruns although the transaction was never lost", r)
	}
}

func TestALostTransactionRunsEachFunctionAlone(t *testing.T) {
	for name, spoil := range map[string]func(tx *store.Tx) error{
		"returns the error": func(tx *store.Tx) error {
			_, err := tx.Exec(`INSERT OR ROLLBACK INTO note (id, body) VALUES ('taken', 'x')`)
			return err
		},
		"swallows the error and goes on": func(tx *store.Tx) error {
			_, _ = tx.Exec(`INSERT OR ROLLBACK INTO note (id, body) VALUES ('taken', 'x')`)
			_, _ = tx.Exec(`INSERT INTO note (id, body) VALUES ('stray', 'x')`)
			return nil
		},
		"goes on reading": func(tx *store.Tx) error {
			_, _ = tx.Exec(`INSERT OR ROLLBACK INTO note (id, body) VALUES ('taken', 'x')`)
			var n int
			if tx.QueryRow(`SELECT 1`).Scan(&n) == nil {
				return errors.New("it could read outside of its transaction")
			}
			_, err := tx.Query(`SELECT 1`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := openNew(t)
			if err := put(db, "taken", "x"); err != nil {
				t.Fatal(err)
			}
			var ran atomic.Int32
			counted := func(tx *store.Tx) error { ran.Add(1); return insert("counted")(tx) }
			errs := together(t, db, insert("a"), counted, spoil, insert("b"))
			if errs[0] != nil || errs[1] != nil || errs[3] != nil {
				t.Errorf("neighbours failed: %v", errs)
			}
			if errs[2] == nil || !strings.Contains(errs[2].Error(), "UNIQUE") {
				t.Errorf("the spoiler's error hides its cause: %v", errs[2])
			}
			if n := count(t, db); n != 4 {
				t.Errorf("%d notes, want taken, a, counted, b", n)
			}
			if db.Stats().Reruns == 0 {
				t.Error("nothing ran again, so the transaction was not lost and the test shows nothing")
			}
			if n := ran.Load(); n > 2 {
				t.Errorf("a function ran %d times, want at most twice", n)
			}
		})
	}
}

func TestAFunctionCannotEndTheTransaction(t *testing.T) {
	for _, q := range []string{
		"COMMIT", "ROLLBACK", "BEGIN", "END", "SAVEPOINT x", "RELEASE member", "ROLLBACK TO member",
		"INSERT INTO note (id, body) VALUES ('q', 'x'); COMMIT", "ATTACH ':memory:' AS m",
	} {
		t.Run(q, func(t *testing.T) {
			db := openNew(t)
			errs := together(t, db, insert("a"), func(tx *store.Tx) error {
				_, err := tx.Exec(q)
				return err
			}, insert("b"))
			if errs[0] != nil || errs[2] != nil {
				t.Errorf("neighbours failed: %v", errs)
			}
			if errs[1] == nil {
				t.Error("it was allowed")
			}
			if n := count(t, db); n != 2 {
				t.Errorf("%d notes, want a and b", n)
			}
		})
	}
}

func TestNothingCommitsByItselfUnderTheGuard(t *testing.T) {
	db := openNew(t)
	if err := store.ExecUnderGuard(db, `INSERT INTO note (id, body) VALUES ('stray', 'x')`); err == nil {
		t.Error("a statement committed by itself")
	}
	if n := count(t, db); n != 0 {
		t.Errorf("%d notes", n)
	}
	if err := put(db, "a", "x"); err != nil {
		t.Errorf("the writer's own commit: %v", err)
	}
}

func TestADeferredForeignKeyFailsOnlyItsFunction(t *testing.T) {
	o := options(t.TempDir() + "/state.db")
	o.Schemas = append(o.Schemas, store.Schema{Owner: "tag", DDL: `CREATE TABLE IF NOT EXISTS tag (
		note_id TEXT NOT NULL REFERENCES note (id) DEFERRABLE INITIALLY DEFERRED) STRICT;`})
	db := openAt(t, o)
	errs := together(t, db, insert("a"), func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO tag (note_id) VALUES ('nowhere')`)
		return err
	}, insert("b"))
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("neighbours failed: %v", errs)
	}
	if errs[1] == nil || !strings.Contains(errs[1].Error(), "FOREIGN KEY") {
		t.Errorf("the broken reference was accepted: %v", errs[1])
	}
	if n := count(t, db); n != 2 {
		t.Errorf("%d notes, want 2", n)
	}
}

func TestAFunctionThatEndsItsGoroutineFailsAlone(t *testing.T) {
	db := openNew(t)
	errs := together(t, db, insert("a"), func(tx *store.Tx) error {
		_ = insert("half")(tx)
		runtime.Goexit()
		return nil
	}, insert("b"))
	if errs[0] != nil || errs[1] == nil || errs[2] != nil {
		t.Errorf("errors: %v", errs)
	}
	if n := count(t, db); n != 2 {
		t.Errorf("%d notes, want a and b", n)
	}
}

func TestAFullDiskSavesNothingAndIsOverWhenThereIsSpace(t *testing.T) {
	db := openNew(t)
	big := strings.Repeat("x", 50_000)
	store.LimitPages(t, db, 12)
	full := func(id string) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			_, err := tx.Exec(`INSERT INTO note (id, body) VALUES (?, ?)`, id, big)
			return err
		}
	}
	errs := together(t, db, insert("small1"), full("big1"), insert("small2"), full("big2"))
	for i, err := range errs {
		if wantFull := i%2 == 1; wantFull != errors.Is(err, store.ErrDiskFull) || !wantFull && err != nil {
			t.Errorf("function %d: %v", i, err)
		}
	}
	store.LimitPages(t, db, 1_000_000)
	if err := put(db, "later", big); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if n := count(t, db); n != 3 {
		t.Errorf("%d notes, want small1, small2, later", n)
	}
}

func TestTwoHundredWritersAndWhatWasAcknowledgedIsStored(t *testing.T) {
	path := t.TempDir() + "/state.db"
	db, err := store.Open(context.Background(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var acked sync.Map
	var wg sync.WaitGroup
	for w := range 200 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(w)))
			for i := range 10 {
				id := fmt.Sprintf("%d-%d", w, i)
				if db.Write(context.Background(), randomFate(rnd.IntN(10), id)) == nil {
					acked.Store(id, true)
				}
			}
		})
	}
	wg.Wait()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	stored := ids(t, openAt(t, options(path)))
	n := 0
	acked.Range(func(id, _ any) bool {
		n++
		if !stored[id.(string)] {
			t.Errorf("%s was acknowledged and is not stored", id)
		}
		return true
	})
	if n == 0 || len(stored) != n {
		t.Errorf("%d stored, %d acknowledged", len(stored), n)
	}
}

// randomFate stores id, or fails in one of the ways that harm neighbours.
func randomFate(fate int, id string) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		if err := insert(id)(tx); err != nil {
			return err
		}
		switch fate {
		case 0:
			return errors.New("refused")
		case 1:
			panic("boom")
		case 2:
			_, err := tx.Exec(`INSERT OR ROLLBACK INTO note (id, body) VALUES (?, 'again')`, id)
			return err
		}
		return nil
	}
}

func ids(t testing.TB, db *store.DB) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := db.Read(context.Background(), func(tx *store.ReadTx) error {
		rows, err := tx.Query(`SELECT id FROM note`)
		if err != nil {
			return err
		}
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			out[id] = true
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheContextCountsOnlyUntilTheFunctionBegins(t *testing.T) {
	db := openNew(t)
	ctx, cancel := context.WithCancel(context.Background())
	err := db.Write(ctx, func(tx *store.Tx) error {
		cancel()
		return insert("a")(tx)
	})
	if err != nil {
		t.Errorf("cancelled while running: %v", err)
	}
	release := hold(t, db)
	waiting, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- db.Write(waiting, insert("b")) }()
	store.WaitForWriters(db, 1)
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while waiting: %v", err)
	}
	release()
	if err := db.Write(ctx, insert("c")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	if got := ids(t, db); len(got) != 1 || !got["a"] {
		t.Errorf("stored %v, want a", got)
	}
}

func TestOnCommitRunsInOrderBeforeWriteReturnsAndNotAfterARollback(t *testing.T) {
	db := openNew(t)
	var order []string // only touched on the writer's goroutine, read after Write
	hooked := func(id string, fail error) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			tx.OnCommit(func() { order = append(order, id+"1") })
			tx.OnCommit(func() { order = append(order, id+"2") })
			if err := insert(id)(tx); err != nil {
				return err
			}
			return fail
		}
	}
	if err := db.Write(context.Background(), hooked("a", nil)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, " "); got != "a1 a2" {
		t.Fatalf("after Write: %q", got)
	}
	together(t, db,
		hooked("b", errors.New("no")),
		func(tx *store.Tx) error {
			tx.OnCommit(func() { panic("boom") })
			return hooked("c", nil)(tx)
		})
	if err := put(db, "last", "x"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, " "); got != "a1 a2 c1 c2" {
		t.Errorf("order %q", got)
	}
}

func TestATransactionIsDeadAfterItsFunction(t *testing.T) {
	db := openNew(t)
	var kept *store.Tx
	err := db.Write(context.Background(), func(tx *store.Tx) error {
		kept = tx
		rows, err := tx.Query(`SELECT id FROM note`) // left open on purpose
		_ = rows
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Exec(`DELETE FROM note`); !errors.Is(err, store.ErrTxDone) {
		t.Errorf("exec: %v", err)
	}
	if _, err := kept.Query(`SELECT 1`); !errors.Is(err, store.ErrTxDone) {
		t.Errorf("query: %v", err)
	}
	var n int
	if err := kept.QueryRow(`SELECT 1`).Scan(&n); err == nil {
		t.Error("query row worked")
	}
}

func TestOneStatementServesTwoCursorsInOneTransaction(t *testing.T) {
	db := openNew(t)
	for _, id := range []string{"a", "b"} {
		if err := put(db, id, "x"); err != nil {
			t.Fatal(err)
		}
	}
	const q = `SELECT id FROM note WHERE id >= ? ORDER BY id`
	err := db.Write(context.Background(), func(tx *store.Tx) error {
		first, second := tx.QueryRow(q, "a"), tx.QueryRow(q, "b")
		var x, y string
		if err := errors.Join(second.Scan(&y), first.Scan(&x)); err != nil {
			return err
		}
		if x != "a" || y != "b" {
			return fmt.Errorf("rows mixed up: %s, %s", x, y)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAFailedSyncEndsAllWriting(t *testing.T) {
	path := t.TempDir() + "/state.db"
	db, err := store.Open(context.Background(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	store.FailNextCommitSync(db)
	if err := put(db, "a", "x"); !errors.Is(err, store.ErrSyncFailed) {
		t.Errorf("the commit whose sync failed: %v", err)
	}
	if err := put(db, "b", "x"); !errors.Is(err, store.ErrSyncFailed) {
		t.Errorf("the next one: %v", err)
	}
	if n := count(t, db); n != 0 {
		t.Errorf("%d notes are visible", n)
	}
	if err := db.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := put(openAt(t, options(path)), "c", "x"); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

func TestANilStoreIsAClosedOne(t *testing.T) {
	var db *store.DB
	ctx := context.Background()
	_, _, changes := db.Changes(ctx, 0, 1)
	_, size := db.WALSize()
	for name, err := range map[string]error{
		"write": put(db, "a", "x"), "read": db.Read(ctx, nil), "changes": changes,
		"backup": db.Backup(ctx, "x"), "checkpoint": db.Checkpoint(ctx), "size": size,
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	db.Subscribe(nil)()
	if db.LastSeq() != 0 || db.Close() != nil {
		t.Error("a nil store has a sequence or does not close")
	}
}
