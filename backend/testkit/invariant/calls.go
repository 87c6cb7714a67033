package invariant

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"countersign/backend/protocol"
)

// carriedOutOnce: 4, by what commands left in files. A second line is a second
// execution, whatever the database says.
func carriedOutOnce(_ context.Context, s *Scene) ([]string, error) {
	var out []string
	for file, lines := range s.After {
		for line, n := range lines {
			if n > 1 {
				out = append(out, fmt.Sprintf("%q stands %d times in %s", line, n, file))
			}
		}
	}
	return out, nil
}

// attempt is one effect that carries out a command.
type attempt struct{ id, run, args, state string }

// attempts finds the effects of each command by the line it leaves.
func attempts(ctx context.Context, s *Scene) (map[string][]attempt, error) {
	list, err := rows(ctx, s, func(r *sql.Rows, a *attempt) error { return r.Scan(&a.id, &a.run, &a.args, &a.state) },
		`SELECT effect_id, run_id, args_json, state FROM effects`)
	if err != nil {
		return nil, err
	}
	byRun := make(map[string][]attempt)
	for _, a := range list {
		byRun[a.run] = append(byRun[a.run], a)
	}
	out := make(map[string][]attempt)
	for _, c := range s.Commands {
		for _, a := range byRun[string(c.Run)] {
			if strings.Contains(a.args, c.Line) {
				out[c.Line] = append(out[c.Line], a)
			}
		}
	}
	return out, nil
}

// doneHappened: 4, a receipt that says done tells the truth.
func doneHappened(ctx context.Context, s *Scene) ([]string, error) {
	found, err := attempts(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, c := range s.Commands {
		for _, a := range found[c.Line] {
			if a.state == "done" && s.After[c.File][c.Line] == 0 {
				out = append(out, fmt.Sprintf("effect %s is called done and left no %q in %s", a.id, c.Line, c.File))
			}
		}
	}
	return out, nil
}

// startedFirst: 4, what can be seen on disk was begun by an effect whose start
// was stored before, and not by one that was denied or never allowed.
func startedFirst(ctx context.Context, s *Scene) ([]string, error) {
	found, err := attempts(ctx, s)
	if err != nil {
		return nil, err
	}
	began := map[string]bool{"started": true, "done": true, "failed": true, "unknown": true, "stopped": true}
	var out []string
	for _, c := range s.Commands {
		if s.Before[c.File][c.Line] == 0 {
			continue
		}
		ok := false
		for _, a := range found[c.Line] {
			ok = ok || began[a.state]
		}
		if !ok {
			out = append(out, fmt.Sprintf("%q stands in %s, and no effect of %s had begun", c.Line, c.File, c.Run))
		}
	}
	return out, nil
}

// spoken is one message with calls or a result.
type spoken struct {
	session, run, state, role, raw string
}

// calls is what a transcript says of its tool calls, by session and call.
type calls struct {
	made    map[string]string // call to the state of its run
	results map[string]int
}

func readCalls(ctx context.Context, s *Scene) (calls, error) {
	c := calls{made: make(map[string]string), results: make(map[string]int)}
	list, err := rows(ctx, s, func(r *sql.Rows, m *spoken) error { return r.Scan(&m.session, &m.run, &m.state, &m.role, &m.raw) },
		`SELECT m.session_id, m.run_id, coalesce(r.state, ''), m.role, m.message_json FROM messages m LEFT JOIN runs r ON r.run_id = m.run_id
		WHERE m.role IN ('assistant','toolResult') AND m.replaced_at_ms = 0`)
	if err != nil {
		return c, err
	}
	for _, m := range list {
		var msg protocol.Message
		if err := decode(m.raw, &msg); err != nil {
			return c, err
		}
		if m.role == "toolResult" {
			c.results[m.session+" "+msg.ToolCallID]++
			continue
		}
		for _, block := range msg.Content.ToolCalls() {
			c.made[m.session+" "+block.ID] = m.state
		}
	}
	return c, nil
}

// oneResult: 4, a call has no second result, and no result comes without a call.
func oneResult(ctx context.Context, s *Scene) ([]string, error) {
	c, err := readCalls(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []string
	for call, n := range c.results {
		if n > 1 {
			out = append(out, fmt.Sprintf("call %s has %d results", call, n))
		}
		if _, ok := c.made[call]; !ok {
			out = append(out, fmt.Sprintf("a result answers call %s, which nobody made", call))
		}
	}
	return out, nil
}

// hasResult: 4, a run that ended leaves no call open.
func hasResult(ctx context.Context, s *Scene) ([]string, error) {
	c, err := readCalls(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []string
	for call, state := range c.made {
		if c.results[call] == 0 && protocol.RunState(state).Ended() {
			out = append(out, fmt.Sprintf("call %s has no result, and its run is %s", call, state))
		}
	}
	return out, nil
}

// receipts: 4, an ending and its receipt are one, and a run that ended leaves no
// effect open.
func receipts(ctx context.Context, s *Scene) ([]string, error) {
	return sentences(ctx, s, `
		SELECT 'effect ' || e.effect_id || ' is ' || e.state || ' and has ' || count(r.seq) || ' receipts' FROM effects e
			LEFT JOIN receipts r ON r.effect_id = e.effect_id
			GROUP BY e.effect_id HAVING count(r.seq) <> (e.state NOT IN ('planned','authorised','started'))
		UNION ALL
		SELECT 'receipt ' || r.receipt_id || ' says ' || r.outcome || ' and its effect ' || e.state FROM receipts r
			JOIN effects e ON e.effect_id = r.effect_id WHERE r.outcome <> e.state
		UNION ALL
		SELECT 'receipt ' || r.receipt_id || ' has no effect' FROM receipts r
			WHERE NOT EXISTS (SELECT 1 FROM effects e WHERE e.effect_id = r.effect_id)
		UNION ALL
		SELECT 'effect ' || e.effect_id || ' is ' || e.state || ' in a run that is ' || r.state FROM effects e JOIN runs r ON r.run_id = e.run_id
			WHERE e.state IN ('planned','authorised','started') AND r.state IN ('done','failed','stopped')`)
}
