package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/backend/store"
)

var benchBody = strings.Repeat("x", 300)

func insertNumbered(n *atomic.Int64) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO note (id, body) VALUES (?, ?)`, fmt.Sprint(n.Add(1)), benchBody)
		return err
	}
}

// BenchmarkBareCommit is the yardstick: what the disk and SQLite cost alone.
func BenchmarkBareCommit(b *testing.B) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "bare.db")+
		"?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(notesDDL); err != nil {
		b.Fatal(err)
	}
	insert, err := db.Prepare(`INSERT INTO note (id, body) VALUES (?, ?)`)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		if _, err := insert.Exec(fmt.Sprint(n), benchBody); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommit is one client that waits for each commit.
func BenchmarkCommit(b *testing.B) {
	db := openNew(b)
	var n atomic.Int64
	for b.Loop() {
		if err := db.Write(context.Background(), insertNumbered(&n)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGroupCommit64 is 64 clients that each wait for their commit.
func BenchmarkGroupCommit64(b *testing.B) {
	db := openNew(b)
	var n atomic.Int64
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := db.Write(context.Background(), insertNumbered(&n)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	s := db.Stats()
	b.ReportMetric(float64(s.Transactions)/float64(s.Commits), "tx/fsync")
}
