// Package queue owns what waits and what works: accepted inputs, runs with their
// counters, the leases under which runs write, boots and switches.
//
// States of a run, every arrow once:
//
//	queued  → running   Claim: its session lane is free
//	queued  → stopped   Finish
//	running → parked    Park: it waits for a person
//	running → queued    Release: a clean stop, a pause, or a restart
//	running → done      Finish
//	running → failed    Finish
//	running → stopped   Finish
//	parked  → queued    Resume: a person decided
//	parked  → stopped   Finish
//	parked  → failed    Finish: given up
//
// RequestStop notes a wish on any run that has not ended, Advance counts for a
// running one, Raise lifts a ceiling of a parked one; none of them moves it.
//
// Within one session the oldest run that has not ended holds the lane: no other
// is claimed before it has ended, also while it is parked. A run writes only
// under its lease (Held); a lease of an older boot, or one that was given up, is
// void. Verbs do not check who calls them; conductors do.
package queue

import (
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

//go:embed schema.sql
var ddl string

// Schema declares the tables of this owner.
func Schema() store.Schema { return store.Schema{Owner: "queue", DDL: ddl} }

// Kinds of the changes this owner emits; the key is the run's id, or "pause".
const (
	ChangeRun    = "run"
	ChangeSwitch = "switch"
)

// ErrNotFound reports a run that does not exist.
var ErrNotFound = errors.New("this run does not exist")

// ErrLeaseLost reports a write under a lease that is void; the writer stops and
// writes nothing more.
var ErrLeaseLost = errors.New("the lease of this run is void")

// ErrWrongState reports a change that the run's state does not permit.
var ErrWrongState = errors.New("the run is in another state")

// Limits are the ceilings of a run; WallMs counts working time in milliseconds.
type Limits struct {
	ModelCalls int64
	ToolCalls  int64
	WallMs     int64
}

// Run is one row.
type Run struct {
	ID            protocol.RunID
	Seq           int64
	SessionKey    protocol.SessionKey
	SessionID     protocol.SessionID
	AgentID       protocol.AgentID
	Lane          string
	ContentHash   string
	State         protocol.RunState
	ParkReason    protocol.ParkReason
	ParkDetail    string
	ParkedAtMs    int64
	LeaseEpoch    int64
	LeaseNo       int64
	StopRequested bool
	StopBy        string
	Channel       string
	Sender        string
	ReplyTarget   string
	Title         string
	Model         string
	Thinking      string
	Step          string
	ModelCalls    int64
	ToolCalls     int64
	WallMs        int64
	// WallAtMs is when WallMs was last counted.
	WallAtMs     int64
	Limits       Limits
	Raised       string
	Recoveries   int
	Note         string
	ErrorMessage string
	ErrorKind    protocol.ErrorKind
	InputTokens  int64
	OutputTokens int64
	AcceptedAtMs int64
	StartedAtMs  int64
	EndedAtMs    int64
	Version      int64
}

const runColumns = `run_id, seq, session_key, session_id, agent_id, lane, content_hash, state, park_reason, park_detail, parked_at_ms,
	lease_epoch, lease_no, stop_requested, stop_by, channel, sender, reply_target_json, title, model, thinking, step,
	model_calls, tool_calls, wall_ms, wall_at_ms, limit_model_calls, limit_tool_calls, limit_wall_ms, raised, recoveries, note,
	error_message, error_kind, input_tokens, output_tokens, accepted_at_ms, started_at_ms, ended_at_ms, version`

func scanRun(row interface{ Scan(...any) error }) (Run, error) {
	var r Run
	err := row.Scan(&r.ID, &r.Seq, &r.SessionKey, &r.SessionID, &r.AgentID, &r.Lane, &r.ContentHash, &r.State, &r.ParkReason, &r.ParkDetail, &r.ParkedAtMs,
		&r.LeaseEpoch, &r.LeaseNo, &r.StopRequested, &r.StopBy, &r.Channel, &r.Sender, &r.ReplyTarget, &r.Title, &r.Model, &r.Thinking, &r.Step,
		&r.ModelCalls, &r.ToolCalls, &r.WallMs, &r.WallAtMs, &r.Limits.ModelCalls, &r.Limits.ToolCalls, &r.Limits.WallMs, &r.Raised, &r.Recoveries, &r.Note,
		&r.ErrorMessage, &r.ErrorKind, &r.InputTokens, &r.OutputTokens, &r.AcceptedAtMs, &r.StartedAtMs, &r.EndedAtMs, &r.Version)
	return r, err
}

func queryRuns(q store.Querier, query string, args ...any) ([]Run, error) {
	rows, err := q.Query(query, args...)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	defer rows.Close()
	var out []Run
	for rows.Next() {
		r, err := scanRun(rows)
		if err != nil {
			return nil, fmt.Errorf("read runs: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// Get reads one run, or ErrNotFound.
func Get(q store.Querier, id protocol.RunID) (Run, error) {
	r, err := scanRun(q.QueryRow(`SELECT `+runColumns+` FROM runs WHERE run_id = ?`, string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return Run{}, ErrNotFound
	}
	if err != nil {
		return Run{}, fmt.Errorf("read run %s: %w", id, err)
	}
	return r, nil
}

// Filter selects runs; zero values select all.
type Filter struct {
	SessionKey protocol.SessionKey
	SessionID  protocol.SessionID
	OpenOnly   bool
	State      protocol.RunState
	Limit      int
}

// List reads runs, newest first.
func List(q store.Querier, f Filter) ([]Run, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	return queryRuns(q, `SELECT `+runColumns+` FROM runs
		WHERE (?1 = '' OR session_key = ?1) AND (?2 = '' OR session_id = ?2) AND (?3 = '' OR state = ?3)
		  AND (?4 = 0 OR state IN ('queued','running','parked'))
		ORDER BY seq DESC LIMIT ?5`, string(f.SessionKey), string(f.SessionID), string(f.State), f.OpenOnly, f.Limit)
}

// Latest reads the newest run of a session; ok is false when there is none.
func Latest(q store.Querier, key protocol.SessionKey) (r Run, ok bool, err error) {
	runs, err := List(q, Filter{SessionKey: key, Limit: 1})
	if err != nil || len(runs) == 0 {
		return Run{}, false, err
	}
	return runs[0], true, nil
}

// Counts returns how many runs are queued, running and parked.
func Counts(q store.Querier) (queued, running, parked int, err error) {
	err = q.QueryRow(`SELECT coalesce(sum(state = 'queued'), 0), coalesce(sum(state = 'running'), 0), coalesce(sum(state = 'parked'), 0)
		FROM runs WHERE state IN ('queued','running','parked')`).Scan(&queued, &running, &parked)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("count runs: %w", err)
	}
	return queued, running, parked, nil
}

// Input is an accepted message whose run has not begun.
type Input struct {
	RunID        protocol.RunID
	Message      protocol.Message
	Replace      protocol.MessageID
	AcceptedAtMs int64
}

// Accept stores an input and its run, queued. The caller has looked for the key
// in the same transaction.
func Accept(tx *store.Tx, r Run, in Input) error {
	raw, err := json.Marshal(in.Message)
	if err != nil {
		return fmt.Errorf("encode input: %w", err)
	}
	_, err = tx.Exec(`INSERT INTO runs (run_id, seq, session_key, session_id, agent_id, lane, content_hash, state, channel, sender, reply_target_json,
			title, model, thinking, limit_model_calls, limit_tool_calls, limit_wall_ms, accepted_at_ms)
		VALUES (?, (SELECT coalesce(max(seq), 0) + 1 FROM runs), ?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(r.ID), string(r.SessionKey), string(r.SessionID), string(r.AgentID), r.Lane, r.ContentHash, r.Channel, r.Sender, r.ReplyTarget,
		r.Title, r.Model, r.Thinking, r.Limits.ModelCalls, r.Limits.ToolCalls, r.Limits.WallMs, r.AcceptedAtMs)
	if err != nil {
		return fmt.Errorf("accept run %s: %w", r.ID, err)
	}
	_, err = tx.Exec(`INSERT INTO inputs (run_id, session_key, message_json, replace_message_id, state, accepted_at_ms) VALUES (?, ?, ?, ?, 'pending', ?)`,
		string(r.ID), string(r.SessionKey), string(raw), string(in.Replace), r.AcceptedAtMs)
	if err != nil {
		return fmt.Errorf("accept input of %s: %w", r.ID, err)
	}
	tx.Emit(store.Change{Kind: ChangeRun, Key: string(r.ID), Version: 1, AtMs: r.AcceptedAtMs})
	return nil
}

// PendingInputs reads the accepted messages of a session whose runs have not
// begun, in the order they were accepted.
func PendingInputs(q store.Querier, key protocol.SessionKey) ([]Input, error) {
	rows, err := q.Query(`SELECT i.run_id, i.message_json, i.replace_message_id, i.accepted_at_ms FROM inputs i JOIN runs r ON r.run_id = i.run_id
		WHERE i.session_key = ? AND i.state = 'pending' ORDER BY r.seq`, string(key))
	if err != nil {
		return nil, fmt.Errorf("read inputs: %w", err)
	}
	defer rows.Close()
	var out []Input
	for rows.Next() {
		in, err := scanInput(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	return out, rows.Err()
}

func scanInput(row interface{ Scan(...any) error }) (Input, error) {
	var in Input
	var raw string
	if err := row.Scan(&in.RunID, &raw, &in.Replace, &in.AcceptedAtMs); err != nil {
		return Input{}, fmt.Errorf("read input: %w", err)
	}
	if err := json.Unmarshal([]byte(raw), &in.Message); err != nil {
		return Input{}, fmt.Errorf("decode input of %s: %w", in.RunID, err)
	}
	return in, nil
}

// TakeInput marks the pending input of a run consumed and returns it; ok is
// false when it was consumed before.
func TakeInput(tx *store.Tx, id protocol.RunID) (in Input, ok bool, err error) {
	in, err = scanInput(tx.QueryRow(`SELECT run_id, message_json, replace_message_id, accepted_at_ms FROM inputs WHERE run_id = ? AND state = 'pending'`, string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return Input{}, false, nil
	}
	if err != nil {
		return Input{}, false, err
	}
	if _, err := tx.Exec(`UPDATE inputs SET state = 'consumed' WHERE run_id = ?`, string(id)); err != nil {
		return Input{}, false, fmt.Errorf("take input of %s: %w", id, err)
	}
	return in, true, nil
}
