// Package approval owns what is asked of people: approvals bound to the hash of
// one plan, the grants that come from them, and the structured questions of
// agents.
//
// States of an approval: pending → allowed | denied | expired | cancelled, and
// no other. Deciding is one conditional UPDATE; whoever comes second is told who
// decided, when and where. An allowed approval is used up once (Consume). Silence
// decides nothing.
//
// States of a question: pending → answered | cancelled, and no other.
package approval

import (
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

//go:embed schema.sql
var ddl string

// Schema declares the tables of this owner.
func Schema() store.Schema { return store.Schema{Owner: "approval", DDL: ddl} }

// Kinds of the changes this owner emits; the key is the approval's or question's
// id.
const (
	ChangeApproval = "approval"
	ChangeQuestion = "question"
)

// Errors a caller branches on.
var (
	// ErrNotFound: there is no such approval, grant or question.
	ErrNotFound = errors.New("this question does not exist")
	// ErrAmbiguous: a prefix fits several.
	ErrAmbiguous = errors.New("several questions begin with this id; give more of it")
	// ErrPlanHash: the caller saw another plan than the one that is asked.
	ErrPlanHash = errors.New("the plan you saw is not the one that is asked")
	// ErrConsumed: the approval was used before.
	ErrConsumed = errors.New("this approval was used already")
	// ErrNotOffered: the decision is not among those offered.
	ErrNotOffered = errors.New("this decision is not offered for this plan")
)

// DecidedError reports an approval that was decided before, with the row as it
// is.
type DecidedError struct {
	Approval protocol.Approval
}

// Error says who decided.
func (e *DecidedError) Error() string {
	who := "the host"
	if e.Approval.Resolver != nil {
		who = e.Approval.Resolver.Name
	}
	return fmt.Sprintf("this was decided already: %s by %s", e.Approval.State, who)
}

// Ask stores a new pending approval.
func Ask(tx *store.Tx, a protocol.Approval) error {
	raw, err := json.Marshal(a.Request)
	if err != nil {
		return fmt.Errorf("encode approval: %w", err)
	}
	_, err = tx.Exec(`INSERT INTO approvals (approval_id, seq, run_id, session_key, effect_id, plan_hash, request_json, state, created_at_ms)
		VALUES (?, (SELECT coalesce(max(seq), 0) + 1 FROM approvals), ?, ?, ?, ?, ?, 'pending', ?)`,
		string(a.ID), string(a.Request.RunID), string(a.Request.SessionKey), string(a.Request.EffectID), a.Request.PlanHash, string(raw), a.CreatedAtMs)
	if err != nil {
		return fmt.Errorf("store approval: %w", err)
	}
	tx.Emit(store.Change{Kind: ChangeApproval, Key: string(a.ID), Version: 1, AtMs: a.CreatedAtMs})
	return nil
}

const columns = `approval_id, request_json, state, decision, reason, resolver_json, created_at_ms, resolved_at_ms, version`

func scan(row interface{ Scan(...any) error }) (protocol.Approval, error) {
	var a protocol.Approval
	var request, resolver string
	if err := row.Scan(&a.ID, &request, &a.State, &a.Decision, &a.Reason, &resolver, &a.CreatedAtMs, &a.ResolvedAtMs, &a.Version); err != nil {
		return a, err
	}
	if err := json.Unmarshal([]byte(request), &a.Request); err != nil {
		return a, fmt.Errorf("decode approval %s: %w", a.ID, err)
	}
	r, err := decodeResolver(resolver)
	a.Resolver = r
	return a, err
}

func decodeResolver(raw string) (*protocol.Resolver, error) {
	if raw == "" {
		return nil, nil
	}
	r := new(protocol.Resolver)
	if err := json.Unmarshal([]byte(raw), r); err != nil {
		return nil, fmt.Errorf("decode resolver: %w", err)
	}
	return r, nil
}

func query(q store.Querier, sqlText string, args ...any) ([]protocol.Approval, error) {
	rows, err := q.Query(sqlText, args...)
	if err != nil {
		return nil, fmt.Errorf("read approvals: %w", err)
	}
	defer rows.Close()
	out := []protocol.Approval{}
	for rows.Next() {
		a, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("read approvals: %w", err)
		}
		out = append(out, a)
	}
	return out, rows.Err()
}

// minPrefix is the least of an identifier that is looked up, in bytes; maxRune
// ends the range of all that begin with it.
const (
	minPrefix = 4
	maxRune   = "\U0010FFFF"
)

// Get reads an approval by its id or a prefix of at least four characters that
// fits no other.
func Get(q store.Querier, id protocol.ApprovalID) (protocol.Approval, error) {
	if len(id) < minPrefix {
		return protocol.Approval{}, ErrNotFound
	}
	// A range, not LIKE: an identifier has no wildcards, and the index serves it.
	found, err := query(q, `SELECT `+columns+` FROM approvals WHERE approval_id >= ?1 AND approval_id < ?2 ORDER BY approval_id LIMIT 2`,
		string(id), string(id)+maxRune)
	switch {
	case err != nil:
		return protocol.Approval{}, err
	case len(found) == 0:
		return protocol.Approval{}, ErrNotFound
	case len(found) > 1 && found[0].ID != id:
		return protocol.Approval{}, ErrAmbiguous
	}
	return found[0], nil
}

// Pending reads what waits, oldest first; an empty run selects all.
func Pending(q store.Querier, run protocol.RunID) ([]protocol.Approval, error) {
	return query(q, `SELECT `+columns+` FROM approvals WHERE state = 'pending' AND (?1 = '' OR run_id = ?1) ORDER BY seq`, string(run))
}

// List reads the newest approvals in any state, oldest first.
func List(q store.Querier, key protocol.SessionKey, limit int) ([]protocol.Approval, error) {
	return query(q, `SELECT `+columns+` FROM (SELECT * FROM approvals WHERE ?1 = '' OR session_key = ?1 ORDER BY seq DESC LIMIT ?2) ORDER BY seq`, string(key), limit)
}

// OfEffect reads the newest approval of an effect; ok is false when there is
// none.
func OfEffect(q store.Querier, id protocol.EffectID) (a protocol.Approval, ok bool, err error) {
	a, err = scan(q.QueryRow(`SELECT `+columns+` FROM approvals WHERE effect_id = ? ORDER BY seq DESC LIMIT 1`, string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return a, false, nil
	}
	if err != nil {
		return a, false, fmt.Errorf("read approval: %w", err)
	}
	return a, true, nil
}

// Verdict is a decision with who made it.
type Verdict struct {
	Decision protocol.Decision
	Reason   string
	// PlanHash, when given, is the hash that was shown.
	PlanHash string
	Resolver protocol.Resolver
	// Mask hides the secrets of the request, as JSON, which nobody has to read any
	// more once it is decided; nil leaves it as it was asked.
	Mask func(json.RawMessage) json.RawMessage
}

// Decide decides a pending approval. A repeat of the same decision returns the
// row as it is; another one returns *DecidedError.
func Decide(tx *store.Tx, id protocol.ApprovalID, v Verdict, nowMs int64) (protocol.Approval, error) {
	a, err := Get(tx, id)
	if err != nil {
		return a, err
	}
	if v.PlanHash != "" && v.PlanHash != a.Request.PlanHash {
		return a, ErrPlanHash
	}
	state := protocol.ApprovalDenied
	if v.Decision != protocol.Deny {
		state = protocol.ApprovalAllowed
	}
	if a.State == protocol.ApprovalPending && !offered(a, v.Decision) {
		return a, ErrNotOffered
	}
	changed, err := settle(tx, a, state, v, nowMs)
	if err != nil {
		return a, err
	}
	now, err := Get(tx, a.ID)
	if err != nil {
		return a, err
	}
	if !changed && now.Decision != v.Decision {
		return now, &DecidedError{Approval: now}
	}
	return now, nil
}

// offered says whether a pending approval can be decided so. Refusing is always
// possible, and what nobody could be shown whole can only be refused, whatever
// the request says.
func offered(a protocol.Approval, d protocol.Decision) bool {
	if d == protocol.Deny {
		return true
	}
	return !a.Request.Truncated && slices.Contains(a.Request.AllowedDecisions, d)
}

func settle(tx *store.Tx, a protocol.Approval, state protocol.ApprovalState, v Verdict, nowMs int64) (bool, error) {
	resolver, err := json.Marshal(v.Resolver)
	if err != nil {
		return false, fmt.Errorf("encode resolver: %w", err)
	}
	request, err := json.Marshal(a.Request)
	if err != nil {
		return false, fmt.Errorf("encode approval: %w", err)
	}
	if v.Mask != nil {
		request = v.Mask(request)
	}
	res, err := tx.Exec(`UPDATE approvals SET state = ?, decision = ?, reason = ?, request_json = ?, resolver_json = ?, resolved_at_ms = ?, version = version + 1
		WHERE approval_id = ? AND state = 'pending'`, string(state), string(v.Decision), v.Reason, string(request), string(resolver), nowMs, string(a.ID))
	if err != nil {
		return false, fmt.Errorf("decide approval: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("decide approval: %w", err)
	}
	if n == 1 {
		tx.Emit(store.Change{Kind: ChangeApproval, Key: string(a.ID), AtMs: nowMs})
	}
	return n == 1, nil
}

// Cancel ends every pending approval and question of a run, with the reason why
// nobody needs to decide any more. mask is as in Verdict. It touches nothing for an
// empty run.
func Cancel(tx *store.Tx, run protocol.RunID, reason string, mask func(json.RawMessage) json.RawMessage, nowMs int64) error {
	if run == "" {
		return nil // an empty run selects those of all runs
	}
	pending, err := Pending(tx, run)
	if err != nil {
		return err
	}
	host := protocol.Resolver{Kind: "system", Name: "Countersign"}
	for _, a := range pending {
		if _, err := settle(tx, a, protocol.ApprovalCancelled, Verdict{Reason: reason, Resolver: host, Mask: mask}, nowMs); err != nil {
			return err
		}
	}
	return cancelQuestions(tx, run, nowMs)
}

// Consume uses up an allowed approval for the plan it was given for: once, and
// for no other plan.
func Consume(tx *store.Tx, id protocol.ApprovalID, planHash string, nowMs int64) error {
	res, err := tx.Exec(`UPDATE approvals SET consumed_at_ms = ? WHERE approval_id = ? AND state = 'allowed' AND plan_hash = ? AND consumed_at_ms = 0`,
		nowMs, string(id), planHash)
	if err != nil {
		return fmt.Errorf("use approval: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("use approval: %w", err)
	}
	if n == 0 {
		return ErrConsumed
	}
	return nil
}
