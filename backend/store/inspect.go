package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// inspect decides whether the file may be used, before anything writes to it,
// and returns its format; 0 means a new file.
func (db *DB) inspect(ctx context.Context, known int, size int64) (format int, err error) {
	walSize, err := sizeOrZero(db.path + "-wal")
	if err != nil {
		return 0, err
	}
	if size == 0 && walSize == 0 {
		return 0, nil
	}
	var h header
	if size > 0 {
		if h, err = readHeader(db.path); err != nil {
			return 0, err
		}
		if err := db.admit(h, known); err != nil {
			return 0, err
		}
	}
	if !db.lock.unclean && walSize == 0 && h.appID == applicationID {
		return h.format, nil
	}
	// What was committed last may stand in the log file only, the format too.
	return db.inspectLog(ctx, known)
}

// admit refuses files of newer formats and of other programs.
func (db *DB) admit(h header, known int) error {
	if h.appID != applicationID && (h.appID != 0 || h.format != 0) {
		return db.foreign()
	}
	if h.format > known {
		return &NewerFormatError{Path: db.path, Found: h.format, Known: known}
	}
	return nil
}

func (db *DB) foreign() error {
	return fmt.Errorf("%s belongs to another program and was not changed; choose another folder", db.path)
}

// inspectLog reads through a connection that cannot write to the database, and
// checks it, for its last user did not end cleanly.
func (db *DB) inspectLog(ctx context.Context, known int) (format int, err error) {
	pool, err := openPool(db.path, inspect, SyncFull, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	var h header
	for q, into := range map[string]any{"PRAGMA user_version": &h.format, "PRAGMA application_id": &h.appID} {
		if err := pool.QueryRowContext(ctx, q).Scan(into); err != nil {
			return 0, fmt.Errorf("look into %s: %w", db.path, err)
		}
	}
	if err := db.admit(h, known); err != nil {
		return 0, err
	}
	if h.appID == 0 {
		// Ours is marked in the transaction that makes its first table.
		var objects int
		if err := pool.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil {
			return 0, fmt.Errorf("look into %s: %w", db.path, err)
		}
		if objects > 0 {
			return 0, db.foreign()
		}
	}
	if err := quickCheck(ctx, pool, db.path); err != nil {
		return 0, err
	}
	return h.format, nil
}

func quickCheck(ctx context.Context, pool *sql.DB, path string) (err error) {
	rows, err := pool.QueryContext(ctx, "PRAGMA quick_check(5)")
	if err != nil {
		return fmt.Errorf("check %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var findings []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return fmt.Errorf("check %s: %w", path, err)
		}
		if line != "ok" {
			findings = append(findings, line)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("check %s: %w", path, err)
	}
	if len(findings) > 0 {
		return &CorruptError{Path: path, Detail: strings.Join(findings, "; ")}
	}
	return nil
}
