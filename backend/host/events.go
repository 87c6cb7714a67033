package host

import (
	"context"
	"errors"

	"countersign/backend/approval"
	"countersign/backend/effect"
	"countersign/backend/gateway"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/registry"
	"countersign/backend/run"
	"countersign/backend/session"
	"countersign/backend/store"
)

// fanOut sends what is shown while a run works to every client.
type fanOut struct{ h *Host }

// Chat implements run.Events.
func (f fanOut) Chat(e protocol.ChatEvent) { f.h.gateway.Broadcast(protocol.EventChat, e) }

// Agent implements run.Events.
func (f fanOut) Agent(e protocol.AgentEvent) { f.h.gateway.Broadcast(protocol.EventAgent, e) }

// changeLog offers the store's change log to the gateway.
type changeLog struct{ db *store.DB }

// Last implements gateway.ChangeLog.
func (c changeLog) Last(context.Context) (int64, error) { return c.db.LastSeq(), nil }

// Since implements gateway.ChangeLog.
func (c changeLog) Since(ctx context.Context, after int64, limit int) ([]protocol.ChangeEvent, bool, error) {
	changes, complete, err := c.db.Changes(ctx, after, limit)
	out := make([]protocol.ChangeEvent, len(changes))
	for i, ch := range changes {
		out[i] = protocol.ChangeEvent{Seq: ch.Seq, Kind: ch.Kind, Key: ch.Key, Version: ch.Version, AtMs: ch.AtMs}
	}
	return out, complete, err
}

// project turns committed changes into the events of clients: it reads what the
// key names as it is now, which is never older than the change. It runs on the
// store's goroutine for subscribers, in commit order.
func (h *Host) project(changes []store.Change) {
	for _, c := range changes {
		if err := h.projectOne(c); err != nil {
			h.log.Warn("tell clients of a change", "kind", c.Kind, "key", c.Key, "cause", err)
		}
		h.gateway.Broadcast(protocol.EventChange, protocol.ChangeEvent{Seq: c.Seq, Kind: c.Kind, Key: c.Key, Version: c.Version, AtMs: c.AtMs})
	}
	h.state.poke()
}

func (h *Host) projectOne(c store.Change) error {
	return h.db.Read(context.Background(), func(tx *store.ReadTx) error {
		switch c.Kind {
		case session.ChangeMessage:
			return h.tellMessage(tx, protocol.MessageID(c.Key))
		case session.ChangeSession:
			return h.tellSession(tx, protocol.SessionKey(c.Key), "patch")
		case queue.ChangeRun:
			return h.tellRun(tx, protocol.RunID(c.Key))
		case approval.ChangeApproval:
			return h.tellApproval(tx, protocol.ApprovalID(c.Key))
		case approval.ChangeQuestion:
			return h.tellQuestion(tx, protocol.QuestionID(c.Key))
		case effect.ChangeReceipt:
			return h.tellReceipt(tx, protocol.ReceiptID(c.Key))
		case registry.ChangeAgent:
			h.gateway.Broadcast(protocol.EventSettings, protocol.SettingsEvent{Settings: h.settings()})
		}
		return nil
	})
}

func (h *Host) tellMessage(tx *store.ReadTx, id protocol.MessageID) error {
	m, key, err := session.Message(tx, id)
	if errors.Is(err, session.ErrNotFound) {
		return nil // erased meanwhile
	}
	if err != nil {
		return err
	}
	prev, err := session.PrevSeq(tx, key, m.Seq)
	if err != nil {
		return err
	}
	h.gateway.Broadcast(protocol.EventSessionMessage, protocol.SessionMessageEvent{
		SessionKey: key, AgentID: key.Agent(), Message: m, MessageID: m.ID, MessageSeq: m.Seq, PrevSeq: prev, RunID: m.RunID,
	})
	return nil
}

func (h *Host) tellSession(tx *store.ReadTx, key protocol.SessionKey, reason string) error {
	e := protocol.SessionsChangedEvent{SessionKey: key, AgentID: key.Agent(), Reason: reason, TsMs: h.nowMs()}
	s, err := session.Get(tx, key)
	switch {
	case errors.Is(err, session.ErrNotFound):
		e.Reason = "delete"
	case err != nil:
		return err
	default:
		row, err := run.SessionRow(tx, s)
		if err != nil {
			return err
		}
		e.Row = &row
	}
	h.gateway.Broadcast(protocol.EventSessionsChanged, e)
	return nil
}

// tellRun tells of a run, and of its session, whose status follows from it.
func (h *Host) tellRun(tx *store.ReadTx, id protocol.RunID) error {
	r, err := queue.Get(tx, id)
	if err != nil {
		return err
	}
	view, err := run.View(tx, r)
	if err != nil {
		return err
	}
	h.gateway.Broadcast(protocol.EventRun, protocol.RunEvent{Run: view})
	return h.tellSession(tx, r.SessionKey, "run")
}

func (h *Host) tellApproval(tx *store.ReadTx, id protocol.ApprovalID) error {
	a, err := approval.Get(tx, id)
	if err != nil {
		return err
	}
	if a.State == protocol.ApprovalPending {
		h.gateway.Broadcast(protocol.EventApprovalRequested, a)
		return nil
	}
	by := ""
	if a.Resolver != nil {
		by = a.Resolver.Name
	}
	h.gateway.Broadcast(protocol.EventApprovalResolved, protocol.ApprovalResolvedEvent{
		ID: a.ID, Decision: a.Decision, ResolvedBy: by, TsMs: a.ResolvedAtMs, Request: a.Request, Approval: a,
	})
	return nil
}

func (h *Host) tellQuestion(tx *store.ReadTx, id protocol.QuestionID) error {
	q, err := approval.GetQuestion(tx, id)
	if err != nil {
		return err
	}
	event := protocol.EventQuestionRequested
	if q.State != "pending" {
		event = protocol.EventQuestionResolved
	}
	h.gateway.Broadcast(event, protocol.QuestionEvent{Question: q})
	return nil
}

func (h *Host) tellReceipt(tx *store.ReadTx, id protocol.ReceiptID) error {
	r, err := effect.GetReceipt(tx, id)
	if err != nil {
		return err
	}
	h.gateway.Broadcast(protocol.EventReceipt, protocol.ReceiptEvent{Receipt: r})
	if r.Undo.Undoes == "" {
		return nil
	}
	undone, err := effect.GetReceipt(tx, r.Undo.Undoes)
	if err != nil {
		return err
	}
	h.gateway.Broadcast(protocol.EventReceipt, protocol.ReceiptEvent{Receipt: undone})
	return nil
}

// devices offers the registry's devices to the gateway.
type devices struct{ h *Host }

var _ gateway.Devices = devices{}
