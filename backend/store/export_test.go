package store

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"testing"

	lib "modernc.org/sqlite/lib"
)

// WaitForWriters returns once n calls of Write wait, besides the one that runs.
func WaitForWriters(db *DB, n int) {
	for db.Stats().Waiting < int64(n)+1 {
		runtime.Gosched()
	}
}

// LimitPages makes SQLite find the disk full beyond so many pages.
func LimitPages(t testing.TB, db *DB, pages int) {
	t.Helper()
	err := db.request(context.Background(), &request{done: make(chan error, 1), control: func(conn *sql.Conn) error {
		var got int
		return conn.QueryRowContext(context.Background(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(&got)
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// ExecUnderGuard runs q on the writer's connection as a statement that goes on
// after the transaction was lost, and returns what SQLite said.
func ExecUnderGuard(db *DB, q string) error {
	return db.request(context.Background(), &request{done: make(chan error, 1), control: func(conn *sql.Conn) error {
		db.writer.guard.closed.Store(true)
		defer db.writer.guard.closed.Store(false)
		_, err := conn.ExecContext(context.Background(), q)
		return err
	}})
}

// FailNextCommitSync makes the next COMMIT fail as it does when fsync fails.
func FailNextCommitSync(db *DB) {
	db.writer.commit = func() error {
		db.writer.commit = db.writer.execCommit
		return syncError{}
	}
}

// syncError stands for an error that only the driver can make.
type syncError struct{}

func (syncError) Error() string { return "disk I/O error" }
func (syncError) Code() int     { return lib.SQLITE_IOERR_FSYNC }
