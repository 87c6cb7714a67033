package invariant

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
)

// whole asks SQLite whether the file is what it should be.
func whole(ctx context.Context, s *Scene) ([]string, error) {
	found, err := sentences(ctx, s, `PRAGMA integrity_check`)
	if err != nil {
		return []string{"it cannot be read: " + err.Error()}, nil
	}
	if len(found) == 1 && found[0] == "ok" {
		found = nil
	}
	var dangling int
	if err := s.DB.QueryRowContext(ctx, `SELECT count(*) FROM pragma_foreign_key_check`).Scan(&dangling); err != nil {
		return found, fmt.Errorf("check references: %w", err)
	}
	if dangling > 0 {
		found = append(found, fmt.Sprintf("%d rows refer to rows that are not there", dangling))
	}
	return found, nil
}

// link is one receipt of the chain.
type link struct {
	seq                            int64
	id, raw, prev, payload, linked string
}

// chain walks the receipts: each covers its own content and the one before.
func chain(ctx context.Context, s *Scene) ([]string, error) {
	list, err := rows(ctx, s, func(r *sql.Rows, l *link) error { return r.Scan(&l.seq, &l.id, &l.raw, &l.prev, &l.payload, &l.linked) },
		`SELECT seq, receipt_id, payload_json, prev, payload_hash, hash FROM receipts ORDER BY seq`)
	if err != nil {
		return nil, err
	}
	head, n := "", int64(0)
	for _, l := range list {
		n++
		switch {
		case l.seq != n:
			return []string{fmt.Sprintf("receipt %d is missing", n)}, nil
		case n > 1 && l.prev != head:
			return []string{fmt.Sprintf("receipt %d (%s) does not follow the one before", n, l.id)}, nil
		case l.raw != "" && digest(l.raw) != l.payload: // an erased one is empty and keeps its hash
			return []string{fmt.Sprintf("the content of receipt %d (%s) was changed", n, l.id)}, nil
		case digest("countersign receipt v1\n"+l.prev+"\n"+l.payload+"\n") != l.linked:
			return []string{fmt.Sprintf("the hash of receipt %d (%s) was changed", n, l.id)}, nil
		}
		head = l.linked
	}
	return nil, nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
