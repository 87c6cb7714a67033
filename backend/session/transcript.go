package session

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

// previewRunes bounds a title and a preview in a list.
const previewRunes = 80

// Append adds a message to a window and moves its session's head. It sets the
// message's Seq and returns it. A window that was reset or deleted reports
// ErrChanged.
func Append(tx *store.Tx, id protocol.SessionID, m protocol.Message) (protocol.Message, error) {
	var key protocol.SessionKey
	var last int64
	err := tx.QueryRow(`SELECT w.session_key, w.last_seq FROM windows w JOIN sessions s ON s.session_id = w.session_id
		WHERE w.session_id = ? AND s.deleted_at_ms = 0`, string(id)).Scan(&key, &last)
	if errors.Is(err, sql.ErrNoRows) {
		return m, ErrChanged
	}
	if err != nil {
		return m, fmt.Errorf("find transcript: %w", err)
	}
	m.Seq = last + 1
	raw, err := json.Marshal(m)
	if err != nil {
		return m, fmt.Errorf("encode message: %w", err)
	}
	_, err = tx.Exec(`INSERT INTO messages (message_id, session_id, seq, parent_id, run_id, role, message_json, at_ms)
		VALUES (?1, ?2, ?3, coalesce((SELECT message_id FROM messages WHERE session_id = ?2 AND replaced_at_ms = 0 ORDER BY seq DESC LIMIT 1), ''), ?4, ?5, ?6, ?7)`,
		string(m.ID), string(id), m.Seq, string(m.RunID), string(m.Role), string(raw), m.TimestampMs)
	if err != nil {
		return m, fmt.Errorf("append message: %w", err)
	}
	if _, err := tx.Exec(`UPDATE windows SET last_seq = ?, message_count = message_count + 1 WHERE session_id = ?`, m.Seq, string(id)); err != nil {
		return m, fmt.Errorf("move head: %w", err)
	}
	if err := moveHead(tx, key, m); err != nil {
		return m, err
	}
	tx.Emit(store.Change{Kind: ChangeMessage, Key: string(m.ID), Version: 1, AtMs: m.TimestampMs})
	return m, nil
}

// moveHead keeps what a list shows of a session: its title is the first thing
// said, its preview the newest.
func moveHead(tx *store.Tx, key protocol.SessionKey, m protocol.Message) error {
	title, preview := "", ""
	if m.Role != protocol.RoleToolResult {
		preview = Shorten(m.Content.Text())
	}
	if m.Role == protocol.RoleUser {
		title = preview
	}
	_, err := tx.Exec(`UPDATE sessions SET title = CASE WHEN title = '' THEN ?1 ELSE title END, preview = CASE ?2 WHEN '' THEN preview ELSE ?2 END,
			unread = CASE ?3 WHEN 'assistant' THEN 1 ELSE unread END, updated_at_ms = max(updated_at_ms, ?4), version = version + 1
		WHERE session_key = ?5`, title, preview, string(m.Role), m.TimestampMs, string(key))
	if err != nil {
		return fmt.Errorf("move head: %w", err)
	}
	emit(tx, key, m.TimestampMs)
	return nil
}

// Shorten gives the first line of a text, cut to what a list can show.
func Shorten(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(line) <= previewRunes {
		return line
	}
	return strings.TrimSpace(string([]rune(line)[:previewRunes-1])) + "…"
}

// ReplaceFrom takes a message and all that followed it out of the active
// history, and moves its session's head back. It reports ErrNotFound when the
// message is not there, or the window is no longer its session's: an older one
// is kept as it was.
func ReplaceFrom(tx *store.Tx, id protocol.SessionID, message protocol.MessageID, nowMs int64) error {
	res, err := tx.Exec(`UPDATE messages SET replaced_at_ms = ?1 WHERE session_id = ?2 AND replaced_at_ms = 0
		AND seq >= (SELECT seq FROM messages WHERE message_id = ?3 AND session_id = ?2 AND replaced_at_ms = 0)
		AND EXISTS (SELECT 1 FROM sessions WHERE session_id = ?2 AND deleted_at_ms = 0)`, nowMs, string(id), string(message))
	if err != nil {
		return fmt.Errorf("replace messages: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("replace messages: %w", err)
	}
	if n == 0 {
		return ErrNotFound
	}
	if _, err := tx.Exec(`UPDATE windows SET message_count = message_count - ? WHERE session_id = ?`, n, string(id)); err != nil {
		return fmt.Errorf("replace messages: %w", err)
	}
	return moveHeadBack(tx, id, nowMs)
}

// moveHeadBack makes a session's title and preview from what is left of its
// active history, so that a list never shows words that were taken back.
func moveHeadBack(tx *store.Tx, id protocol.SessionID, nowMs int64) error {
	left, err := History(tx, id)
	if err != nil {
		return err
	}
	title, preview := "", ""
	for _, m := range left {
		text := Shorten(m.Content.Text())
		if m.Role == protocol.RoleToolResult || text == "" {
			continue
		}
		preview = text
		if title == "" && m.Role == protocol.RoleUser {
			title = text
		}
	}
	var key protocol.SessionKey
	err = tx.QueryRow(`UPDATE sessions SET title = ?, preview = ?, updated_at_ms = max(updated_at_ms, ?), version = version + 1 WHERE session_id = ?
		RETURNING session_key`, title, preview, nowMs, string(id)).Scan(&key)
	if err != nil {
		return fmt.Errorf("move head: %w", err)
	}
	emit(tx, key, nowMs)
	return nil
}

// History reads the whole active transcript of a window, oldest first.
func History(q store.Querier, id protocol.SessionID) ([]protocol.Message, error) {
	return query(q, `SELECT `+messageColumns+` FROM messages WHERE session_id = ? AND replaced_at_ms = 0 ORDER BY seq`, string(id))
}

// Page reads the newest limit messages (at least one) older than beforeSeq (0:
// the newest of all), oldest first, and whether there are older ones.
func Page(q store.Querier, id protocol.SessionID, beforeSeq int64, limit int) (page []protocol.Message, more bool, err error) {
	limit = max(limit, 1)
	page, err = query(q, `SELECT `+messageColumns+` FROM (
			SELECT `+messageColumns+` FROM messages WHERE session_id = ?1 AND replaced_at_ms = 0 AND (?2 = 0 OR seq < ?2) ORDER BY seq DESC LIMIT ?3
		) ORDER BY seq`, string(id), beforeSeq, limit+1)
	if err != nil {
		return nil, false, err
	}
	if len(page) > limit {
		return page[len(page)-limit:], true, nil
	}
	return page, false, nil
}

// PrevSeq is the place of the message before seq in the active history of a
// session's present window, 0 when there is none.
func PrevSeq(q store.Querier, key protocol.SessionKey, seq int64) (int64, error) {
	var prev int64
	err := q.QueryRow(`SELECT coalesce(max(m.seq), 0) FROM messages m JOIN sessions s ON s.session_id = m.session_id
		WHERE s.session_key = ? AND m.seq < ? AND m.replaced_at_ms = 0`, string(key), seq).Scan(&prev)
	if err != nil {
		return 0, fmt.Errorf("read transcript: %w", err)
	}
	return prev, nil
}

// OfRun reads the messages of one run in its window, oldest first.
func OfRun(q store.Querier, id protocol.SessionID, run protocol.RunID) ([]protocol.Message, error) {
	return query(q, `SELECT `+messageColumns+` FROM messages WHERE run_id = ? AND session_id = ? AND replaced_at_ms = 0 ORDER BY seq`, string(run), string(id))
}

// Message reads one message and its session's key, or ErrNotFound.
func Message(q store.Querier, id protocol.MessageID) (protocol.Message, protocol.SessionKey, error) {
	var key protocol.SessionKey
	err := q.QueryRow(`SELECT w.session_key FROM messages m JOIN windows w ON w.session_id = m.session_id WHERE m.message_id = ?`, string(id)).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return protocol.Message{}, "", ErrNotFound
	}
	if err != nil {
		return protocol.Message{}, "", fmt.Errorf("read message: %w", err)
	}
	found, err := query(q, `SELECT `+messageColumns+` FROM messages WHERE message_id = ?`, string(id))
	if err != nil {
		return protocol.Message{}, "", err
	}
	return found[0], key, nil
}

const messageColumns = `message_json, message_id, seq, role, run_id, at_ms`

// unreadable stands in the place of a message whose row cannot be decoded. One
// damaged row costs that message, and everybody sees it; the conversation stays.
const unreadable = "[This message is damaged or was written by another version of Countersign, and cannot be shown.]"

func query(q store.Querier, sqlText string, args ...any) ([]protocol.Message, error) {
	rows, err := q.Query(sqlText, args...)
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	defer rows.Close()
	var out []protocol.Message
	for rows.Next() {
		var raw sql.RawBytes
		var row protocol.Message
		if err := rows.Scan(&raw, &row.ID, &row.Seq, &row.Role, &row.RunID, &row.TimestampMs); err != nil {
			return nil, fmt.Errorf("read transcript: %w", err)
		}
		var m protocol.Message
		if err := json.Unmarshal(raw, &m); err != nil {
			m = row
			m.Content, m.Incomplete = protocol.Blocks{protocol.TextBlock{Text: unreadable}}, true
		}
		out = append(out, m)
	}
	return out, rows.Err()
}
