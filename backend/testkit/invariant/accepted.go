package invariant

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"countersign/backend/protocol"
)

// stored is what the database holds of one key.
type stored struct {
	key     protocol.RunID
	session protocol.SessionKey
	// input waits to be read; said is the message in the transcript.
	input, said string
	times       int
}

func storedMessages(ctx context.Context, s *Scene) (map[protocol.RunID]stored, error) {
	list, err := rows(ctx, s, func(r *sql.Rows, v *stored) error { return r.Scan(&v.key, &v.session, &v.input, &v.said, &v.times) },
		`SELECT r.run_id, r.session_key, coalesce((SELECT i.message_json FROM inputs i WHERE i.run_id = r.run_id AND i.state = 'pending'), ''),
			coalesce((SELECT m.message_json FROM messages m WHERE m.run_id = r.run_id AND m.role = 'user'), ''),
			(SELECT count(*) FROM messages m WHERE m.run_id = r.run_id AND m.role = 'user')
		FROM runs r`)
	if err != nil {
		return nil, err
	}
	out := make(map[protocol.RunID]stored, len(list))
	for _, v := range list {
		out[v.key] = v
	}
	return out, nil
}

// messagesStored: 1, what was acknowledged is on disk, with its words.
func messagesStored(ctx context.Context, s *Scene) ([]string, error) {
	known, err := storedMessages(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range s.Messages {
		if !m.Acked {
			continue
		}
		found, ok := known[m.Key]
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%s was acknowledged and has no run", m.Key))
		case found.session != m.Session:
			out = append(out, fmt.Sprintf("%s was sent to %s and is stored in %s", m.Key, m.Session, found.session))
		case !holds(found.input, m.Text) && !holds(found.said, m.Text):
			out = append(out, fmt.Sprintf("%s was acknowledged and its words are nowhere", m.Key))
		}
	}
	return out, nil
}

// holds reports whether a stored message says text.
func holds(message, text string) bool {
	if message == "" {
		return false
	}
	var m protocol.Message
	if err := decode(message, &m); err != nil {
		return false
	}
	return strings.Contains(m.Content.Text(), text)
}

// decisionsStored: 1, for decisions.
func decisionsStored(ctx context.Context, s *Scene) ([]string, error) {
	var out []string
	for _, d := range s.Decided {
		var decision, state string
		err := s.DB.QueryRowContext(ctx, `SELECT decision, state FROM approvals WHERE approval_id = ?`, string(d.Approval)).Scan(&decision, &state)
		if err != nil {
			out = append(out, fmt.Sprintf("approval %s was decided and is not there: %v", d.Approval, err))
			continue
		}
		if decision != string(d.Decision) || state == "pending" {
			out = append(out, fmt.Sprintf("approval %s was decided %s and is %s %s", d.Approval, d.Decision, state, decision))
		}
	}
	return out, nil
}

// oneRun: 2, a key is one run, and the model hears a message once.
func oneRun(ctx context.Context, s *Scene) ([]string, error) {
	known, err := storedMessages(ctx, s)
	if err != nil {
		return nil, err
	}
	sent := make(map[protocol.RunID]bool, len(s.Messages))
	for _, m := range s.Messages {
		sent[m.Key] = true
	}
	var out []string
	for key, found := range known {
		if !sent[key] {
			out = append(out, fmt.Sprintf("run %s answers a key that nobody sent", key))
		}
		if found.times > 1 {
			out = append(out, fmt.Sprintf("the message of %s stands %d times in the transcript", key, found.times))
		}
	}
	return out, nil
}
