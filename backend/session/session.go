// Package session owns conversations and their transcripts: it alone reads and
// writes the transcript tables.
//
// A session key stays for good; each reset gives it a new window (a SessionID)
// with an empty transcript, and keeps the old one. Messages are only ever added;
// editing an earlier message marks it and what followed as replaced, which takes
// them out of the active history without losing them.
package session

import (
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

//go:embed schema.sql
var ddl string

// Schema declares the tables of this owner.
func Schema() store.Schema { return store.Schema{Owner: "session", DDL: ddl} }

// Kinds of the changes this owner emits; the key is the session's key or the
// message's id.
const (
	ChangeSession = "session"
	ChangeMessage = "message"
)

// ErrNotFound reports a session or message that does not exist.
var ErrNotFound = errors.New("this conversation does not exist")

// ErrChanged reports that a session was reset or deleted since it was looked at;
// the caller tells the client instead of writing to the old snapshot.
var ErrChanged = errors.New("this conversation was reset or deleted meanwhile")

// Session is one conversation with the state of its present window.
type Session struct {
	Key          protocol.SessionKey
	AgentID      protocol.AgentID
	ID           protocol.SessionID
	Label        string
	Title        string
	Preview      string
	Model        string
	Archived     bool
	Pinned       bool
	Unread       bool
	CreatedAtMs  int64
	UpdatedAtMs  int64
	Version      int64
	LastSeq      int64
	MessageCount int64
}

const columns = `s.session_key, s.agent_id, s.session_id, s.label, s.title, s.preview, s.model, s.archived, s.pinned, s.unread,
	s.created_at_ms, s.updated_at_ms, s.version, w.last_seq, w.message_count`

const from = ` FROM sessions s JOIN windows w ON w.session_id = s.session_id `

func scan(row interface{ Scan(...any) error }) (Session, error) {
	var s Session
	err := row.Scan(&s.Key, &s.AgentID, &s.ID, &s.Label, &s.Title, &s.Preview, &s.Model, &s.Archived, &s.Pinned, &s.Unread,
		&s.CreatedAtMs, &s.UpdatedAtMs, &s.Version, &s.LastSeq, &s.MessageCount)
	return s, err
}

// Get reads a session that has not been deleted, or ErrNotFound.
func Get(q store.Querier, key protocol.SessionKey) (Session, error) {
	s, err := scan(q.QueryRow(`SELECT `+columns+from+`WHERE s.session_key = ? AND s.deleted_at_ms = 0`, string(key)))
	if errors.Is(err, sql.ErrNoRows) {
		return Session{}, ErrNotFound
	}
	if err != nil {
		return Session{}, fmt.Errorf("read session: %w", err)
	}
	return s, nil
}

// GetOrCreate reads a session, or makes it with an empty window named newID. A
// deleted session of the same key begins anew.
func GetOrCreate(tx *store.Tx, key protocol.SessionKey, newID protocol.SessionID, nowMs int64) (Session, error) {
	s, err := Get(tx, key)
	if !errors.Is(err, ErrNotFound) {
		return s, err
	}
	if err := openWindow(tx, key, newID, nowMs); err != nil {
		return Session{}, err
	}
	_, err = tx.Exec(`INSERT INTO sessions (session_key, agent_id, session_id, created_at_ms, updated_at_ms) VALUES (?1, ?2, ?3, ?4, ?4)
		ON CONFLICT (session_key) DO UPDATE SET session_id = ?3, label = '', title = '', preview = '', model = '', archived = 0, pinned = 0, unread = 0,
			deleted_at_ms = 0, created_at_ms = ?4, updated_at_ms = ?4, version = version + 1`,
		string(key), string(key.Agent()), string(newID), nowMs)
	if err != nil {
		return Session{}, fmt.Errorf("create session: %w", err)
	}
	emit(tx, key, nowMs)
	return Get(tx, key)
}

func openWindow(tx *store.Tx, key protocol.SessionKey, id protocol.SessionID, nowMs int64) error {
	if _, err := tx.Exec(`INSERT INTO windows (session_id, session_key, started_at_ms) VALUES (?, ?, ?)`, string(id), string(key), nowMs); err != nil {
		return fmt.Errorf("open transcript: %w", err)
	}
	return nil
}

func emit(tx *store.Tx, key protocol.SessionKey, nowMs int64) {
	tx.Emit(store.Change{Kind: ChangeSession, Key: string(key), AtMs: nowMs})
}

// Patch changes what is not nil.
type Patch struct {
	Label    *string
	Model    *string
	Archived *bool
	Pinned   *bool
	Unread   *bool
}

// Apply changes a session, or reports ErrNotFound.
func Apply(tx *store.Tx, key protocol.SessionKey, p Patch, nowMs int64) (Session, error) {
	res, err := tx.Exec(`UPDATE sessions SET label = coalesce(?, label), model = coalesce(?, model), archived = coalesce(?, archived),
			pinned = coalesce(?, pinned), unread = coalesce(?, unread), version = version + 1
		WHERE session_key = ? AND deleted_at_ms = 0`, p.Label, p.Model, p.Archived, p.Pinned, p.Unread, string(key))
	if err != nil {
		return Session{}, fmt.Errorf("change session: %w", err)
	}
	if n, _ := res.RowsAffected(); n == 0 {
		return Session{}, ErrNotFound
	}
	emit(tx, key, nowMs)
	return Get(tx, key)
}

// Reset gives a session a new, empty window and keeps the old one.
func Reset(tx *store.Tx, key protocol.SessionKey, newID protocol.SessionID, reason string, nowMs int64) (Session, error) {
	s, err := Get(tx, key)
	if err != nil {
		return Session{}, err
	}
	if _, err := tx.Exec(`UPDATE windows SET ended_at_ms = ?, reason = ? WHERE session_id = ?`, nowMs, reason, string(s.ID)); err != nil {
		return Session{}, fmt.Errorf("end transcript: %w", err)
	}
	if err := openWindow(tx, key, newID, nowMs); err != nil {
		return Session{}, err
	}
	_, err = tx.Exec(`UPDATE sessions SET session_id = ?, title = '', preview = '', unread = 0, updated_at_ms = ?, version = version + 1 WHERE session_key = ?`,
		string(newID), nowMs, string(key))
	if err != nil {
		return Session{}, fmt.Errorf("reset session: %w", err)
	}
	emit(tx, key, nowMs)
	return Get(tx, key)
}

// Delete takes a session out of every list; with transcript, what was said in
// all its windows is erased. expected, when given, must be the present window.
func Delete(tx *store.Tx, key protocol.SessionKey, transcript bool, expected protocol.SessionID, nowMs int64) error {
	s, err := Get(tx, key)
	if err != nil {
		return err
	}
	if expected != "" && expected != s.ID {
		return ErrChanged
	}
	if _, err := tx.Exec(`UPDATE sessions SET deleted_at_ms = ?, version = version + 1 WHERE session_key = ?`, nowMs, string(key)); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	if _, err := tx.Exec(`UPDATE windows SET ended_at_ms = ?, reason = 'deleted' WHERE session_id = ?`, nowMs, string(s.ID)); err != nil {
		return fmt.Errorf("end transcript: %w", err)
	}
	if transcript {
		if err := erase(tx, key); err != nil {
			return err
		}
	}
	emit(tx, key, nowMs)
	return nil
}

// erase removes what was said in every window of a session, and what its head
// quotes of it.
func erase(tx *store.Tx, key protocol.SessionKey) error {
	for _, q := range []string{
		`DELETE FROM messages WHERE session_id IN (SELECT session_id FROM windows WHERE session_key = ?)`,
		`UPDATE windows SET message_count = 0 WHERE session_key = ?`,
		`UPDATE sessions SET title = '', preview = '' WHERE session_key = ?`,
	} {
		if _, err := tx.Exec(q, string(key)); err != nil {
			return fmt.Errorf("erase transcript: %w", err)
		}
	}
	return nil
}

// Filter selects sessions; a nil Archived selects both kinds.
type Filter struct {
	AgentID  protocol.AgentID
	Search   string
	Archived *bool
	SinceMs  int64
	Limit    int
	Offset   int
}

// List reads sessions, pinned first, then the newest, and how many fit in all.
func List(q store.Querier, f Filter) (sessions []Session, total int, err error) {
	if f.Limit <= 0 {
		f.Limit = 200
	}
	like := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(f.Search) + "%"
	where := `WHERE s.deleted_at_ms = 0 AND (?1 = '' OR s.agent_id = ?1) AND (?2 IS NULL OR s.archived = ?2) AND s.updated_at_ms >= ?3
		AND (?4 = '%%' OR s.label LIKE ?4 ESCAPE '\' OR s.title LIKE ?4 ESCAPE '\' OR s.preview LIKE ?4 ESCAPE '\' OR s.session_key LIKE ?4 ESCAPE '\') `
	args := []any{string(f.AgentID), f.Archived, f.SinceMs, like}
	if err := q.QueryRow(`SELECT count(*)`+from+where, args...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("count sessions: %w", err)
	}
	rows, err := q.Query(`SELECT `+columns+from+where+`ORDER BY s.pinned DESC, s.updated_at_ms DESC, s.session_key LIMIT ?5 OFFSET ?6`,
		append(args, f.Limit, f.Offset)...)
	if err != nil {
		return nil, 0, fmt.Errorf("list sessions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		s, err := scan(rows)
		if err != nil {
			return nil, 0, fmt.Errorf("list sessions: %w", err)
		}
		sessions = append(sessions, s)
	}
	return sessions, total, rows.Err()
}

// Count returns how many sessions there are.
func Count(q store.Querier) (n int64, err error) {
	if err := q.QueryRow(`SELECT count(*) FROM sessions WHERE deleted_at_ms = 0`).Scan(&n); err != nil {
		return 0, fmt.Errorf("count sessions: %w", err)
	}
	return n, nil
}
