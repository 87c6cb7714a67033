package queue

import (
	"database/sql"
	"errors"
	"fmt"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

// Progress is what a running run has used, added to what is stored.
type Progress struct {
	ModelCalls   int64
	ToolCalls    int64
	WallMs       int64
	InputTokens  int64
	OutputTokens int64
	// Step says in words what it does now; empty leaves the stored words.
	Step string
	// Model is the model that answered; empty leaves the stored one.
	Model string
}

// Advance adds progress to a running run.
func Advance(tx *store.Tx, id protocol.RunID, p Progress, nowMs int64) error {
	res, err := tx.Exec(`UPDATE runs SET model_calls = model_calls + ?, tool_calls = tool_calls + ?, wall_ms = wall_ms + ?,
			input_tokens = input_tokens + ?, output_tokens = output_tokens + ?,
			step = CASE ?6 WHEN '' THEN step ELSE ?6 END, model = CASE ?7 WHEN '' THEN model ELSE ?7 END, wall_at_ms = ?9, version = version + 1
		WHERE run_id = ?8 AND state = 'running'`,
		p.ModelCalls, p.ToolCalls, p.WallMs, p.InputTokens, p.OutputTokens, p.Step, p.Model, string(id), nowMs)
	if err := changedOne(res, err, "advance run", id); err != nil {
		return err
	}
	emitRun(tx, id, nowMs)
	return nil
}

// Park leaves a running run waiting for a person.
func Park(tx *store.Tx, id protocol.RunID, reason protocol.ParkReason, detail string, nowMs int64) error {
	res, err := tx.Exec(`UPDATE runs SET state = 'parked', park_reason = ?, park_detail = ?, parked_at_ms = ?, step = '', version = version + 1
		WHERE run_id = ? AND state = 'running'`, string(reason), detail, nowMs, string(id))
	if err := changedOne(res, err, "park run", id); err != nil {
		return err
	}
	emitRun(tx, id, nowMs)
	return nil
}

// Resume puts a parked run back into its place in the queue. A note is kept for
// the model.
func Resume(tx *store.Tx, id protocol.RunID, note string, nowMs int64) error {
	res, err := tx.Exec(`UPDATE runs SET state = 'queued', park_reason = '', park_detail = '', parked_at_ms = 0, step = '',
			note = CASE ?1 WHEN '' THEN note ELSE ?1 END, version = version + 1
		WHERE run_id = ?2 AND state = 'parked'`, note, string(id))
	if err := changedOne(res, err, "resume run", id); err != nil {
		return err
	}
	emitRun(tx, id, nowMs)
	return nil
}

// Release puts a running run back into its place in the queue: after a clean
// stop or a pause it costs nothing, after a restart it costs one recovery.
func Release(tx *store.Tx, id protocol.RunID, step string, costsRecovery bool, nowMs int64) error {
	res, err := tx.Exec(`UPDATE runs SET state = 'queued', step = ?, recoveries = recoveries + ?, version = version + 1
		WHERE run_id = ? AND state = 'running'`, step, costsRecovery, string(id))
	if err := changedOne(res, err, "release run", id); err != nil {
		return err
	}
	emitRun(tx, id, nowMs)
	return nil
}

// Ending is how a run ends.
type Ending struct {
	State        protocol.RunState
	ErrorMessage string
	ErrorKind    protocol.ErrorKind
}

// Finish ends a running run, a parked one that is given up, or any open one that
// is stopped. Its input, if it was never taken, is dropped.
func Finish(tx *store.Tx, id protocol.RunID, e Ending, nowMs int64) error {
	if !e.State.Ended() {
		return fmt.Errorf("finish run %s as %s: %w", id, e.State, ErrWrongState)
	}
	from := map[protocol.RunState]string{
		protocol.RunDone:    `('running')`,
		protocol.RunFailed:  `('running','parked')`,
		protocol.RunStopped: `('running','parked','queued')`,
	}[e.State]
	res, err := tx.Exec(`UPDATE runs SET state = ?, error_message = ?, error_kind = ?, ended_at_ms = ?, park_reason = '', park_detail = '', parked_at_ms = 0,
			step = '', version = version + 1
		WHERE run_id = ? AND state IN `+from, string(e.State), e.ErrorMessage, string(e.ErrorKind), nowMs, string(id))
	if err := changedOne(res, err, "finish run", id); err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE inputs SET state = 'dropped' WHERE run_id = ? AND state = 'pending'`, string(id)); err != nil {
		return fmt.Errorf("drop input of %s: %w", id, err)
	}
	emitRun(tx, id, nowMs)
	return nil
}

// RequestStop notes that a running run must stop; its conductor is told apart.
// It is the durable half of Stop: a restart does not forget it.
func RequestStop(tx *store.Tx, id protocol.RunID, by string, nowMs int64) error {
	res, err := tx.Exec(`UPDATE runs SET stop_requested = 1, stop_by = ?, version = version + 1
		WHERE run_id = ? AND state IN ('queued','running','parked')`, by, string(id))
	if err := changedOne(res, err, "stop run", id); err != nil {
		return err
	}
	emitRun(tx, id, nowMs)
	return nil
}

// Raise doubles one ceiling of a parked run, once.
func Raise(tx *store.Tx, id protocol.RunID, c protocol.CeilingName) error {
	column := map[protocol.CeilingName]string{
		protocol.CeilingModelCalls: "limit_model_calls",
		protocol.CeilingToolCalls:  "limit_tool_calls",
		protocol.CeilingWallTime:   "limit_wall_ms",
	}[c]
	if column == "" {
		return fmt.Errorf("raise ceiling %q: %w", c, ErrWrongState)
	}
	mark := "," + string(c) + ","
	res, err := tx.Exec(`UPDATE runs SET `+column+` = `+column+` * 2, raised = raised || ?1, version = version + 1
		WHERE run_id = ?2 AND state = 'parked' AND instr(raised, ?1) = 0`, mark, string(id))
	if err := changedOne(res, err, "raise ceiling of", id); err != nil {
		return err
	}
	emitRun(tx, id, 0)
	return nil
}

// TakeNote returns the note a person left for the model, once.
func TakeNote(tx *store.Tx, id protocol.RunID) (string, error) {
	var note string
	if err := tx.QueryRow(`SELECT note FROM runs WHERE run_id = ?`, string(id)).Scan(&note); err != nil {
		return "", fmt.Errorf("read note of %s: %w", id, err)
	}
	if note == "" {
		return "", nil
	}
	if _, err := tx.Exec(`UPDATE runs SET note = '' WHERE run_id = ?`, string(id)); err != nil {
		return "", fmt.Errorf("take note of %s: %w", id, err)
	}
	return note, nil
}

// switchPause is the switch that pauses all work.
const switchPause = "pause"

// SetPaused pauses or resumes all work.
func SetPaused(tx *store.Tx, paused bool, nowMs int64) error {
	value := "off"
	if paused {
		value = "on"
	}
	_, err := tx.Exec(`INSERT INTO switches (name, value, changed_at_ms) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value, changed_at_ms = excluded.changed_at_ms`, switchPause, value, nowMs)
	if err != nil {
		return fmt.Errorf("set pause: %w", err)
	}
	tx.Emit(store.Change{Kind: ChangeSwitch, Key: switchPause, AtMs: nowMs})
	return nil
}

// Paused reports whether all work is paused.
func Paused(q store.Querier) (bool, error) {
	var value string
	err := q.QueryRow(`SELECT value FROM switches WHERE name = ?`, switchPause).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read pause: %w", err)
	}
	return value == "on", nil
}
