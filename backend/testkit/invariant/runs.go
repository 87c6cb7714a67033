package invariant

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

func decode(raw string, into any) error {
	if err := json.Unmarshal([]byte(raw), into); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}

// ending is what the owner can see of a run.
type ending struct {
	id, state, reason, words string
	answers                  int
	approvals, questions     int
	unknown                  int
}

// visible: 3, once nothing works any more every run has ended, with something to
// see, or waits for something that the owner can decide.
func visible(ctx context.Context, s *Scene) ([]string, error) {
	list, err := rows(ctx, s, func(r *sql.Rows, e *ending) error {
		return r.Scan(&e.id, &e.state, &e.reason, &e.words, &e.answers, &e.approvals, &e.questions, &e.unknown)
	}, `SELECT r.run_id, r.state, r.park_reason, r.error_message,
			(SELECT count(*) FROM messages m WHERE m.run_id = r.run_id AND m.role = 'assistant'),
			(SELECT count(*) FROM approvals a WHERE a.run_id = r.run_id AND a.state = 'pending'),
			(SELECT count(*) FROM questions q WHERE q.run_id = r.run_id AND q.state = 'pending'),
			(SELECT count(*) FROM effects e WHERE e.run_id = r.run_id AND e.state = 'unknown' AND e.result_text = '')
		FROM runs r ORDER BY r.seq`)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range list {
		if why := e.hidden(); why != "" {
			out = append(out, fmt.Sprintf("run %s %s", e.id, why))
		}
	}
	return out, nil
}

// hidden says why the owner cannot see what became of a run, "" if it can be seen.
func (e ending) hidden() string {
	switch e.state {
	case "queued", "running":
		return "is still " + e.state
	case "done":
		if e.answers == 0 {
			return "is done and answered nothing"
		}
	case "failed", "stopped":
		if e.words == "" {
			return "is " + e.state + " and does not say why"
		}
	case "parked":
		waits := map[string]bool{"approval": e.approvals > 0, "question": e.questions > 0, "unknown": e.unknown > 0, "ceiling": true, "recovery": true}
		if !waits[e.reason] {
			return fmt.Sprintf("waits for %q, and there is nothing to decide", e.reason)
		}
	}
	return ""
}

// leases: 3, what works does so under a lease of the newest boot, and nothing is
// under way in a run that does not work.
func leases(ctx context.Context, s *Scene) ([]string, error) {
	return sentences(ctx, s, `
		SELECT 'run ' || run_id || ' works under a lease of boot ' || lease_epoch || ', not of the newest' FROM runs
			WHERE state = 'running' AND lease_epoch <> (SELECT max(epoch) FROM boots)
		UNION ALL
		SELECT 'effect ' || e.effect_id || ' is under way in a run that is ' || r.state FROM effects e JOIN runs r ON r.run_id = e.run_id
			WHERE e.state = 'started' AND r.state <> 'running'
		UNION ALL
		SELECT 'approval ' || a.approval_id || ' is open for a run that is ' || r.state FROM approvals a JOIN runs r ON r.run_id = a.run_id
			WHERE a.state = 'pending' AND r.state IN ('done','failed','stopped')`)
}
