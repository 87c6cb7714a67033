package invariant

import (
	"context"
	"database/sql"
	"fmt"

	"countersign/backend/protocol"
)

// order: 6, numbers have no gap, runs come in the order in which their messages
// were sent, and what belongs to one run stands together.
func order(ctx context.Context, s *Scene) ([]string, error) {
	out, err := sentences(ctx, s, `
		SELECT 'transcript ' || w.session_id || ' counts to ' || w.last_seq || ' and holds ' || count(m.seq) || ' messages up to ' || coalesce(max(m.seq), 0)
			FROM windows w LEFT JOIN messages m ON m.session_id = w.session_id
			GROUP BY w.session_id HAVING count(m.seq) <> w.last_seq OR coalesce(max(m.seq), 0) <> w.last_seq`)
	if err != nil {
		return nil, err
	}
	for _, look := range []func(context.Context, *Scene) ([]string, error){sentOrder, spokenOrder} {
		found, err := look(ctx, s)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// sentOrder compares the order of the runs with that of the first
// acknowledgements of one sender.
func sentOrder(ctx context.Context, s *Scene) ([]string, error) {
	type place struct {
		key protocol.RunID
		seq int64
	}
	list, err := rows(ctx, s, func(r *sql.Rows, p *place) error { return r.Scan(&p.key, &p.seq) }, `SELECT run_id, seq FROM runs`)
	if err != nil {
		return nil, err
	}
	seq := make(map[protocol.RunID]int64, len(list))
	for _, p := range list {
		seq[p.key] = p.seq
	}
	var out []string
	last := make(map[protocol.SessionKey]Message)
	for _, m := range s.Messages {
		if !m.Acked || seq[m.Key] == 0 {
			continue
		}
		if before, ok := last[m.Session]; ok && seq[before.Key] > seq[m.Key] {
			out = append(out, fmt.Sprintf("%s was sent after %s and stands before it", m.Key, before.Key))
		}
		last[m.Session] = m
	}
	return out, nil
}

// spokenOrder looks at transcripts: runs one after the other, in their order. The
// message of a run that was stopped before it began is shown where it was
// stopped, which may be anywhere.
func spokenOrder(ctx context.Context, s *Scene) ([]string, error) {
	type line struct {
		window, run string
		seq, of     int64
	}
	list, err := rows(ctx, s, func(r *sql.Rows, l *line) error { return r.Scan(&l.window, &l.run, &l.seq, &l.of) },
		`SELECT m.session_id, m.run_id, m.seq, r.seq FROM messages m JOIN runs r ON r.run_id = m.run_id
		WHERE NOT (r.state = 'stopped' AND r.started_at_ms = 0) ORDER BY m.session_id, m.seq`)
	if err != nil {
		return nil, err
	}
	var out []string
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if a.window == b.window && b.of < a.of {
			out = append(out, fmt.Sprintf("in transcript %s message %d belongs to run %s, which came before run %s of message %d", b.window, b.seq, b.run, a.run, a.seq))
		}
	}
	return out, nil
}
