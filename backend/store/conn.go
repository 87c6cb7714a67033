package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"

	"modernc.org/sqlite"
)

const driverName = "sqlite"

const (
	busyTimeoutMs    = 5000
	journalSizeLimit = 64 << 20
)

// access says what a connection is for.
type access int

const (
	readWrite access = iota
	readOnly         // may use the side files, never writes to the database
	inspect          // opens the file itself for reading only
	snapshot         // reads, and may make another file by VACUUM INTO
)

// dataSource builds the name modernc's driver opens.
//
// temp_store keeps sorting and temporary tables out of files that others may
// read. _dqs=0 makes a misspelt column an error instead of a string literal.
// secure_delete writes zeroes over what a change or a deletion leaves free in a
// page: what was masked or erased is not to be read out of the file.
func dataSource(path string, a access, sync SyncMode) string {
	q := url.Values{
		"_busy_timeout": {fmt.Sprint(busyTimeoutMs)},
		"_dqs":          {"0"},
		"_defensive":    {"1"},
		"_error_rc":     {"1"},
		"_pragma":       {"temp_store(MEMORY)"},
	}
	switch a {
	case readWrite:
		q.Set("_txlock", "immediate")
		q.Set("_foreign_keys", "on")
		q.Set("_journal_mode", "WAL")
		q.Set("_synchronous", sync.pragma())
		q["_pragma"] = append(q["_pragma"],
			"fullfsync(1)", "checkpoint_fullfsync(1)", "secure_delete(1)", "cache_size(-16000)",
			fmt.Sprintf("journal_size_limit(%d)", journalSizeLimit))
	case readOnly:
		q.Set("_query_only", "on")
		q["_pragma"] = append(q["_pragma"], "cache_size(-8000)")
	case inspect:
		q.Set("mode", "ro")
		q.Set("_query_only", "on")
	case snapshot:
		q.Set("_synchronous", "FULL")
		q["_pragma"] = append(q["_pragma"], "fullfsync(1)")
	}
	return fileURI(path) + "?" + q.Encode()
}

// fileURI escapes what would end the path early, and gives a Windows path the
// slash SQLite wants before its drive letter.
func fileURI(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// openPool opens connections of one kind; max bounds them.
func openPool(path string, a access, sync SyncMode, max int) (*sql.DB, error) {
	pool, err := sql.Open(driverName, dataSource(path, a, sync))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	pool.SetMaxOpenConns(max)
	pool.SetMaxIdleConns(max)
	return pool, nil
}

// guard watches the writer's connection. While closed, SQLite refuses to end
// the transaction on a function's behalf, and a statement that runs after
// SQLite rolled the transaction back, and so in autocommit, cannot commit.
type guard struct {
	closed     atomic.Bool
	rolledBack atomic.Bool // set by any rollback of the whole transaction
}

func (g *guard) attach(conn *sql.Conn) error {
	return conn.Raw(func(raw any) error {
		hooks, ok := raw.(sqlite.HookRegisterer)
		if !ok {
			return errors.New("the SQLite driver has no commit hook")
		}
		authorizer, ok := raw.(sqlite.AuthorizerRegisterer)
		if !ok {
			return errors.New("the SQLite driver has no authorizer")
		}
		hooks.RegisterRollbackHook(func() { g.rolledBack.Store(true) })
		hooks.RegisterCommitHook(func() int32 {
			if g.closed.Load() {
				return 1
			}
			return 0
		})
		return authorizer.RegisterAuthorizer(g.authorize)
	})
}

func (g *guard) authorize(action sqlite.AuthorizerActionCode, _, _, _, _ string) sqlite.AuthorizerReturnCode {
	if !g.closed.Load() {
		return sqlite.AuthorizerOK
	}
	switch action {
	case sqlite.AuthTransaction, sqlite.AuthSavepoint, sqlite.AuthAttach, sqlite.AuthDetach:
		return sqlite.AuthorizerDeny
	}
	return sqlite.AuthorizerOK
}

// statements caches prepared statements of one connection by their text. It is
// used by one goroutine at a time.
type statements struct {
	conn   *sql.Conn
	byText map[string]*cached
	lent   []*cached
}

type cached struct {
	stmt *sql.Stmt
	lent bool // its rows may still be open in the running transaction
}

// maxStatements is far above the number of texts in the program; a text built
// at run time must not grow the cache without end.
const maxStatements = 512

func newStatements(conn *sql.Conn) *statements {
	return &statements{conn: conn, byText: make(map[string]*cached)}
}

func (s *statements) get(ctx context.Context, text string) (*cached, error) {
	if c, found := s.byText[text]; found {
		return c, nil
	}
	if len(s.byText) >= maxStatements {
		if err := s.evict(); err != nil {
			return nil, err
		}
	}
	stmt, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	c := &cached{stmt: stmt}
	s.byText[text] = c
	return c, nil
}

func (s *statements) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	c, err := s.get(ctx, text)
	if err != nil {
		return nil, err
	}
	if c.lent {
		return s.conn.ExecContext(ctx, text, args...)
	}
	return c.stmt.ExecContext(ctx, args...)
}

// lend gives a statement whose rows stay open until settle, or nil when the
// running transaction has it already: one statement cannot hold two cursors.
func (s *statements) lend(ctx context.Context, text string) (*sql.Stmt, error) {
	c, err := s.get(ctx, text)
	if err != nil {
		return nil, err
	}
	if c.lent {
		return nil, nil
	}
	c.lent = true
	s.lent = append(s.lent, c)
	return c.stmt, nil
}

func (s *statements) settle() {
	for _, c := range s.lent {
		c.lent = false
	}
	s.lent = s.lent[:0]
}

// evict closes everything whose rows are not open.
func (s *statements) evict() error {
	var errs []error
	for text, c := range s.byText {
		if !c.lent {
			errs = append(errs, c.stmt.Close())
			delete(s.byText, text)
		}
	}
	return errors.Join(errs...)
}

func (s *statements) close() error {
	s.settle()
	return s.evict()
}
