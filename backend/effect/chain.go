package effect

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

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

// Break is the first receipt at which the chain does not hold.
type Break struct {
	Seq int64
	ID  protocol.ReceiptID
	Why string
}

// Verify walks the whole chain from its beginning. It returns the head as
// computed and, when a link does not hold, where and why. That the newest links
// are still there only an anchor kept elsewhere can tell; see HashAt.
func Verify(q store.Querier) (head ChainHead, count int64, broken *Break, err error) {
	rows, err := q.Query(`SELECT seq, receipt_id, effect_id, tool, class, outcome, sentence, target, undoes, ended_at_ms, payload_json, prev, payload_hash, hash
		FROM receipts ORDER BY seq`)
	if err != nil {
		return head, 0, nil, fmt.Errorf("walk receipts: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var r protocol.Receipt
		var raw string
		if err := rows.Scan(&r.Seq, &r.ID, &r.EffectID, &r.Tool, &r.Class, &r.Outcome, &r.Sentence, &r.Target, &r.Undo.Undoes, &r.EndedAtMs,
			&raw, &r.Chain.Prev, &r.Chain.PayloadHash, &r.Chain.Hash); err != nil {
			return head, count, nil, fmt.Errorf("walk receipts: %w", err)
		}
		if why := checkLink(head, r, raw); why != "" {
			return head, count, &Break{Seq: r.Seq, ID: r.ID, Why: why}, nil
		}
		head, count = ChainHead{Seq: r.Seq, Hash: r.Chain.Hash}, count+1
	}
	return head, count, nil, rows.Err()
}

// tombstone stands in a receipt whose content was lawfully erased.
const tombstone = ""

// checkLink says why the row r with the content raw does not follow head; empty
// means that it does.
func checkLink(head ChainHead, r protocol.Receipt, raw string) string {
	switch {
	case r.Seq != head.Seq+1:
		return "a receipt before it is missing"
	case r.Chain.Prev != head.Hash:
		return "it does not follow the receipt before it"
	case raw != tombstone && digest([]byte(raw)) != r.Chain.PayloadHash:
		return "its content was changed"
	case chainHash(r.Chain.Prev, r.Chain.PayloadHash) != r.Chain.Hash:
		return "its hash was changed"
	case raw != tombstone && !listedAs(r, raw):
		return "what lists and searches show of it was changed"
	}
	return ""
}

// listedAs compares the columns by which a receipt is found with its content,
// which alone the hash covers.
func listedAs(r protocol.Receipt, raw string) bool {
	var p payload
	if json.Unmarshal([]byte(raw), &p) != nil {
		return false
	}
	return p.ID == r.ID && p.EffectID == r.EffectID && p.Tool == r.Tool && p.Class == r.Class && p.Outcome == r.Outcome &&
		p.Sentence == r.Sentence && p.Target == r.Target && p.Undo.Undoes == r.Undo.Undoes && p.EndedAtMs == r.EndedAtMs
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
