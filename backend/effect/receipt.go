package effect

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

// Ending is how an effect ended, and all that its receipt tells.
type Ending struct {
	ReceiptID protocol.ReceiptID
	Outcome   protocol.Outcome
	Evidence  protocol.Evidence
	// Facts fill the sentence.
	Facts Facts
	// ResultText is what the model reads.
	ResultText string
	IsError    bool
	Taint      protocol.Taint
	Sources    []protocol.TaintSource
	Origin     protocol.ReceiptOrigin
	Represents string
	// AfterSHA256 is what the changed file holds now; with Before it can be
	// undone.
	AfterSHA256 string
	// NoUndo says why it cannot be undone, where that is not plain.
	NoUndo string
	// Undoes names the receipt that this effect took back.
	Undoes protocol.ReceiptID
	// Mask hides secrets in what is kept for people.
	Mask func(string) string
}

// payload is what a receipt's hash covers. Handle is not shown.
type payload struct {
	protocol.Receipt
	Handle *handle `json:"handle,omitempty"`
}

// handle is what undo needs.
type handle struct {
	Before      Before `json:"before"`
	AfterSHA256 string `json:"afterSha256"`
}

// endings say from which states an effect comes to each outcome. What changes
// the world is never done or failed without having been started on disk.
var endings = map[protocol.Outcome]string{
	protocol.OutcomeDone:    `(state = 'started' OR state = 'planned' AND repeat IN ('read','local'))`,
	protocol.OutcomeFailed:  `(state = 'started' OR state = 'planned' AND repeat IN ('read','local'))`,
	protocol.OutcomeUnknown: `state = 'started'`,
	protocol.OutcomeDenied:  `state = 'planned'`,
	protocol.OutcomeStopped: `state IN ('planned','authorised','started')`,
}

// Finish ends an effect that has not ended and writes its receipt, or reports
// ErrWrongState when its state does not permit the outcome. Nobody carries its
// plan out any more, so that what the row keeps of it is masked as the receipt is.
func Finish(tx *store.Tx, e Effect, end Ending, nowMs int64) (protocol.Receipt, error) {
	from, known := endings[end.Outcome]
	if !known {
		return protocol.Receipt{}, fmt.Errorf("finish effect %s as %q: %w", e.ID, end.Outcome, ErrWrongState)
	}
	var startedMs int64
	err := tx.QueryRow(`SELECT started_at_ms FROM effects WHERE effect_id = ?`, string(e.ID)).Scan(&startedMs)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return protocol.Receipt{}, fmt.Errorf("finish effect %s: %w", e.ID, err)
	}
	if startedMs > 0 {
		end.Facts.NeverStarted = false // the row knows better than its caller
	}
	e, end = masked(e, end)
	authority, err := json.Marshal(e.Authority)
	if err != nil {
		return protocol.Receipt{}, fmt.Errorf("encode authority: %w", err)
	}
	err = move(tx, e.ID, "finish effect", `state = ?, args_json = ?, plan_json = ?, target = ?, authority_json = ?, result_text = ?, result_error = ?,
			receipt_id = ?, taint = ?, ended_at_ms = ?`,
		from, string(end.Outcome), string(e.Args), string(e.Plan), e.Target, string(authority), end.ResultText, end.IsError,
		string(end.ReceiptID), string(end.Taint), nowMs)
	if err != nil {
		return protocol.Receipt{}, err
	}
	return write(tx, e, end, nowMs)
}

// Record stores an effect that began without a row, because it only read, and
// its receipt.
func Record(tx *store.Tx, e Effect, end Ending, nowMs int64) (protocol.Receipt, error) {
	e, end = masked(e, end) // what is no longer needed is not written even once
	if err := Insert(tx, e); err != nil {
		return protocol.Receipt{}, err
	}
	return Finish(tx, e, end, nowMs)
}

func write(tx *store.Tx, e Effect, end Ending, nowMs int64) (protocol.Receipt, error) {
	r := protocol.Receipt{
		ID: end.ReceiptID, EffectID: e.ID, Class: e.Class, Tool: e.Tool, Args: e.Args, Target: e.Target,
		Represents: end.Represents, Origin: end.Origin, Taint: end.Sources, Authority: e.Authority, Outcome: end.Outcome, Evidence: end.Evidence,
		StartedAtMs: e.StartedMs, EndedAtMs: nowMs,
	}
	r.Sentence = Sentence(r, end.Facts)
	if end.Mask != nil {
		r.Sentence = end.Mask(r.Sentence)
	}
	r.Sentence = strings.ToValidUTF8(r.Sentence, "�")
	h := undoHandle(e, end)
	r.Undo = protocol.UndoState{Available: h != nil, Undoes: end.Undoes}
	if h == nil {
		r.Undo.Reason = noUndo(e, end)
	}
	raw, err := json.Marshal(payload{Receipt: r, Handle: h})
	if err != nil {
		return r, fmt.Errorf("encode receipt: %w", err)
	}
	if err := link(tx, &r, raw); err != nil {
		return r, err
	}
	res, err := tx.Exec(`INSERT INTO receipts (receipt_id, effect_id, run_id, session_key, tool, class, outcome, sentence, target, undoes,
			payload_json, prev, payload_hash, hash, ended_at_ms)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(r.ID), string(e.ID), string(e.RunID), string(e.SessionKey), r.Tool, string(r.Class), string(r.Outcome), r.Sentence, r.Target, string(end.Undoes),
		string(raw), r.Chain.Prev, r.Chain.PayloadHash, r.Chain.Hash, nowMs)
	if err != nil {
		return r, fmt.Errorf("write receipt: %w", err)
	}
	if r.Seq, err = res.LastInsertId(); err != nil {
		return r, fmt.Errorf("write receipt: %w", err)
	}
	tx.Emit(store.Change{Kind: ChangeReceipt, Key: string(r.ID), Version: r.Seq, AtMs: nowMs})
	return r, nil
}

// masked hides secrets in every word of an effect and its ending that is kept. It
// comes before the sentence is made: a word that was cut to fit would hide the
// secret from the mask and still show half of it. Masking twice changes nothing.
func masked(e Effect, end Ending) (Effect, Ending) {
	mask := end.Mask
	if mask == nil {
		mask = func(s string) string { return s }
	}
	for _, s := range []*string{
		&e.Authority.Clause, &e.Authority.Reason,
		&end.Evidence.Output, &end.Evidence.Error, &end.Evidence.Note, &end.NoUndo,
		&end.Facts.Where, &end.Facts.Pattern, &end.Facts.Question, &end.Facts.Answer,
	} {
		*s = mask(*s)
	}
	// The arguments stand in the plan too, and may hold a whole file.
	once := remembering(mask)
	e.Args, e.Plan, e.Target = MaskJSON(e.Args, once), MaskJSON(e.Plan, once), strings.ToValidUTF8(mask(e.Target), "�")
	end.Sources = slices.Clone(end.Sources)
	for i := range end.Sources {
		end.Sources[i].Source, end.Sources[i].Passage = mask(end.Sources[i].Source), mask(end.Sources[i].Passage)
	}
	return e, end
}

// remembering masks each text once.
func remembering(mask func(string) string) func(string) string {
	done := map[string]string{}
	return func(s string) string {
		out, ok := done[s]
		if !ok {
			out = mask(s)
			done[s] = out
		}
		return out
	}
}

// MaskJSON masks within the decoded strings, so that what remains is JSON. Numbers
// stay as they were written. What is no JSON becomes an empty object.
func MaskJSON(raw json.RawMessage, mask func(string) string) json.RawMessage {
	if !json.Valid(raw) {
		return json.RawMessage("{}")
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return json.RawMessage("{}")
	}
	out, err := json.Marshal(maskValue(v, mask))
	if err != nil {
		return json.RawMessage("{}")
	}
	return out
}

func maskValue(v any, mask func(string) string) any {
	switch v := v.(type) {
	case string:
		return mask(v)
	case []any:
		for i := range v {
			v[i] = maskValue(v[i], mask)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, inner := range v {
			out[mask(k)] = maskValue(inner, mask)
		}
		return out
	}
	return v
}

func undoHandle(e Effect, end Ending) *handle {
	if e.Before == nil || end.AfterSHA256 == "" || end.Outcome != protocol.OutcomeDone || end.NoUndo != "" {
		return nil
	}
	return &handle{Before: *e.Before, AfterSHA256: end.AfterSHA256}
}

func noUndo(e Effect, end Ending) string {
	switch {
	case end.NoUndo != "":
		return end.NoUndo
	case end.Outcome == protocol.OutcomeDenied:
		return "Nothing was done."
	case e.Class == protocol.ClassRead || e.Class == protocol.ClassAsk:
		return "It changed nothing."
	case e.Class == protocol.ClassCommand:
		return "What a command did cannot be taken back from here."
	}
	return "There is nothing to put back."
}

// The clause on an empty undoes is what lets SQLite use the index of undos.
const receiptColumns = `r.seq, r.receipt_id, r.effect_id, r.tool, r.class, r.outcome, r.session_key, r.run_id, r.ended_at_ms,
	r.payload_json, r.prev, r.payload_hash, r.hash,
	coalesce((SELECT u.receipt_id FROM receipts u WHERE u.undoes <> '' AND u.undoes = r.receipt_id AND u.outcome = 'done' LIMIT 1), '')`

// erased is what is said of a receipt of which only the tombstone is left.
const erased = "What this receipt said was erased."

func scanReceipt(row interface{ Scan(...any) error }) (payload, error) {
	var p, bare payload
	var raw string
	var undoneBy protocol.ReceiptID
	if err := row.Scan(&bare.Seq, &bare.ID, &bare.EffectID, &bare.Tool, &bare.Class, &bare.Outcome, &bare.Origin.SessionKey, &bare.Origin.RunID, &bare.EndedAtMs,
		&raw, &bare.Chain.Prev, &bare.Chain.PayloadHash, &bare.Chain.Hash, &undoneBy); err != nil {
		return p, err
	}
	if raw == tombstone {
		bare.Sentence, bare.Args, bare.Undo = erased, json.RawMessage("{}"), protocol.UndoState{Reason: erased, UndoneBy: undoneBy}
		return bare, nil
	}
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		return p, fmt.Errorf("decode receipt %d: %w", bare.Seq, err)
	}
	p.Seq, p.Chain = bare.Seq, bare.Chain
	if undoneBy != "" {
		p.Undo.Available, p.Undo.UndoneBy, p.Undo.Reason = false, undoneBy, "It was taken back already."
	}
	return p, nil
}

// minPrefix is the least of an identifier that is looked up, in bytes; maxRune
// ends the range of all that begin with it.
const (
	minPrefix = 4
	maxRune   = "\U0010FFFF"
)

// GetReceipt reads a receipt by its id or a prefix of at least four characters
// that fits no other.
func GetReceipt(q store.Querier, id protocol.ReceiptID) (protocol.Receipt, error) {
	p, err := getPayload(q, id)
	return p.Receipt, err
}

// Heads reads what a transcript shows of these receipts, in no order. One that
// does not exist is left out.
func Heads(q store.Querier, ids []protocol.ReceiptID) ([]protocol.ReceiptHead, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := q.Query(`SELECT `+receiptColumns+` FROM receipts r WHERE r.receipt_id IN (`+marks(len(ids))+`)`, strs(ids)...)
	if err != nil {
		return nil, fmt.Errorf("read heads of receipts: %w", err)
	}
	defer rows.Close()
	var out []protocol.ReceiptHead
	for rows.Next() {
		p, err := scanReceipt(rows)
		if err != nil {
			return nil, fmt.Errorf("read heads of receipts: %w", err)
		}
		out = append(out, protocol.ReceiptHead{
			ID: p.ID, Outcome: p.Outcome, Sentence: p.Sentence, ExitStatus: p.Evidence.ExitStatus, Signal: p.Evidence.Signal, UndoneBy: p.Undo.UndoneBy,
		})
	}
	return out, rows.Err()
}

func getPayload(q store.Querier, id protocol.ReceiptID) (payload, error) {
	if len(id) < minPrefix {
		return payload{}, ErrNotFound
	}
	// A range, not LIKE: an identifier has no wildcards, and the index serves it.
	rows, err := q.Query(`SELECT `+receiptColumns+` FROM receipts r WHERE r.receipt_id >= ?1 AND r.receipt_id < ?2 ORDER BY r.receipt_id LIMIT 2`,
		string(id), string(id)+maxRune)
	if err != nil {
		return payload{}, fmt.Errorf("read receipt: %w", err)
	}
	defer rows.Close()
	var found []payload
	for rows.Next() {
		p, err := scanReceipt(rows)
		if err != nil {
			return payload{}, fmt.Errorf("read receipt: %w", err)
		}
		found = append(found, p)
	}
	if err := rows.Err(); err != nil {
		return payload{}, fmt.Errorf("read receipt: %w", err)
	}
	if len(found) == 0 {
		return payload{}, ErrNotFound
	}
	if len(found) > 1 && found[0].ID != id {
		return payload{}, ErrAmbiguous
	}
	return found[0], nil
}

// UndoHandle reads what undo needs of a receipt that can be undone. A receipt
// that cannot returns ok false, with the reason in its Undo.
func UndoHandle(q store.Querier, id protocol.ReceiptID) (r protocol.Receipt, before Before, afterSHA256 string, ok bool, err error) {
	p, err := getPayload(q, id)
	if err != nil {
		return protocol.Receipt{}, Before{}, "", false, err
	}
	if p.Handle == nil || !p.Undo.Available {
		return p.Receipt, Before{}, "", false, nil
	}
	return p.Receipt, p.Handle.Before, p.Handle.AfterSHA256, true, nil
}

// ListReceipts reads one page of receipts, newest first, and how many fit in all.
func ListReceipts(q store.Querier, f protocol.ReceiptsListParams) (protocol.ReceiptsList, error) {
	limit := min(f.Limit, 500)
	if limit <= 0 {
		limit = 100
	}
	where, args := receiptFilter(f)
	out := protocol.ReceiptsList{Receipts: []protocol.Receipt{}}
	if err := q.QueryRow(`SELECT count(*) FROM receipts r WHERE `+where, args...).Scan(&out.Total); err != nil {
		return out, fmt.Errorf("count receipts: %w", err)
	}
	if f.BeforeSeq > 0 {
		where += ` AND r.seq < ?`
		args = append(args, f.BeforeSeq)
	}
	rows, err := q.Query(`SELECT `+receiptColumns+` FROM receipts r WHERE `+where+` ORDER BY r.seq DESC LIMIT ?`, append(args, limit+1)...)
	if err != nil {
		return out, fmt.Errorf("list receipts: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		p, err := scanReceipt(rows)
		if err != nil {
			return out, fmt.Errorf("list receipts: %w", err)
		}
		out.Receipts = append(out.Receipts, p.Receipt)
	}
	if len(out.Receipts) > limit {
		out.Receipts, out.HasMore = out.Receipts[:limit], true
	}
	return out, rows.Err()
}

func receiptFilter(f protocol.ReceiptsListParams) (where string, args []any) {
	parts := []string{"1"}
	add := func(clause string, values ...any) {
		parts, args = append(parts, clause), append(args, values...)
	}
	if s := strings.TrimSpace(f.Search); s != "" {
		like := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s) + "%"
		add(`(r.sentence LIKE ? ESCAPE '\' OR r.target LIKE ? ESCAPE '\' OR r.tool LIKE ? ESCAPE '\' OR r.receipt_id LIKE ? ESCAPE '\')`, like, like, like, like)
	}
	if f.SessionKey != "" {
		add(`r.session_key = ?`, f.SessionKey)
	}
	if f.RunID != "" {
		add(`r.run_id = ?`, string(f.RunID))
	}
	if f.Tool != "" {
		add(`r.tool = ?`, f.Tool)
	}
	if len(f.Classes) > 0 {
		add(`r.class IN (`+marks(len(f.Classes))+`)`, strs(f.Classes)...)
	}
	if len(f.Outcomes) > 0 {
		add(`r.outcome IN (`+marks(len(f.Outcomes))+`)`, strs(f.Outcomes)...)
	}
	return strings.Join(parts, " AND "), args
}

func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

func strs[S ~string](in []S) []any {
	out := make([]any, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}
