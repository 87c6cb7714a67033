package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"countersign/backend/approval"
	"countersign/backend/effect"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/session"
	"countersign/backend/store"
)

// Resolve decides an approval and, when its run waits for it, puts the run back
// into its queue in the same transaction. Allowing for the session also stores a
// grant for the identical plan.
func (m *Manager) Resolve(ctx context.Context, id protocol.ApprovalID, v approval.Verdict) (protocol.Approval, error) {
	v.Mask = m.maskJSON
	var decided protocol.Approval
	err := m.o.DB.Write(ctx, func(tx *store.Tx) error {
		before, err := approval.Get(tx, id)
		if err != nil {
			return err
		}
		if decided, err = approval.Decide(tx, id, v, m.nowMs()); err != nil || before.State != protocol.ApprovalPending {
			return err
		}
		r, err := queue.Get(tx, decided.Request.RunID)
		if err != nil {
			return err
		}
		if v.Decision == protocol.AllowSession {
			if err := m.grant(tx, decided, r); err != nil {
				return err
			}
		}
		return m.resumeIf(tx, r, protocol.ParkApproval)
	})
	return decided, Wire(err)
}

func (m *Manager) maskJSON(raw json.RawMessage) json.RawMessage {
	return effect.MaskJSON(raw, m.o.Mask)
}

func (m *Manager) grant(tx *store.Tx, a protocol.Approval, r queue.Run) error {
	return approval.AddGrant(tx, approval.Grant{
		ID: m.o.NewID(), ApprovalID: a.ID, AgentID: a.Request.AgentID, SessionID: r.SessionID, Tool: a.Request.Tool, PlanHash: a.Request.PlanHash, Remaining: -1,
	}, m.nowMs())
}

// resumeIf puts a run that is parked for reason back into its queue.
func (m *Manager) resumeIf(tx *store.Tx, r queue.Run, reason protocol.ParkReason) error {
	if r.State != protocol.RunParked || r.ParkReason != reason {
		return nil
	}
	tx.OnCommit(m.poke)
	return queue.Resume(tx, r.ID, "", m.nowMs())
}

// Answer answers a question of an agent.
func (m *Manager) Answer(ctx context.Context, id protocol.QuestionID, a approval.Answer, by protocol.Resolver) (protocol.Question, error) {
	var answered protocol.Question
	err := m.o.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if answered, err = approval.AnswerQuestion(tx, id, a, by, m.nowMs()); err != nil {
			return err
		}
		r, err := queue.Get(tx, answered.RunID)
		if err != nil {
			return err
		}
		return m.resumeIf(tx, r, protocol.ParkQuestion)
	})
	return answered, Wire(err)
}

// Resume carries out what a person decided about a run parked at a ceiling, for
// an unknown effect, or after too many recoveries.
func (m *Manager) Resume(ctx context.Context, p protocol.RunsResumeParams, by string) (queue.Run, error) {
	var after queue.Run
	err := m.o.DB.Write(ctx, func(tx *store.Tx) error {
		r, err := queue.Get(tx, p.RunID)
		if err != nil {
			return err
		}
		if r.State != protocol.RunParked {
			return protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailStale, "This run no longer waits; nothing was changed.")
		}
		if err := m.choose(tx, r, p, by); err != nil {
			return err
		}
		after, err = queue.Get(tx, r.ID)
		return err
	})
	return after, Wire(err)
}

func (m *Manager) choose(tx *store.Tx, r queue.Run, p protocol.RunsResumeParams, by string) error {
	if p.Choice == protocol.ChoiceGiveUp {
		return m.stopNow(tx, r, by)
	}
	switch {
	case r.ParkReason == protocol.ParkUnknown && (p.Choice == protocol.ChoiceContinue || p.Choice == protocol.ChoiceTreatAsDone):
		if err := m.settleUnknown(tx, r, p.Choice); err != nil {
			return err
		}
	case r.ParkReason == protocol.ParkCeiling && p.Choice == protocol.ChoiceContinue:
		if err := queue.Raise(tx, r.ID, protocol.CeilingName(r.ParkDetail)); err != nil {
			return err
		}
	case r.ParkReason == protocol.ParkRecovery && p.Choice == protocol.ChoiceContinue:
	default:
		return protocol.NewError(protocol.CodeInvalidRequest, "", fmt.Sprintf("A run that waits for %s cannot be decided this way.", r.ParkReason))
	}
	tx.OnCommit(m.poke)
	return queue.Resume(tx, r.ID, p.Note, m.nowMs())
}

// settleUnknown tells the model what the owner knows of effects whose outcome
// was lost. The receipts stay as they are: unknown is what was known then.
func (m *Manager) settleUnknown(tx *store.Tx, r queue.Run, choice protocol.RunChoice) error {
	words := "Countersign was interrupted while this ran, and nobody knows whether it happened. Do not repeat it; check first."
	if choice == protocol.ChoiceTreatAsDone {
		words = "Countersign was interrupted while this ran. The owner looked and says that it was done; do not repeat it."
	}
	effects, err := effect.OfRun(tx, r.ID)
	if err != nil {
		return err
	}
	for _, e := range effects {
		if e.State == effect.Unknown && e.ResultText == "" {
			if err := effect.SetResult(tx, e.ID, words, choice != protocol.ChoiceTreatAsDone); err != nil {
				return err
			}
		}
	}
	return nil
}

// Abort stops one run, or every open run of a session when id is empty. A run
// that waits ends at once; for one that works the wish is stored and its step is
// ended. It returns after the wish is on disk.
func (m *Manager) Abort(ctx context.Context, key protocol.SessionKey, id protocol.RunID, by string) ([]protocol.RunID, error) {
	var stopped []protocol.RunID
	err := m.o.DB.Write(ctx, func(tx *store.Tx) error {
		stopped = nil
		open, err := queue.List(tx, queue.Filter{SessionKey: key, OpenOnly: true, Limit: 1000})
		if err != nil {
			return err
		}
		for i := len(open) - 1; i >= 0; i-- {
			r := open[i]
			if id != "" && r.ID != id {
				continue
			}
			if err := m.abort(tx, r, by); err != nil {
				return err
			}
			stopped = append(stopped, r.ID)
		}
		return nil
	})
	return stopped, Wire(err)
}

func (m *Manager) abort(tx *store.Tx, r queue.Run, by string) error {
	if r.State != protocol.RunRunning {
		tx.OnCommit(m.poke)
		return m.stopNow(tx, r, by)
	}
	tx.OnCommit(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if a, ok := m.active[r.ID]; ok {
			a.cancel(errStopped)
		}
	})
	return queue.RequestStop(tx, r.ID, by, m.nowMs())
}

// Reset gives a session a new transcript; what works or waits in it is stopped.
func (m *Manager) Reset(ctx context.Context, key protocol.SessionKey, reason, by string) (session.Session, error) {
	var s session.Session
	err := m.o.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if err := m.abortAll(tx, key, by); err != nil {
			return err
		}
		s, err = session.Reset(tx, key, protocol.SessionID(m.o.NewID()), reason, m.nowMs())
		return err
	})
	return s, Wire(err)
}

// Delete removes a session; what works or waits in it is stopped.
func (m *Manager) Delete(ctx context.Context, key protocol.SessionKey, transcript bool, expected protocol.SessionID, by string) error {
	return Wire(m.o.DB.Write(ctx, func(tx *store.Tx) error {
		if err := m.abortAll(tx, key, by); err != nil {
			return err
		}
		return session.Delete(tx, key, transcript, expected, m.nowMs())
	}))
}

func (m *Manager) abortAll(tx *store.Tx, key protocol.SessionKey, by string) error {
	open, err := queue.List(tx, queue.Filter{SessionKey: key, OpenOnly: true, Limit: 1000})
	if err != nil {
		return err
	}
	for _, r := range open {
		if err := m.abort(tx, r, by); err != nil {
			return err
		}
	}
	return nil
}

// Wire turns what an owner reports into what a client is told.
func Wire(err error) error {
	var decided *approval.DecidedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &decided):
		return alreadyDecided(decided.Approval)
	case errors.Is(err, approval.ErrNotFound):
		return protocol.NewError(protocol.CodeApprovalNotFound, "", "There is no such question; it may belong to another data folder.")
	case errors.Is(err, approval.ErrAmbiguous):
		return protocol.NewError(protocol.CodeInvalidRequest, "", "Several questions begin with this id; give more of it.")
	case errors.Is(err, approval.ErrPlanHash):
		return protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailStale, "What you saw is not what is asked now; look at it again before you decide.")
	case errors.Is(err, approval.ErrNotOffered):
		return protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailDisplayLimit, "This cannot be allowed this way, because it could not be shown whole or carries too much risk.")
	case errors.Is(err, approval.ErrAnswered):
		return protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailAlreadyAnswered, "This question was answered already.")
	case errors.Is(err, approval.ErrNoAnswer):
		return protocol.NewError(protocol.CodeInvalidRequest, "", "Choose one of the offered answers, or write one where the question takes text.")
	case errors.Is(err, queue.ErrNotFound):
		return protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailUnknownRun, "There is no such run.")
	case errors.Is(err, session.ErrNotFound):
		return protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailUnknownSession, "There is no such conversation; it may have been deleted.")
	case errors.Is(err, session.ErrChanged):
		return protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailSessionChanged, "This conversation changed meanwhile; nothing was done. Look at it again.")
	case errors.Is(err, effect.ErrAmbiguous):
		return protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailUnknownReceipt, "Several receipts begin with this id; give more of it.")
	case errors.Is(err, effect.ErrNotFound):
		return protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailUnknownReceipt, "There is no such receipt.")
	case errors.Is(err, store.ErrDiskFull):
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: "The disk is full, so nothing was saved. Free some space and try again.",
			Details: &protocol.ErrorDetails{Code: protocol.DetailNotSaved}, Retryable: true}
	case errors.Is(err, store.ErrReadOnly), errors.Is(err, store.ErrSyncFailed):
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: "The disk refused to store this, so nothing was saved. Look at the disk, then start Countersign again.",
			Details: &protocol.ErrorDetails{Code: protocol.DetailNotSaved}}
	}
	return err
}

func alreadyDecided(a protocol.Approval) error {
	e := protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailApprovalAlreadyResolved, "")
	e.Details.Decision, e.Details.ResolvedAtMs, e.Details.Reason = a.Decision, a.ResolvedAtMs, a.Reason
	who := "Countersign"
	if a.Resolver != nil {
		who = a.Resolver.Name
		e.Details.ResolvedBy = who
	}
	e.Message = fmt.Sprintf("This was decided already: %s by %s.", a.State, who)
	return e
}
