package approval

import (
	"fmt"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

// Grant is a standing permission for one exact plan in one window of a session.
type Grant struct {
	ID          string
	ApprovalID  protocol.ApprovalID
	AgentID     protocol.AgentID
	SessionID   protocol.SessionID
	Tool        string
	PlanHash    string
	Remaining   int
	ExpiresAtMs int64
}

// AddGrant stores a grant that a person gave with an approval.
func AddGrant(tx *store.Tx, g Grant, nowMs int64) error {
	_, err := tx.Exec(`INSERT INTO grants (grant_id, approval_id, agent_id, session_id, tool, plan_hash, remaining, created_at_ms, expires_at_ms)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		g.ID, string(g.ApprovalID), string(g.AgentID), string(g.SessionID), g.Tool, g.PlanHash, g.Remaining, nowMs, g.ExpiresAtMs)
	if err != nil {
		return fmt.Errorf("store grant: %w", err)
	}
	return nil
}

// Grants reads the grants of a session's window for one plan that have not been
// revoked or used up. One that has expired is among them: policy has the clock.
func Grants(q store.Querier, session protocol.SessionID, planHash string) ([]Grant, error) {
	rows, err := q.Query(`SELECT grant_id, approval_id, agent_id, session_id, tool, plan_hash, remaining, expires_at_ms FROM grants
		WHERE session_id = ? AND plan_hash = ? AND revoked_at_ms = 0 AND remaining <> 0 ORDER BY created_at_ms`, string(session), planHash)
	if err != nil {
		return nil, fmt.Errorf("read grants: %w", err)
	}
	defer rows.Close()
	var out []Grant
	for rows.Next() {
		var g Grant
		if err := rows.Scan(&g.ID, &g.ApprovalID, &g.AgentID, &g.SessionID, &g.Tool, &g.PlanHash, &g.Remaining, &g.ExpiresAtMs); err != nil {
			return nil, fmt.Errorf("read grants: %w", err)
		}
		out = append(out, g)
	}
	return out, rows.Err()
}

// ConsumeGrant uses a grant once, or reports ErrConsumed when it was revoked,
// used up or has expired meanwhile.
func ConsumeGrant(tx *store.Tx, id string, nowMs int64) error {
	res, err := tx.Exec(`UPDATE grants SET remaining = CASE WHEN remaining > 0 THEN remaining - 1 ELSE remaining END, used = used + 1, last_used_ms = ?1
		WHERE grant_id = ?2 AND revoked_at_ms = 0 AND remaining <> 0 AND (expires_at_ms = 0 OR expires_at_ms > ?1)`, nowMs, id)
	if err != nil {
		return fmt.Errorf("use grant: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("use grant: %w", err)
	}
	if n == 0 {
		return ErrConsumed
	}
	return nil
}
