// Package tempstore opens a real store in a temporary folder for a test of one
// owner of state. It waits for no disk: what it is used for are states and
// races, and what a power cut leaves is the store's own subject.
package tempstore

import (
	"context"
	"path/filepath"
	"testing"

	"countersign/backend/store"
)

// TB is what a test must offer; [testing.TB] and a check of rapid both do.
type TB interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Open opens a new store with the given schemas and closes it with the test.
func Open(t testing.TB, schemas ...store.Schema) *store.DB {
	t.Helper()
	return OpenIn(t, t.TempDir(), schemas...)
}

// OpenIn opens the store in dir, new or as a test left it, and closes it with
// the test.
func OpenIn(t TB, dir string, schemas ...store.Schema) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), store.Options{Path: filepath.Join(dir, "state.db"), Schemas: schemas, Format: 1, Sync: store.SyncOff})
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

// Write runs fn in a transaction and ends the test if it fails.
func Write(t TB, db *store.DB, fn func(*store.Tx) error) {
	t.Helper()
	if err := db.Write(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

// Read runs fn on a snapshot and ends the test if it fails.
func Read(t TB, db *store.DB, fn func(*store.ReadTx) error) {
	t.Helper()
	if err := db.Read(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}
