package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"countersign/backend/effect"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/registry"
	"countersign/backend/store"
	"countersign/backend/tool"
)

// recover raises the epoch and puts every run that an older boot left running
// where it belongs.
func (m *Manager) recover(ctx context.Context) error {
	err := m.o.DB.Write(ctx, func(tx *store.Tx) (err error) {
		var clean bool
		m.epoch, clean, err = queue.Boot(tx, m.nowMs())
		if err == nil && !clean {
			m.o.Logger.Warn("the boot before did not end in order", "epoch", m.epoch)
		}
		return err
	})
	if err != nil {
		return err
	}
	var left []queue.Run
	var doubt []effect.Effect
	err = m.o.DB.Read(ctx, func(tx *store.ReadTx) (err error) {
		if left, err = queue.List(tx, queue.Filter{State: protocol.RunRunning, Limit: 1 << 30}); err != nil {
			return err
		}
		doubt, err = effect.InDoubt(tx)
		return err
	})
	if err != nil {
		return err
	}
	found := make(map[protocol.EffectID]*tool.Result, len(doubt))
	for _, e := range doubt {
		found[e.ID] = m.findOut(ctx, e)
	}
	for _, r := range left {
		err := m.o.DB.Write(ctx, func(tx *store.Tx) error { return m.recoverRun(tx, r, doubt, found) })
		if err != nil {
			return fmt.Errorf("recover run %s: %w", r.ID, err)
		}
	}
	return m.recoverUndos(ctx, doubt)
}

// recoverUndos ends undos that were begun and belong to no run: nobody waits for
// them, so their receipts alone say that the outcome is unknown.
func (m *Manager) recoverUndos(ctx context.Context, doubt []effect.Effect) error {
	for _, e := range doubt {
		if e.RunID != "" {
			continue
		}
		end := effect.Ending{
			ReceiptID: protocol.ReceiptID(m.o.NewID()), Outcome: protocol.OutcomeUnknown, Represents: m.o.Owner, Mask: m.o.Mask, IsError: true,
			Origin:   protocol.ReceiptOrigin{SessionKey: e.SessionKey, AgentID: e.AgentID, Sender: e.Authority.By},
			Evidence: protocol.Evidence{Note: "Countersign ended while this ran; look at the file to see whether it was put back."},
		}
		err := m.o.DB.Write(ctx, func(tx *store.Tx) error {
			_, err := effect.Finish(tx, e, end, m.nowMs())
			return err
		})
		if err != nil {
			return fmt.Errorf("recover undo %s: %w", e.ID, err)
		}
	}
	return nil
}

// findOut asks a tool whether an effect whose result was lost has happened; nil
// means that it cannot be known.
func (m *Manager) findOut(ctx context.Context, e effect.Effect) *tool.Result {
	t, ok := m.o.Tools.Get(e.Tool)
	if !ok {
		return nil
	}
	resolver, ok := t.(tool.Resolver)
	if !ok {
		return nil
	}
	res, ok, err := m.resolve(ctx, resolver, e)
	if err != nil {
		m.o.Logger.Warn("find out about effect", "effect", e.ID, "cause", err)
		return nil
	}
	if !ok {
		return nil
	}
	return &res
}

func (m *Manager) resolve(ctx context.Context, resolver tool.Resolver, e effect.Effect) (tool.Result, bool, error) {
	env, err := m.envOf(ctx, e.AgentID)
	if err != nil {
		return tool.Result{}, false, err
	}
	var plan tool.Plan
	if err := json.Unmarshal(e.Plan, &plan); err != nil {
		return tool.Result{}, false, fmt.Errorf("decode plan: %w", err)
	}
	return resolver.Resolve(ctx, env, plan)
}

func (m *Manager) envOf(ctx context.Context, id protocol.AgentID) (tool.Env, error) {
	var a registry.Agent
	var folders []registry.Folder
	err := m.o.DB.Read(ctx, func(tx *store.ReadTx) (err error) {
		if a, err = registry.GetAgent(tx, id); err != nil {
			return err
		}
		folders, err = registry.Folders(tx, id)
		return err
	})
	if err != nil {
		return tool.Env{}, err
	}
	return m.o.Places.Env(ctx, a, folders)
}

// recoverRun ends what was in doubt, each with its receipt, and decides where
// the run goes.
func (m *Manager) recoverRun(tx *store.Tx, r queue.Run, doubt []effect.Effect, found map[protocol.EffectID]*tool.Result) error {
	unknown := 0
	agent, err := agentOf(tx, r)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return err
	}
	for _, e := range doubt {
		if e.RunID != r.ID {
			continue
		}
		j := &journal{m: m, run: r, agent: agent}
		c := &call{block: protocol.ToolCallBlock{ID: e.ToolCallID, Name: e.Tool}, effect: &e}
		res := found[e.ID]
		outcome := protocol.OutcomeUnknown
		if res != nil {
			outcome = res.Outcome
			if outcome == "" {
				outcome = protocol.OutcomeDone
			}
		}
		end := j.ending(c, outcome)
		if res != nil {
			end.Evidence, end.ResultText, end.IsError, end.AfterSHA256, end.Facts.Lines = res.Evidence, res.Content, res.IsError, res.AfterSHA256, res.Lines
		} else {
			end.IsError = true
			end.Evidence.Note = "Countersign ended while this ran; what it did is not known."
			unknown++
		}
		if _, err := effect.Finish(tx, e, end, m.nowMs()); err != nil {
			return err
		}
	}
	switch {
	case r.StopRequested:
		return m.stopNow(tx, r, r.StopBy)
	case unknown > 0:
		return queue.Park(tx, r.ID, protocol.ParkUnknown, "", m.nowMs())
	case r.Recoveries >= m.o.Recoveries:
		return queue.Park(tx, r.ID, protocol.ParkRecovery, "", m.nowMs())
	}
	return queue.Release(tx, r.ID, "Going on after a restart", true, m.nowMs())
}
