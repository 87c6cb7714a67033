package run

import (
	"strings"

	"countersign/backend/approval"
	"countersign/backend/effect"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/session"
	"countersign/backend/store"
)

func raisedBefore(r queue.Run, c protocol.CeilingName) bool {
	return strings.Contains(r.Raised, ","+string(c)+",")
}

// View builds what clients see of a run.
func View(q store.Querier, r queue.Run) (protocol.Run, error) {
	out := protocol.Run{
		RunID: r.ID, SessionKey: r.SessionKey, AgentID: r.AgentID, State: r.State, ParkReason: r.ParkReason, ParkedAtMs: r.ParkedAtMs, Step: r.Step,
		Stopping: r.StopRequested && !r.State.Ended(), Recoveries: r.Recoveries, Title: r.Title, Model: r.Model, ErrorMessage: r.ErrorMessage, ErrorKind: r.ErrorKind,
		AcceptedAtMs: r.AcceptedAtMs, StartedAtMs: r.StartedAtMs, EndedAtMs: r.EndedAtMs, WallAtMs: r.WallAtMs, InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, Version: r.Version,
		Gauges: []protocol.Gauge{
			{Name: protocol.CeilingModelCalls, Used: r.ModelCalls, Limit: r.Limits.ModelCalls},
			{Name: protocol.CeilingToolCalls, Used: r.ToolCalls, Limit: r.Limits.ToolCalls},
			{Name: protocol.CeilingWallTime, Used: r.WallMs, Limit: r.Limits.WallMs},
		},
	}
	if r.State != protocol.RunParked {
		return out, nil
	}
	return out, parkView(q, r, &out)
}

// parkView adds what a parked run waits for.
func parkView(q store.Querier, r queue.Run, out *protocol.Run) error {
	switch r.ParkReason {
	case protocol.ParkApproval:
		pending, err := approval.Pending(q, r.ID)
		if err != nil {
			return err
		}
		out.ParkDetail = "It waits for your answer to a question about what it may do."
		for _, a := range pending {
			out.ApprovalIDs = append(out.ApprovalIDs, a.ID)
		}
	case protocol.ParkQuestion:
		open, err := approval.Questions(q, r.ID, false)
		if err != nil {
			return err
		}
		out.ParkDetail = "It waits for your answer."
		for _, question := range open {
			out.QuestionIDs = append(out.QuestionIDs, question.ID)
		}
	case protocol.ParkUnknown:
		effects, err := effect.OfRun(q, r.ID)
		if err != nil {
			return err
		}
		out.ParkDetail = "Countersign ended while it worked, and it is not known whether its last act happened."
		for _, e := range effects {
			if e.State == effect.Unknown && e.ResultText == "" {
				out.UnknownIDs = append(out.UnknownIDs, e.ID)
			}
		}
	case protocol.ParkCeiling:
		out.Ceiling = protocol.CeilingName(r.ParkDetail)
		out.ParkDetail = "It reached " + ceilingWords(r, out.Ceiling) + "."
	case protocol.ParkRecovery:
		out.ParkDetail = "Countersign ended several times while it worked, so it was left waiting."
	}
	return nil
}

// SessionRow builds what clients see of a session: its own row, and what its
// newest run does.
func SessionRow(q store.Querier, s session.Session) (protocol.SessionRow, error) {
	row := protocol.SessionRow{
		Key: s.Key, SessionID: s.ID, Kind: "direct", Label: s.Label, DerivedTitle: s.Title, LastMessagePreview: s.Preview, AgentID: s.AgentID,
		CreatedAtMs: s.CreatedAtMs, UpdatedAtMs: s.UpdatedAtMs, Archived: s.Archived, Pinned: s.Pinned, Unread: s.Unread, MessageCount: s.MessageCount,
		Model: s.Model, Version: s.Version, Status: protocol.SessionIdle,
	}
	r, ok, err := lead(q, s.Key)
	if err != nil || !ok {
		return row, err
	}
	row.Status, row.LastRunID, row.LastRunError = protocol.SessionStatus(r.State), r.ID, r.ErrorMessage
	if row.DerivedTitle == "" {
		row.DerivedTitle = r.Title
	}
	return row, nil
}

// lead finds the run that says what a session does: the oldest open one, which
// holds its lane, else the newest.
func lead(q store.Querier, key protocol.SessionKey) (queue.Run, bool, error) {
	open, err := queue.List(q, queue.Filter{SessionKey: key, OpenOnly: true, Limit: 1000})
	if err != nil {
		return queue.Run{}, false, err
	}
	if len(open) > 0 {
		return open[len(open)-1], true, nil
	}
	return queue.Latest(q, key)
}

// InFlight returns the text so far of the run that works in a session; nil when
// none streams.
func (m *Manager) InFlight(key protocol.SessionKey) *protocol.InFlightRun {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, a := range m.active {
		if a.session == key {
			text, thinking := a.live.soFar()
			return &protocol.InFlightRun{RunID: id, Text: text, Thinking: thinking}
		}
	}
	return nil
}
