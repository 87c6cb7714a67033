package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const (
	// readerWarnAfter and readerMaxAge bound how long a snapshot may hold the
	// log file back from being reset.
	readerWarnAfter = 5 * time.Second
	readerMaxAge    = time.Minute
	maxReaders      = 8
)

// ReadTx is a snapshot. It is valid until its function returns; concurrent use
// within it is safe but serialised.
type ReadTx struct {
	ctx context.Context
	tx  *sql.Tx
	seq int64
}

// Query runs a statement that returns rows; see [Querier].
func (r *ReadTx) Query(q string, args ...any) (*sql.Rows, error) {
	return r.tx.QueryContext(r.ctx, q, args...)
}

// QueryRow runs a statement that returns at most one row; see [Querier].
func (r *ReadTx) QueryRow(q string, args ...any) *sql.Row {
	return r.tx.QueryRowContext(r.ctx, q, args...)
}

// Seq is the Seq of the newest change this snapshot contains. A client that is
// given the snapshot and this number misses nothing and sees nothing twice.
func (r *ReadTx) Seq() int64 { return r.seq }

// Read runs fn on a snapshot of what is committed. It does not wait for
// writers and they do not wait for it. It ends with ctx, or with
// [ErrReadTooLong] after a minute. fn must not call Close. Safe for concurrent
// use; at most 8 reads run at once, others wait.
func (db *DB) Read(ctx context.Context, fn func(*ReadTx) error) error {
	if !db.enter() {
		return ErrClosed
	}
	defer db.users.Done()
	ctx, cancel := context.WithTimeoutCause(ctx, readerMaxAge, ErrReadTooLong)
	defer cancel()
	return classify(db.path, contextCause(ctx, db.read(ctx, fn)))
}

func (db *DB) read(ctx context.Context, fn func(*ReadTx) error) (err error) {
	tx, err := db.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin read: %w", err)
	}
	defer func() {
		// The context's end rolls it back first; that is no news.
		if end := tx.Rollback(); end != nil && !errors.Is(end, sql.ErrTxDone) && err == nil {
			err = fmt.Errorf("end read: %w", end)
		}
	}()
	warn := time.AfterFunc(readerWarnAfter, func() {
		db.logger.Warn("a read transaction is old; the log file cannot be reset meanwhile",
			"age", readerWarnAfter, "function", functionName(fn))
	})
	defer warn.Stop()
	r := &ReadTx{ctx: ctx, tx: tx}
	// BEGIN alone takes no snapshot; the first read does.
	if err := r.QueryRow(changeHeadSQL).Scan(&r.seq); err != nil {
		return fmt.Errorf("begin read: %w", err)
	}
	return fn(r)
}
