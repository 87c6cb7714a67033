// Package effect owns what the agents did: one row for each attempt of a tool
// call, and the hash-chained receipts of how each attempt ended.
//
// States, every arrow once:
//
//	planned    → authorised  a clause, a grant or an approval allows it
//	planned    → denied      a clause, or a person, refuses it
//	planned    → stopped     the run was stopped while it waited
//	planned    → done | failed   a read, or a change of our own database only,
//	                         which needs no row before it begins
//	planned    → planned     the machine changed while it was asked
//	authorised → planned     the machine changed; it is asked anew
//	authorised → started     committed before anything begins
//	authorised → stopped     the run was stopped before it began
//	started    → done | failed | stopped | unknown
//
// Nothing begins without a [Permit], and a permit is good only after the row
// that says "started" is on disk, and only once. What was found started after an
// unclean end becomes unknown, never failed. Each ending writes one receipt in
// the same transaction.
package effect

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

//go:embed schema.sql
var ddl string

// Schema declares the tables of this owner.
func Schema() store.Schema { return store.Schema{Owner: "effect", DDL: ddl} }

// ChangeReceipt is the kind of change emitted with each receipt; the key is its
// id.
const ChangeReceipt = "receipt"

// State is where an effect is.
type State string

// States of an effect.
const (
	Planned    State = "planned"
	Authorised State = "authorised"
	Started    State = "started"
	Done       State = "done"
	Failed     State = "failed"
	Unknown    State = "unknown"
	Denied     State = "denied"
	Stopped    State = "stopped"
)

// Ended reports whether a state is final.
func (s State) Ended() bool {
	return s == Done || s == Failed || s == Unknown || s == Denied || s == Stopped
}

// ErrNotFound reports an effect or receipt that does not exist.
var ErrNotFound = errors.New("this receipt does not exist")

// ErrAmbiguous reports a prefix that fits several receipts; it is an ErrNotFound
// too, for a caller that does not tell them apart.
var ErrAmbiguous = fmt.Errorf("several receipts begin with this id: %w", ErrNotFound)

// ErrWrongState reports a change the state does not permit: somebody else was
// first.
var ErrWrongState = errors.New("the effect is in another state")

// ErrNoPermit reports an attempt to begin without a committed start, or twice.
var ErrNoPermit = errors.New("this effect may not begin")

// Before is what undo needs: the state of one file before it was changed.
// Content is kept under Blob; a file that did not exist has Existed false.
type Before struct {
	Path    string          `json:"path"`
	Existed bool            `json:"existed"`
	Mode    uint32          `json:"mode,omitempty"`
	Blob    protocol.BlobID `json:"blob,omitempty"`
	SHA256  string          `json:"sha256,omitempty"`
}

// Effect is one row.
type Effect struct {
	ID         protocol.EffectID
	RunID      protocol.RunID
	SessionKey protocol.SessionKey
	AgentID    protocol.AgentID
	MessageID  protocol.MessageID
	ToolCallID string
	CallIndex  int
	Tool       string
	Class      protocol.EffectClass
	Repeat     string
	// Args, Plan and Target are as the tool has them until the effect has ended,
	// and from then on with secrets masked. Plan is the tool's plan as JSON;
	// PlanHash is that of the unmasked one, which an approval is bound to.
	Args       json.RawMessage
	Plan       json.RawMessage
	PlanHash   string
	Target     string
	State      State
	Authority  protocol.Authority
	Before     *Before
	ResultText string
	IsError    bool
	ReceiptID  protocol.ReceiptID
	Taint      protocol.Taint
	PlannedMs  int64
	StartedMs  int64
	EndedMs    int64
}

// Insert stores a planned effect. A second one for the same call of a run is an
// error of the database: a call has at most one row.
func Insert(tx *store.Tx, e Effect) error {
	if e.State == "" {
		e.State = Planned
	}
	authority, before, err := encode(e)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO effects (effect_id, run_id, session_key, agent_id, message_id, tool_call_id, call_index, tool, class, repeat,
			args_json, plan_json, plan_hash, target, state, authority_json, before_json, planned_at_ms)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(e.ID), string(e.RunID), string(e.SessionKey), string(e.AgentID), string(e.MessageID), e.ToolCallID, e.CallIndex, e.Tool, string(e.Class), e.Repeat,
		string(e.Args), string(e.Plan), e.PlanHash, e.Target, string(e.State), authority, before, e.PlannedMs)
	if err != nil {
		return fmt.Errorf("plan effect %s: %w", e.ToolCallID, err)
	}
	return nil
}

func encode(e Effect) (authority, before string, err error) {
	raw, err := json.Marshal(e.Authority)
	if err != nil {
		return "", "", fmt.Errorf("encode authority: %w", err)
	}
	if e.Before == nil {
		return string(raw), "", nil
	}
	b, err := json.Marshal(e.Before)
	if err != nil {
		return "", "", fmt.Errorf("encode former state: %w", err)
	}
	return string(raw), string(b), nil
}

const columns = `effect_id, run_id, session_key, agent_id, message_id, tool_call_id, call_index, tool, class, repeat, args_json, plan_json, plan_hash,
	target, state, authority_json, before_json, result_text, result_error, receipt_id, taint, planned_at_ms, started_at_ms, ended_at_ms`

func scan(row interface{ Scan(...any) error }) (Effect, error) {
	var e Effect
	var args, plan, authority, before string
	err := row.Scan(&e.ID, &e.RunID, &e.SessionKey, &e.AgentID, &e.MessageID, &e.ToolCallID, &e.CallIndex, &e.Tool, &e.Class, &e.Repeat, &args, &plan, &e.PlanHash,
		&e.Target, &e.State, &authority, &before, &e.ResultText, &e.IsError, &e.ReceiptID, &e.Taint, &e.PlannedMs, &e.StartedMs, &e.EndedMs)
	if err != nil {
		return e, err
	}
	e.Args, e.Plan = json.RawMessage(args), json.RawMessage(plan)
	if err := json.Unmarshal([]byte(authority), &e.Authority); err != nil {
		return e, fmt.Errorf("decode authority of %s: %w", e.ID, err)
	}
	if before != "" {
		e.Before = new(Before)
		if err := json.Unmarshal([]byte(before), e.Before); err != nil {
			return e, fmt.Errorf("decode former state of %s: %w", e.ID, err)
		}
	}
	return e, nil
}

// Get reads one effect, or ErrNotFound.
func Get(q store.Querier, id protocol.EffectID) (Effect, error) {
	e, err := scan(q.QueryRow(`SELECT `+columns+` FROM effects WHERE effect_id = ?`, string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return e, ErrNotFound
	}
	if err != nil {
		return e, fmt.Errorf("read effect: %w", err)
	}
	return e, nil
}

// OfRun reads the effects of a run in the order they were planned.
func OfRun(q store.Querier, run protocol.RunID) ([]Effect, error) {
	return query(q, `SELECT `+columns+` FROM effects WHERE run_id = ? ORDER BY planned_at_ms, message_id, call_index`, string(run))
}

// InDoubt reads every effect that is started: after a boot, nobody knows how
// they ended.
func InDoubt(q store.Querier) ([]Effect, error) {
	return query(q, `SELECT `+columns+` FROM effects WHERE state = 'started' ORDER BY started_at_ms`)
}

func query(q store.Querier, sqlText string, args ...any) ([]Effect, error) {
	rows, err := q.Query(sqlText, args...)
	if err != nil {
		return nil, fmt.Errorf("read effects: %w", err)
	}
	defer rows.Close()
	var out []Effect
	for rows.Next() {
		e, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("read effects: %w", err)
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// Authorise notes what allows a planned effect.
func Authorise(tx *store.Tx, id protocol.EffectID, a protocol.Authority) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode authority: %w", err)
	}
	return move(tx, id, "authorise effect", `state = 'authorised', authority_json = ?`, `state = 'planned'`, string(raw))
}

// Replan stores another plan for an effect that has not started, because the
// machine changed; what allowed the old plan no longer counts.
func Replan(tx *store.Tx, e Effect) error {
	_, before, err := encode(e)
	if err != nil {
		return err
	}
	return move(tx, e.ID, "replan effect", `state = 'planned', authority_json = '{}', plan_json = ?, plan_hash = ?, target = ?, before_json = ?`,
		`state IN ('planned','authorised')`, string(e.Plan), e.PlanHash, e.Target, before)
}

// SetResult stores what the model is told of an effect whose outcome is unknown,
// once a person has said what to make of it.
func SetResult(tx *store.Tx, id protocol.EffectID, text string, isError bool) error {
	return move(tx, id, "settle effect", `result_text = ?, result_error = ?`, `state = 'unknown' AND result_text = ''`, text, isError)
}

// Start notes that an authorised effect begins, and returns the permit to do so,
// good once and only after this transaction has been committed.
func Start(tx *store.Tx, id protocol.EffectID, nowMs int64) (*Permit, error) {
	if err := move(tx, id, "start effect", `state = 'started', started_at_ms = ?`, `state = 'authorised'`, nowMs); err != nil {
		return nil, err
	}
	p := &Permit{effect: id}
	tx.OnCommit(func() { p.good.Store(true) })
	return p, nil
}

func move(tx *store.Tx, id protocol.EffectID, act, set, where string, args ...any) error {
	res, err := tx.Exec(`UPDATE effects SET `+set+` WHERE effect_id = ? AND `+where, append(args, string(id))...)
	if err != nil {
		return fmt.Errorf("%s %s: %w", act, id, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("%s %s: %w", act, id, err)
	}
	if n == 0 {
		return fmt.Errorf("%s %s: %w", act, id, ErrWrongState)
	}
	return nil
}

// Permit is the right to begin one effect.
type Permit struct {
	effect protocol.EffectID
	good   atomic.Bool
}

// ReadPermit is the right to begin something that changes nothing and goes
// nowhere, which needs no row before it begins.
func ReadPermit() *Permit {
	p := &Permit{}
	p.good.Store(true)
	return p
}

// Begin runs do under the permit, or reports ErrNoPermit without running it. It
// is the only way a tool is carried out. Safe for concurrent use: one of several
// begins.
func (p *Permit) Begin(ctx context.Context, do func(context.Context) error) error {
	if p == nil || !p.good.CompareAndSwap(true, false) {
		return ErrNoPermit
	}
	return do(ctx)
}
