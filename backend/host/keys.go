package host

import (
	"context"
	"errors"
	"strings"

	"countersign/backend/protocol"
	"countersign/backend/session"
	"countersign/backend/store"
)

// keyOf understands the session key of a call; agentID, when given, owns a bare
// one. A conversation that an earlier version stored under a key of another shape
// stays within reach by exactly that key, for a chat must not be lost to a rule.
func (h *Host) keyOf(ctx context.Context, raw string, agentID protocol.AgentID) (protocol.SessionKey, error) {
	key, refusal := protocol.ParseSessionKey(raw, agentID)
	former := formerKey(raw, agentID)
	if refusal == nil && key == former || len(former) > protocol.MaxSessionKey {
		return key, refusal
	}
	err := h.db.Read(ctx, func(tx *store.ReadTx) error {
		_, err := session.Get(tx, former)
		return err
	})
	switch {
	case err == nil:
		return former, nil
	case errors.Is(err, session.ErrNotFound):
		return key, refusal
	}
	return "", err
}

// formerKey is a key as it was stored before keys had a grammar.
func formerKey(raw string, agentID protocol.AgentID) protocol.SessionKey {
	raw = strings.TrimSpace(raw)
	if strings.HasPrefix(raw, "agent:") {
		return protocol.SessionKey(raw)
	}
	if agentID == "" {
		agentID = protocol.MainAgent
	}
	return protocol.NewSessionKey(agentID, raw)
}
