package host

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"countersign/backend/blob"
	"countersign/backend/effect"
	"countersign/backend/gateway"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/run"
	"countersign/backend/session"
	"countersign/backend/store"
)

func (h *Host) chatSend(ctx context.Context, c gateway.Caller, p protocol.ChatSendParams) (protocol.ChatSendResult, error) {
	key, err := h.keyOf(ctx, p.SessionKey, p.AgentID)
	if err != nil {
		return protocol.ChatSendResult{}, err
	}
	return h.admit(ctx, c, run.Admission{
		SessionKey: key, Key: protocol.RunID(p.IdempotencyKey), Text: p.Message, Thinking: p.Thinking, Replace: p.ReplaceMessageID,
		ExpectedSession: p.SessionID, ExpectedLeaf: p.ExpectedLeafEntryID,
	}, p.Attachments)
}

func (h *Host) admit(ctx context.Context, c gateway.Caller, a run.Admission, attachments []protocol.ChatAttachment) (protocol.ChatSendResult, error) {
	for _, at := range attachments {
		content, err := base64.StdEncoding.DecodeString(at.Content)
		if err != nil {
			return protocol.ChatSendResult{}, invalid(fmt.Sprintf("The attachment %s is not valid base64.", at.FileName))
		}
		a.Attachments = append(a.Attachments, run.Attachment{Name: at.FileName, MimeType: at.MimeType, Content: content})
	}
	a.Origin, a.Channel, a.Sender = protocol.OriginOwner, channelOf(c), "you"
	target, err := json.Marshal(map[string]string{"channel": a.Channel})
	if err != nil {
		return protocol.ChatSendResult{}, fmt.Errorf("encode reply target: %w", err)
	}
	a.ReplyTarget = target
	res, err := h.runs.Admit(ctx, a)
	if err == nil {
		h.used(ctx)
	}
	return res, err
}

// Limits of one history page: messages, and bytes of their JSON.
const (
	historyDefault = 200
	historyMax     = 1000
	historyBytes   = 6 << 20
)

func (h *Host) chatHistory(ctx context.Context, _ gateway.Caller, p protocol.ChatHistoryParams) (protocol.ChatHistory, error) {
	key, err := h.keyOf(ctx, p.SessionKey, p.AgentID)
	if err != nil {
		return protocol.ChatHistory{}, err
	}
	limit := p.Limit
	if limit <= 0 || limit > historyMax {
		limit = historyDefault
	}
	// The text so far is taken before the transcript is read, so that what streams
	// is seen in one of the two.
	out := protocol.ChatHistory{SessionKey: key, Messages: []protocol.Message{}, InFlightRun: h.runs.InFlight(key), PendingInputs: protocol.PendingInputs{Items: []protocol.PendingInput{}}}
	err = h.db.Read(ctx, func(tx *store.ReadTx) error {
		out.LastSeq = tx.Seq()
		s, err := session.Get(tx, key)
		if errors.Is(err, session.ErrNotFound) {
			return nil // a conversation that has not begun is empty
		}
		if err != nil {
			return err
		}
		return fillHistory(tx, s, p, limit, &out)
	})
	return out, err
}

func fillHistory(tx *store.ReadTx, s session.Session, p protocol.ChatHistoryParams, limit int, out *protocol.ChatHistory) error {
	row, err := run.SessionRow(tx, s)
	if err != nil {
		return err
	}
	out.SessionID, out.SessionInfo, out.TotalMessages = s.ID, &row, s.MessageCount
	if out.Messages, out.HasMore, err = session.Page(tx, s.ID, p.BeforeSeq, limit); err != nil {
		return err
	}
	trim(out)
	if out.Receipts, err = effect.Heads(tx, receiptsOf(out.Messages)); err != nil {
		return err
	}
	inputs, err := queue.PendingInputs(tx, s.Key)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		out.PendingInputs.Items = append(out.PendingInputs.Items, protocol.PendingInput{
			ID: string(in.RunID), RunID: in.RunID, Message: in.Message, AcceptedAtMs: in.AcceptedAtMs, State: "queued",
		})
	}
	out.PendingInputs.Total = len(inputs)
	runs, err := queue.List(tx, queue.Filter{SessionID: s.ID, Limit: limit})
	if err != nil {
		return err
	}
	out.Runs, err = views(tx, runs)
	return err
}

func receiptsOf(messages []protocol.Message) []protocol.ReceiptID {
	var out []protocol.ReceiptID
	for _, m := range messages {
		if m.ReceiptID != "" {
			out = append(out, m.ReceiptID)
		}
	}
	return out
}

// trim keeps a page within its budget of bytes by leaving out the oldest.
func trim(out *protocol.ChatHistory) {
	size := 0
	for i := len(out.Messages) - 1; i >= 0; i-- {
		raw, err := json.Marshal(out.Messages[i])
		if err != nil {
			continue
		}
		if size += len(raw); size > historyBytes && i < len(out.Messages)-1 {
			out.Messages, out.HasMore = out.Messages[i+1:], true
			return
		}
	}
}

func (h *Host) chatAbort(ctx context.Context, c gateway.Caller, p protocol.ChatAbortParams) (protocol.ChatAbortResult, error) {
	key, err := h.keyOf(ctx, p.SessionKey, p.AgentID)
	if err != nil {
		return protocol.ChatAbortResult{}, err
	}
	ids, err := h.runs.Abort(ctx, key, p.RunID, resolver(c).Name)
	if err != nil {
		return protocol.ChatAbortResult{}, err
	}
	if ids == nil {
		ids = []protocol.RunID{}
	}
	return protocol.ChatAbortResult{OK: true, Aborted: len(ids) > 0, RunIDs: ids}, nil
}

func (h *Host) attachment(_ context.Context, _ gateway.Caller, p protocol.AttachmentGetParams) (protocol.AttachmentGetResult, error) {
	content, err := h.blobs.Get(p.Blob)
	if errors.Is(err, blob.ErrNotFound) {
		return protocol.AttachmentGetResult{}, invalid("This attachment is no longer there.")
	}
	if err != nil {
		return protocol.AttachmentGetResult{}, err
	}
	return protocol.AttachmentGetResult{Blob: p.Blob, Size: int64(len(content)), Content: base64.StdEncoding.EncodeToString(content)}, nil
}

func (h *Host) sessionsList(ctx context.Context, _ gateway.Caller, p protocol.SessionsListParams) (protocol.SessionsList, error) {
	out := protocol.SessionsList{TsMs: h.nowMs(), Sessions: []protocol.SessionRow{}}
	f := session.Filter{AgentID: p.AgentID, Search: p.Search, Limit: min(max(p.Limit, 0), 1000), Offset: max(p.Offset, 0)}
	switch archived := p.Archived.(type) {
	case nil:
		f.Archived = new(bool)
	case bool:
		f.Archived = &archived
	case string:
		if archived != "all" {
			return out, invalid(`archived must be true, false or "all".`)
		}
	default:
		return out, invalid(`archived must be true, false or "all".`)
	}
	if p.Label != "" {
		f.Search = p.Label
	}
	if p.ActiveMinutes > 0 {
		f.SinceMs = h.o.Now().Add(-time.Duration(p.ActiveMinutes) * time.Minute).UnixMilli()
	}
	err := h.db.Read(ctx, func(tx *store.ReadTx) error {
		sessions, total, err := session.List(tx, f)
		if err != nil {
			return err
		}
		for _, s := range sessions {
			row, err := run.SessionRow(tx, s)
			if err != nil {
				return err
			}
			out.Sessions = append(out.Sessions, row)
		}
		out.Count, out.TotalCount = len(sessions), total
		return nil
	})
	if next := f.Offset + out.Count; next < out.TotalCount {
		out.HasMore, out.NextOffset = true, next
	}
	return out, err
}

func (h *Host) sessionsDescribe(ctx context.Context, _ gateway.Caller, p protocol.SessionsDescribeParams) (protocol.SessionsDescribeResult, error) {
	var out protocol.SessionsDescribeResult
	key, err := h.keyOf(ctx, p.Key, p.AgentID)
	if err != nil {
		return out, err
	}
	err = h.db.Read(ctx, func(tx *store.ReadTx) error {
		s, err := session.Get(tx, key)
		if errors.Is(err, session.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		row, err := run.SessionRow(tx, s)
		out.Session = &row
		return err
	})
	return out, err
}

// sessionsSubscribe changes nothing, for every connection that may read is sent
// the events of all sessions; OpenClaw's clients do not begin before they hear so.
func (h *Host) sessionsSubscribe(ctx context.Context, c gateway.Caller, p protocol.SessionsListParams) (protocol.SessionsSubscribeResult, error) {
	out := protocol.SessionsSubscribeResult{Subscribed: true}
	if p == (protocol.SessionsListParams{}) {
		return out, nil
	}
	list, err := h.sessionsList(ctx, c, p)
	if err != nil {
		return protocol.SessionsSubscribeResult{}, err
	}
	out.List = &list
	return out, nil
}

func (h *Host) sessionsCreate(ctx context.Context, c gateway.Caller, p protocol.SessionsCreateParams) (protocol.SessionsCreateResult, error) {
	agentID := p.AgentID
	if agentID == "" {
		agentID = protocol.MainAgent
	}
	raw := p.Key
	if raw == "" {
		raw = string(protocol.NewSessionKey(agentID, newID()))
	}
	key, err := h.keyOf(ctx, raw, p.AgentID)
	if err != nil {
		return protocol.SessionsCreateResult{}, err
	}
	out := protocol.SessionsCreateResult{OK: true, Key: key}
	if err := h.createSession(ctx, key, p, &out); err != nil {
		return protocol.SessionsCreateResult{}, err
	}
	if p.Message == "" && len(p.Attachments) == 0 {
		return out, nil
	}
	runKey := p.IdempotencyKey
	if runKey == "" {
		runKey = newID()
	}
	res, err := h.admit(ctx, c, run.Admission{SessionKey: key, Key: protocol.RunID(runKey), Text: p.Message}, p.Attachments)
	if err != nil {
		return protocol.SessionsCreateResult{}, err
	}
	out.RunStarted, out.RunID = true, res.RunID
	return out, nil
}

func (h *Host) createSession(ctx context.Context, key protocol.SessionKey, p protocol.SessionsCreateParams, out *protocol.SessionsCreateResult) error {
	return h.db.Write(ctx, func(tx *store.Tx) error {
		if err := knownAgent(tx, key.Agent()); err != nil {
			return err
		}
		s, err := session.GetOrCreate(tx, key, protocol.SessionID(newID()), h.nowMs())
		if err != nil {
			return err
		}
		if p.Label != "" || p.Model != "" {
			patch := session.Patch{}
			if p.Label != "" {
				patch.Label = &p.Label
			}
			if p.Model != "" {
				patch.Model = &p.Model
			}
			if s, err = session.Apply(tx, key, patch, h.nowMs()); err != nil {
				return err
			}
		}
		row, err := run.SessionRow(tx, s)
		out.SessionID, out.Entry = s.ID, &row
		return err
	})
}

// maxLabel bounds a name the owner gives to a conversation, in runes.
const maxLabel = 200

func (h *Host) sessionsPatch(ctx context.Context, _ gateway.Caller, p protocol.SessionsPatchParams) (protocol.SessionsPatchResult, error) {
	key, err := h.keyOf(ctx, p.Key, "")
	if err != nil {
		return protocol.SessionsPatchResult{}, err
	}
	if p.Label != nil && len([]rune(*p.Label)) > maxLabel {
		return protocol.SessionsPatchResult{}, invalid("The name is too long; use at most 200 characters.")
	}
	if p.Model != nil && *p.Model != "" {
		if _, err := h.models.choose([]string{*p.Model}); err != nil {
			return protocol.SessionsPatchResult{}, invalid("There is no model of this name in your settings.")
		}
	}
	out := protocol.SessionsPatchResult{OK: true, Key: key}
	err = h.db.Write(ctx, func(tx *store.Tx) error {
		s, err := session.Apply(tx, key, session.Patch{Label: p.Label, Model: p.Model, Archived: p.Archived, Pinned: p.Pinned, Unread: p.Unread}, h.nowMs())
		if err != nil {
			return err
		}
		out.Entry, err = run.SessionRow(tx, s)
		return err
	})
	return out, run.Wire(err)
}

func (h *Host) sessionsReset(ctx context.Context, c gateway.Caller, p protocol.SessionsResetParams) (protocol.SessionsResetResult, error) {
	key, err := h.keyOf(ctx, p.Key, "")
	if err != nil {
		return protocol.SessionsResetResult{}, err
	}
	reason := p.Reason
	if reason == "" {
		reason = "reset"
	}
	s, err := h.runs.Reset(ctx, key, reason, resolver(c).Name)
	if err != nil {
		return protocol.SessionsResetResult{}, err
	}
	return protocol.SessionsResetResult{OK: true, Key: key, SessionID: s.ID}, nil
}

func (h *Host) sessionsDelete(ctx context.Context, c gateway.Caller, p protocol.SessionsDeleteParams) (protocol.SessionsDeleteResult, error) {
	key, err := h.keyOf(ctx, p.Key, "")
	if err != nil {
		return protocol.SessionsDeleteResult{}, err
	}
	if err := h.runs.Delete(ctx, key, p.DeleteTranscript, p.ExpectedSessionID, resolver(c).Name); err != nil {
		return protocol.SessionsDeleteResult{}, err
	}
	return protocol.SessionsDeleteResult{OK: true, Key: key, Deleted: true, Archived: []string{}}, nil
}
