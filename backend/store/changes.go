package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Change is one entry of the change log: what changed and to which version,
// never the content. Seq is the global rising sequence, without gaps.
type Change struct {
	Seq     int64
	Kind    string // the owner's noun: "session", "run", "approval", …
	Key     string
	Version int64
	AtMs    int64 // Unix milliseconds
}

const defaultChangeLogKeep = 10_000

// maxChanges bounds one answer of [DB.Changes].
const maxChanges = 1000

func changeLogSchema() Schema {
	return Schema{Owner: "store", DDL: `
CREATE TABLE IF NOT EXISTS change_log (
	seq     INTEGER PRIMARY KEY,
	kind    TEXT NOT NULL,
	key     TEXT NOT NULL,
	version INTEGER NOT NULL,
	at_ms   INTEGER NOT NULL
) STRICT;`}
}

const (
	changeInsertSQL = `INSERT INTO change_log (seq, kind, key, version, at_ms) VALUES (?, ?, ?, ?, ?)`
	changePruneSQL  = `DELETE FROM change_log WHERE seq <= ?`
	changeSelectSQL = `SELECT seq, kind, key, version, at_ms FROM change_log WHERE seq > ? ORDER BY seq LIMIT ?`
	// Two subqueries, for SQLite answers a lone min or max from the index end
	// but scans for both at once.
	changeBoundsSQL = `SELECT coalesce((SELECT min(seq) FROM change_log), 0), coalesce((SELECT max(seq) FROM change_log), 0)`
	changeHeadSQL   = `SELECT coalesce(max(seq), 0) FROM change_log`
)

var errChangeKind = errors.New("emit: a change needs a kind")

// changeLog is the writer's side of the log: it hands out sequence numbers and
// keeps the table bounded. Only the writer's goroutine uses it.
type changeLog struct {
	keep        int64
	first, next int64 // oldest row kept; next number to give
}

func newChangeLog(q Querier, keep int) (*changeLog, error) {
	if keep <= 0 {
		keep = defaultChangeLogKeep
	}
	var first, last int64
	if err := q.QueryRow(changeBoundsSQL).Scan(&first, &last); err != nil {
		return nil, fmt.Errorf("read change log: %w", err)
	}
	return &changeLog{keep: int64(keep), first: max(first, 1), next: last + 1}, nil
}

// append writes a transaction's changes and numbers them in place.
func (l *changeLog) append(ctx context.Context, stmts *statements, changes []Change) error {
	for i := range changes {
		c := &changes[i]
		if c.Kind == "" {
			return errChangeKind
		}
		c.Seq = l.next
		if _, err := stmts.exec(ctx, changeInsertSQL, c.Seq, c.Kind, c.Key, c.Version, c.AtMs); err != nil {
			return fmt.Errorf("append to change log: %w", err)
		}
		l.next++
	}
	return nil
}

// prune drops the oldest rows once an eighth too many are kept, so that most
// commits touch only the end of the table. It returns the oldest row's number
// to be, which counts once the commit has returned.
func (l *changeLog) prune(ctx context.Context, stmts *statements) (first int64, err error) {
	if l.next-l.first <= l.keep+l.keep/8 {
		return l.first, nil
	}
	first = l.next - l.keep
	if _, err := stmts.exec(ctx, changePruneSQL, first-1); err != nil {
		return l.first, fmt.Errorf("prune change log: %w", err)
	}
	return first, nil
}

// Changes returns committed changes with a Seq above after, oldest first, at
// most limit (1000 when limit is 0 or larger). complete is false, and there are
// no changes, when the log no longer reaches back to after, or when after lies
// ahead of the log, as it does once a backup was put back: the client then
// needs a snapshot. Safe for concurrent use.
func (db *DB) Changes(ctx context.Context, after int64, limit int) (changes []Change, complete bool, err error) {
	if limit <= 0 || limit > maxChanges {
		limit = maxChanges
	}
	err = db.Read(ctx, func(tx *ReadTx) error {
		var first, last int64
		if err := tx.QueryRow(changeBoundsSQL).Scan(&first, &last); err != nil {
			return err
		}
		if after > last || after < last && after+1 < first {
			return nil
		}
		complete = true
		rows, err := tx.Query(changeSelectSQL, after, limit)
		if err != nil {
			return err
		}
		changes, err = scanChanges(rows)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("read changes after %d: %w", after, err)
	}
	return changes, complete, nil
}

func scanChanges(rows *sql.Rows) (changes []Change, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var c Change
		if err := rows.Scan(&c.Seq, &c.Kind, &c.Key, &c.Version, &c.AtMs); err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, rows.Err()
}

// LastSeq is the Seq of the newest committed change, 0 when there was none. To
// pair a snapshot with its sequence use [ReadTx.Seq] instead.
func (db *DB) LastSeq() int64 {
	if db == nil {
		return 0
	}
	return db.lastSeq.Load()
}
