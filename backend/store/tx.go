package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Querier is what an owner's read verbs need; both [*Tx] and [*ReadTx] are one.
// Rows end with the transaction at the latest. A row from QueryRow must be
// scanned before its transaction's function returns.
type Querier interface {
	// Query runs a statement that returns rows.
	Query(q string, args ...any) (*sql.Rows, error)
	// QueryRow runs a statement that returns at most one row; its error comes
	// from Scan, [sql.ErrNoRows] when there is none.
	QueryRow(q string, args ...any) *sql.Row
}

var (
	_ Querier     = (*Tx)(nil)
	_ Querier     = (*ReadTx)(nil)
	_ MigrationTx = (*Tx)(nil)
)

// Tx is one function's part of a commit. It is valid until that function
// returns, on the goroutine that called it.
type Tx struct {
	ctx      context.Context
	stmts    *statements
	guard    *guard
	now      func() time.Time
	done     bool
	failure  error // the first statement error, for the case that fn swallows it
	rows     []*sql.Rows
	changes  []Change
	onCommit []func()
}

// usable refuses statements that would run outside the transaction.
func (tx *Tx) usable() error {
	if tx.done {
		return ErrTxDone
	}
	if tx.guard.rolledBack.Load() {
		if tx.failure != nil {
			return fmt.Errorf("%w: %w", errRolledBack, tx.failure)
		}
		return errRolledBack
	}
	return nil
}

// note keeps the first statement error: when SQLite rolls the transaction back,
// that is the reason to give.
func (tx *Tx) note(err error) error {
	if err != nil && tx.failure == nil {
		tx.failure = err
	}
	return err
}

// Exec runs a statement that returns no rows. Errors keep SQLite's cause.
func (tx *Tx) Exec(q string, args ...any) (sql.Result, error) {
	if err := tx.usable(); err != nil {
		return nil, err
	}
	res, err := tx.stmts.exec(tx.ctx, q, args...)
	return res, tx.note(err)
}

// Query runs a statement that returns rows; see [Querier].
func (tx *Tx) Query(q string, args ...any) (*sql.Rows, error) {
	if err := tx.usable(); err != nil {
		return nil, err
	}
	stmt, err := tx.stmts.lend(tx.ctx, q)
	if err != nil {
		return nil, tx.note(err)
	}
	var rows *sql.Rows
	if stmt == nil {
		rows, err = tx.stmts.conn.QueryContext(tx.ctx, q, args...)
	} else {
		rows, err = stmt.QueryContext(tx.ctx, args...)
	}
	if err != nil {
		return nil, tx.note(err)
	}
	tx.rows = append(tx.rows, rows)
	return rows, nil
}

// QueryRow runs a statement that returns at most one row; see [Querier].
func (tx *Tx) QueryRow(q string, args ...any) *sql.Row {
	if err := tx.usable(); err != nil {
		return tx.failedRow(err)
	}
	stmt, err := tx.stmts.lend(tx.ctx, q)
	if err != nil || stmt == nil {
		// A text that cannot be prepared fails again here and gives its error
		// through the row, the only place a row has for it.
		return tx.stmts.conn.QueryRowContext(tx.ctx, q, args...)
	}
	return stmt.QueryRowContext(tx.ctx, args...)
}

// failedRow is a row whose Scan gives err: database/sql makes none by hand.
func (tx *Tx) failedRow(err error) *sql.Row {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(err)
	return tx.stmts.conn.QueryRowContext(ctx, "SELECT 1")
}

// Emit appends c to the change log in this commit. Its Seq is assigned there;
// an AtMs of 0 becomes now. A change without a kind fails the transaction.
func (tx *Tx) Emit(c Change) {
	if c.AtMs == 0 {
		c.AtMs = tx.now().UnixMilli()
	}
	tx.changes = append(tx.changes, c)
}

// OnCommit has fn run after COMMIT has returned, in order of commit and
// registration, before [DB.Write] returns. It runs on the writer's goroutine:
// it must be quick and must not call Write. A rollback drops it.
func (tx *Tx) OnCommit(fn func()) { tx.onCommit = append(tx.onCommit, fn) }

// finish ends the life of the transaction's cursors.
func (tx *Tx) finish() error {
	tx.done = true
	var errs []error
	for _, rows := range tx.rows {
		errs = append(errs, rows.Close())
	}
	tx.rows = nil
	tx.stmts.settle()
	return errors.Join(errs...)
}
