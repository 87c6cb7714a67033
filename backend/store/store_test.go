package store_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"countersign/backend/store"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if runAsChild() {
		return
	}
	goleak.VerifyTestMain(m)
}

const notesDDL = `
CREATE TABLE IF NOT EXISTS note (
	id   TEXT PRIMARY KEY,
	body TEXT NOT NULL CHECK (length(body) < 100000)
) STRICT;`

func notes() []store.Schema { return []store.Schema{{Owner: "note", DDL: notesDDL}} }

func options(path string) store.Options {
	return store.Options{Path: path, Schemas: notes(), Format: 1, Logger: slog.New(slog.DiscardHandler)}
}

func openAt(t testing.TB, o store.Options) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

func openNew(t testing.TB) *store.DB {
	t.Helper()
	return openAt(t, options(filepath.Join(t.TempDir(), "state.db")))
}

func put(db *store.DB, id, body string) error {
	return db.Write(context.Background(), func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO note (id, body) VALUES (?, ?)`, id, body)
		return err
	})
}

func count(t testing.TB, db *store.DB) (n int) {
	t.Helper()
	err := db.Read(context.Background(), func(tx *store.ReadTx) error {
		return tx.QueryRow(`SELECT count(*) FROM note`).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWriteIsThereAfterReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "state.db")
	db, err := store.Open(context.Background(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := put(db, "a", "x"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if err := put(db, "b", "x"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
	if n := count(t, openAt(t, options(path))); n != 1 {
		t.Errorf("%d notes, want 1", n)
	}
}
