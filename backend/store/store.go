package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// SyncMode says what a commit waits for.
type SyncMode int

const (
	// SyncFull waits until the disk has confirmed the commit.
	SyncFull SyncMode = iota
	// SyncOff does not wait; a power cut loses acknowledged data. For
	// benchmarks only.
	SyncOff
)

func (m SyncMode) pragma() string {
	if m == SyncOff {
		return "OFF"
	}
	return "FULL"
}

// Schema is what one owner declares: CREATE TABLE, INDEX, TRIGGER and VIEW
// statements with IF NOT EXISTS. Tables are STRICT.
type Schema struct{ Owner, DDL string }

// Options say which file to open and what it must hold.
type Options struct {
	Path          string      // the database file; its folder is made, 0700
	Schemas       []Schema    // in composed order: foreign keys point to earlier ones only
	Format        int         // the format this program writes, from 1; rises with each Migration
	Migrations    []Migration // one for each step up to Format that files may still need
	Logger        *slog.Logger
	Now           func() time.Time // nil: time.Now
	Sync          SyncMode
	ChangeLogKeep int // rows of the change log that are kept; 0: 10000
}

// DB is one open file. All its methods are safe for concurrent use, and on a
// nil DB answer as on a closed one.
type DB struct {
	path    string
	logger  *slog.Logger
	lock    *DirLock
	schemas *declaration
	writes  *sql.DB // holds the writer's one connection
	writer  *writer
	readers *sql.DB
	feed    *feed
	lastSeq atomic.Int64

	mu        sync.Mutex // guards closed against users
	closed    bool
	users     sync.WaitGroup // reads and backups under way
	closeOnce sync.Once
	closeErr  error
}

// Open opens or makes the file, brings its schema up to date and starts the
// writer. It holds the file against other processes until Close.
//
// Errors that callers branch on: [LockedError], [NewerFormatError],
// [CorruptError], [SchemaError], [ErrDiskFull], [ErrReadOnly]. After any of
// them the file is as it was.
func Open(ctx context.Context, o Options) (*DB, error) {
	db, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", classify(o.Path, err))
	}
	return db, nil
}

func open(ctx context.Context, o Options) (_ *DB, err error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	declared, err := declare(ctx, append([]Schema{changeLogSchema()}, o.Schemas...))
	if err != nil {
		return nil, err
	}
	if err := prepareDir(filepath.Dir(o.Path)); err != nil {
		return nil, err
	}
	lock, err := acquire(o.Path + "-lock")
	if err != nil {
		return nil, err
	}
	db := &DB{path: o.Path, logger: o.Logger, lock: lock, schemas: declared, feed: newFeed(o.Logger)}
	if err := db.openFile(ctx, o); err != nil {
		return nil, errors.Join(err, db.closeFiles(), lock.letGo())
	}
	go db.feed.run()
	go db.writer.run()
	return db, nil
}

func (o *Options) fill() error {
	if o.Path == "" {
		return errors.New("no path is given")
	}
	if o.Format < 1 {
		return fmt.Errorf("format %d: formats count from 1", o.Format)
	}
	abs, err := filepath.Abs(o.Path)
	if err != nil {
		return err
	}
	o.Path = abs
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

func (db *DB) openFile(ctx context.Context, o Options) error {
	size, err := prepareFile(o.Path)
	if err != nil {
		return err
	}
	found, err := db.inspect(ctx, o.Format, size)
	if err != nil {
		return err
	}
	if err := closeToOthers(o.Path); err != nil {
		return err
	}
	if db.writes, err = openPool(o.Path, readWrite, o.Sync, 1); err != nil {
		return err
	}
	conn, err := db.writes.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open for writing: %w", err)
	}
	w := &writer{
		conn: conn, stmts: newStatements(conn), guard: &guard{}, lastSeq: &db.lastSeq, feed: db.feed,
		path: o.Path, logger: o.Logger, now: o.Now,
		queue: make(chan *request), closing: make(chan struct{}), done: make(chan struct{}),
	}
	w.commit = w.execCommit
	db.writer = w
	if err := w.guard.attach(conn); err != nil {
		return err
	}
	if err := db.upgrade(ctx, o, found); err != nil {
		return err
	}
	if w.log, err = newChangeLog(connQuerier{ctx, conn}, o.ChangeLogKeep); err != nil {
		return err
	}
	db.lastSeq.Store(w.log.next - 1)
	w.stuck = time.AfterFunc(stuckFunction, w.warnStuck)
	w.stuck.Stop()
	if db.readers, err = openPool(o.Path, readOnly, o.Sync, maxReaders); err != nil {
		return err
	}
	return closeToOthers(o.Path)
}

// Write runs fn in a transaction and returns nil once it is on disk. See the
// package comment for what fn may do. ctx counts only until fn begins.
//
// fn's own error comes back after a rollback of fn's changes alone. Errors that
// callers branch on: [ErrClosed], [ErrDiskFull], [ErrReadOnly], [ErrSyncFailed];
// after each but the last nothing of fn is saved.
func (db *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	return db.request(ctx, &request{fn: fn, done: make(chan error, 1)})
}

func (db *DB) request(ctx context.Context, r *request) error {
	if db == nil {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-db.writer.closing:
		return ErrClosed
	default:
	}
	db.writer.stats.waiting.Add(1)
	defer db.writer.stats.waiting.Add(-1)
	select {
	case db.writer.queue <- r:
		return <-r.done
	case <-db.writer.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Checkpoint moves the log file's content into the database and empties the
// log, as far as readers allow; what they hold back is left for the next time.
func (db *DB) Checkpoint(ctx context.Context) error {
	return db.request(ctx, &request{done: make(chan error, 1), control: func(conn *sql.Conn) error {
		return classify(db.path, checkpoint(conn))
	}})
}

// checkpoint copies without waiting first, then truncates if no reader is in
// the way; waiting for one would stop all writers.
func checkpoint(conn *sql.Conn) error {
	ctx := context.Background()
	var busy, logged, moved int
	row := func(q string) error { return conn.QueryRowContext(ctx, q).Scan(&busy, &logged, &moved) }
	if err := row("PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if busy != 0 || logged != moved {
		return nil
	}
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	err := row("PRAGMA wal_checkpoint(TRUNCATE)")
	_, restore := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeoutMs))
	if err := errors.Join(err, restore); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// WALSize is the size of the log file in bytes. One that only grows means a
// reader that does not end.
func (db *DB) WALSize() (int64, error) {
	if db == nil {
		return 0, ErrClosed
	}
	return sizeOrZero(db.path + "-wal")
}

// Stats counts what the writer did since Open.
type Stats struct {
	Commits      int64 // COMMITs, each one fsync
	Transactions int64 // functions stored by them
	Reruns       int64 // functions run again, alone, after their batch was lost
	Waiting      int64 // calls of Write and Checkpoint not answered at this moment
}

type counters struct{ commits, transactions, reruns, waiting atomic.Int64 }

// Stats returns the writer's counts.
func (db *DB) Stats() Stats {
	if db == nil {
		return Stats{}
	}
	c := &db.writer.stats
	return Stats{
		Commits: c.commits.Load(), Transactions: c.transactions.Load(), Reruns: c.reruns.Load(), Waiting: c.waiting.Load(),
	}
}

// enter counts a user of the read connections, unless the DB is closed.
func (db *DB) enter() bool {
	if db == nil {
		return false
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return false
	}
	db.users.Add(1)
	return true
}

// Close refuses new work, waits for accepted writes, for subscribers to be told
// and for readers, empties the log file into the database and lets go of the
// file. Calling it again returns the same answer.
func (db *DB) Close() error {
	if db == nil {
		return nil
	}
	db.closeOnce.Do(func() {
		db.mu.Lock()
		db.closed = true
		db.mu.Unlock()
		close(db.writer.closing)
		<-db.writer.done
		db.feed.close()
		db.users.Wait()
		db.closeErr = db.shut()
	})
	return db.closeErr
}

func (db *DB) shut() error {
	db.writer.stuck.Stop()
	var err error
	if db.readers != nil {
		err = db.readers.Close()
		db.readers = nil
	}
	if db.writer.failed == nil {
		err = errors.Join(err, checkpoint(db.writer.conn))
	}
	err = errors.Join(err, db.closeFiles())
	if err != nil || db.writer.failed != nil {
		// The next start is to check the file.
		return errors.Join(err, db.lock.abandon())
	}
	return db.lock.Release()
}

// closeFiles closes whatever of the connections is open.
func (db *DB) closeFiles() error {
	var errs []error
	if db.readers != nil {
		errs = append(errs, db.readers.Close())
	}
	if db.writer != nil {
		errs = append(errs, db.writer.stmts.close(), db.writer.conn.Close())
	}
	if db.writes != nil {
		errs = append(errs, db.writes.Close())
	}
	return errors.Join(errs...)
}
