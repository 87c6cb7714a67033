package effect

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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

// Finish ends an effect that has not ended and writes its receipt.
func Finish(tx *store.Tx, e Effect, end Ending, nowMs int64) (protocol.Receipt, error) {
	authority, err := json.Marshal(e.Authority)
	if err != nil {
		return protocol.Receipt{}, fmt.Errorf("encode authority: %w", err)
	}
	err = move(tx, e.ID, "finish effect", `state = ?, authority_json = ?, result_text = ?, result_error = ?, receipt_id = ?, taint = ?, ended_at_ms = ?`,
		`state IN ('planned','authorised','started')`,
		string(end.Outcome), string(authority), end.ResultText, end.IsError, string(end.ReceiptID), string(end.Taint), nowMs)
	if err != nil {
		return protocol.Receipt{}, err
	}
	return write(tx, e, end, nowMs)
}

// Record stores an effect that began without a row, because it only read, and
// its receipt.
func Record(tx *store.Tx, e Effect, end Ending, nowMs int64) (protocol.Receipt, error) {
	if err := Insert(tx, e); err != nil {
		return protocol.Receipt{}, err
	}
	return Finish(tx, e, end, nowMs)
}

func write(tx *store.Tx, e Effect, end Ending, nowMs int64) (protocol.Receipt, error) {
	mask := end.Mask
	if mask == nil {
		mask = func(s string) string { return s }
	}
	end.Evidence.Output = mask(end.Evidence.Output)
	end.Evidence.Error = mask(end.Evidence.Error)
	r := protocol.Receipt{
		ID: end.ReceiptID, EffectID: e.ID, Class: e.Class, Tool: e.Tool, Args: maskArgs(e.Args, mask), Target: mask(e.Target),
		Represents: end.Represents, Origin: end.Origin, Taint: end.Sources, Authority: e.Authority, Outcome: end.Outcome, Evidence: end.Evidence,
		StartedAtMs: e.StartedMs, EndedAtMs: nowMs,
	}
	r.Sentence = mask(Sentence(r, end.Facts))
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

// maskArgs masks within the decoded strings, so that what remains is JSON.
func maskArgs(args json.RawMessage, mask func(string) string) json.RawMessage {
	var v any
	if json.Unmarshal(args, &v) != nil {
		return json.RawMessage("{}")
	}
	raw, err := json.Marshal(maskValue(v, mask))
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
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
		for k := range v {
			v[k] = maskValue(v[k], mask)
		}
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

// link computes the chain: a payload hash, and a hash over it and the one before.
func link(tx *store.Tx, r *protocol.Receipt, raw []byte) error {
	prev, err := Head(tx)
	if err != nil {
		return err
	}
	r.Chain = protocol.ChainLink{Prev: prev.Hash, PayloadHash: digest(raw)}
	r.Chain.Hash = chainHash(prev.Hash, r.Chain.PayloadHash)
	return nil
}

func digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

func chainHash(prev, payloadHash string) string {
	return digest([]byte("countersign receipt v1\n" + prev + "\n" + payloadHash + "\n"))
}

// ChainHead is the newest link: how many receipts there are, and its hash.
type ChainHead struct {
	Seq  int64
	Hash string
}

// Head reads the newest link; an empty chain has the empty hash.
func Head(q store.Querier) (ChainHead, error) {
	var h ChainHead
	err := q.QueryRow(`SELECT seq, hash FROM receipts ORDER BY seq DESC LIMIT 1`).Scan(&h.Seq, &h.Hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return h, fmt.Errorf("read chain head: %w", err)
	}
	return h, nil
}

const receiptColumns = `r.seq, r.payload_json, r.prev, r.payload_hash, r.hash, coalesce((SELECT u.receipt_id FROM receipts u WHERE u.undoes = r.receipt_id AND u.outcome = 'done' LIMIT 1), '')`

func scanReceipt(row interface{ Scan(...any) error }) (payload, error) {
	var p payload
	var raw string
	var seq int64
	var chain protocol.ChainLink
	var undoneBy protocol.ReceiptID
	if err := row.Scan(&seq, &raw, &chain.Prev, &chain.PayloadHash, &chain.Hash, &undoneBy); err != nil {
		return p, err
	}
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		return p, fmt.Errorf("decode receipt %d: %w", seq, err)
	}
	p.Seq, p.Chain = seq, chain
	if undoneBy != "" {
		p.Undo.Available, p.Undo.UndoneBy, p.Undo.Reason = false, undoneBy, "It was taken back already."
	}
	return p, nil
}

// GetReceipt reads a receipt by its id or a prefix of at least four characters
// that fits no other.
func GetReceipt(q store.Querier, id protocol.ReceiptID) (protocol.Receipt, error) {
	p, err := getPayload(q, id)
	return p.Receipt, err
}

func getPayload(q store.Querier, id protocol.ReceiptID) (payload, error) {
	if len(id) < 4 || strings.ContainsAny(string(id), "%_") {
		return payload{}, ErrNotFound
	}
	rows, err := q.Query(`SELECT `+receiptColumns+` FROM receipts r WHERE r.receipt_id LIKE ? || '%' ORDER BY r.receipt_id = ?1 DESC LIMIT 2`, string(id))
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
	if len(found) == 0 || len(found) > 1 && found[0].ID != id {
		return payload{}, ErrNotFound
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
	limit := f.Limit
	if limit <= 0 || limit > 500 {
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

// Break is the first receipt at which the chain does not hold.
type Break struct {
	Seq int64
	ID  protocol.ReceiptID
	Why string
}

// Verify walks the whole chain from its beginning. It returns the head as
// computed and, when a link does not hold, where and why.
func Verify(q store.Querier) (head ChainHead, count int64, broken *Break, err error) {
	rows, err := q.Query(`SELECT seq, receipt_id, payload_json, prev, payload_hash, hash FROM receipts ORDER BY seq`)
	if err != nil {
		return head, 0, nil, fmt.Errorf("walk receipts: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var id protocol.ReceiptID
		var raw, prev, payloadHash, hash string
		if err := rows.Scan(&seq, &id, &raw, &prev, &payloadHash, &hash); err != nil {
			return head, count, nil, fmt.Errorf("walk receipts: %w", err)
		}
		if why := checkLink(head, seq, raw, prev, payloadHash, hash); why != "" {
			return head, count, &Break{Seq: seq, ID: id, Why: why}, nil
		}
		head, count = ChainHead{Seq: seq, Hash: hash}, count+1
	}
	return head, count, nil, rows.Err()
}

// tombstone stands in a receipt whose content was lawfully erased.
const tombstone = ""

func checkLink(head ChainHead, seq int64, raw, prev, payloadHash, hash string) string {
	switch {
	case seq != head.Seq+1:
		return "a receipt before it is missing"
	case prev != head.Hash:
		return "it does not follow the receipt before it"
	case raw != tombstone && digest([]byte(raw)) != payloadHash:
		return "its content was changed"
	case chainHash(prev, payloadHash) != hash:
		return "its hash was changed"
	}
	return ""
}

// HashAt reads the hash of one link, to compare it with an anchor kept
// elsewhere; ok is false when there is no such link.
func HashAt(q store.Querier, seq int64) (hash string, ok bool, err error) {
	err = q.QueryRow(`SELECT hash FROM receipts WHERE seq = ?`, seq).Scan(&hash)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read link: %w", err)
	}
	return hash, true, nil
}
