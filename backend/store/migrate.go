package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"
)

// Migration changes a file from format To-1 to To. Apply runs in the one
// transaction of the whole upgrade, with foreign keys unchecked until its end,
// so that tables can be built again; it must not start or end transactions.
// Once released it is never edited.
type Migration struct {
	To    int
	Name  string
	Apply func(tx MigrationTx) error
}

// MigrationTx is what a migration may do.
type MigrationTx interface {
	Querier
	// Exec runs a statement that returns no rows.
	Exec(q string, args ...any) (sql.Result, error)
}

// upgrade brings the file to the declared schema: all migrations and additions
// in one transaction, so that a failure leaves the file as it was. found is its
// format, 0 for a new file.
func (db *DB) upgrade(ctx context.Context, o Options, found int) error {
	steps, err := o.steps(found)
	if err != nil {
		return err
	}
	kept := ""
	if len(steps) > 0 {
		if kept, err = db.snapshotBefore(ctx, found, o.Now()); err != nil {
			return fmt.Errorf("snapshot before the upgrade from format %d: %w", found, err)
		}
		o.Logger.Info("made a snapshot before an upgrade", "path", kept, "from", found, "to", o.Format)
	}
	if err := db.applyUpgrade(ctx, o, steps, found); err != nil {
		// The file is as it was, so the snapshot holds nothing new; kept, a
		// failing start repeated by a supervisor would fill the disk.
		if kept != "" {
			err = errors.Join(err, os.Remove(kept))
		}
		return err
	}
	return nil
}

// steps lists the migrations from format found to the current one, in order.
func (o *Options) steps(found int) ([]Migration, error) {
	if found == 0 || found == o.Format {
		return nil, nil
	}
	var steps []Migration
	for to := found + 1; to <= o.Format; to++ {
		i := slices.IndexFunc(o.Migrations, func(m Migration) bool { return m.To == to })
		if i < 0 {
			return nil, fmt.Errorf("%s has format %d and there is no migration to format %d. "+
				"Nothing was changed; install the version in between first", o.Path, found, to)
		}
		steps = append(steps, o.Migrations[i])
	}
	return steps, nil
}

func (db *DB) applyUpgrade(ctx context.Context, o Options, steps []Migration, found int) (err error) {
	conn := db.writer.conn
	// Inside a transaction this pragma does nothing.
	if _, err := conn.ExecContext(ctx, "PRAGMA foreign_keys = OFF"); err != nil {
		return err
	}
	defer func() {
		_, on := conn.ExecContext(context.Background(), "PRAGMA foreign_keys = ON")
		err = errors.Join(err, on)
	}()
	if _, err := conn.ExecContext(ctx, beginSQL); err != nil {
		return fmt.Errorf("begin upgrade: %w", err)
	}
	db.writer.guard.rolledBack.Store(false)
	if err := db.upgradeIn(ctx, o, steps, found); err != nil {
		_, _ = conn.ExecContext(context.Background(), rollbackSQL)
		return err
	}
	if _, err := conn.ExecContext(ctx, commitSQL); err != nil {
		_, _ = conn.ExecContext(context.Background(), rollbackSQL)
		return fmt.Errorf("commit upgrade: %w", err)
	}
	return nil
}

func (db *DB) upgradeIn(ctx context.Context, o Options, steps []Migration, found int) error {
	tx := &Tx{ctx: ctx, stmts: newStatements(db.writer.conn), guard: db.writer.guard, now: o.Now}
	err := db.guarded(func() error {
		for _, m := range steps {
			if err := m.Apply(tx); err != nil {
				return fmt.Errorf("migrate to format %d (%s): %w", m.To, m.Name, err)
			}
		}
		return db.schemas.reconcile(tx)
	})
	if end := errors.Join(tx.finish(), tx.stmts.close()); err == nil {
		err = end
	}
	if err != nil {
		return err
	}
	if len(steps) > 0 {
		if err := checkForeignKeys(ctx, db.writer.conn); err != nil {
			return err
		}
	}
	if found == o.Format {
		return nil
	}
	for pragma, value := range map[string]int{"user_version": o.Format, "application_id": applicationID} {
		if _, err := db.writer.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA %s = %d", pragma, value)); err != nil {
			return fmt.Errorf("mark format: %w", err)
		}
	}
	return nil
}

// guarded calls fn while the transaction cannot be ended, and turns its panic
// into its error, so that a failing migration is rolled back like any other.
func (db *DB) guarded(fn func() error) (err error) {
	db.writer.guard.closed.Store(true)
	defer func() {
		db.writer.guard.closed.Store(false)
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return fn()
}

func checkForeignKeys(ctx context.Context, conn *sql.Conn) error {
	broken, err := names(connQuerier{ctx, conn}, `SELECT DISTINCT "table" FROM pragma_foreign_key_check`)
	if err != nil {
		return fmt.Errorf("check foreign keys after the upgrade: %w", err)
	}
	if len(broken) > 0 {
		return fmt.Errorf("the upgrade leaves rows of %s that point nowhere. Nothing was changed", broken[0])
	}
	return nil
}

// snapshotBefore copies the file as it is, beside it.
func (db *DB) snapshotBefore(ctx context.Context, format int, now time.Time) (string, error) {
	dest := fmt.Sprintf("%s.format-%d.%s.snapshot", db.path, format, now.UTC().Format("20060102T150405.000Z"))
	return dest, vacuumInto(ctx, db.path, dest)
}
