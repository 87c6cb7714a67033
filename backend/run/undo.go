package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"countersign/backend/effect"
	"countersign/backend/protocol"
	"countersign/backend/store"
	"countersign/backend/tool"
)

// Undo puts back what a receipted change replaced. It is an effect of its own,
// started on disk before it begins and receipted however it ends. A file that
// was changed since is left alone.
func (m *Manager) Undo(ctx context.Context, id protocol.ReceiptID, by protocol.ReceiptOrigin) (protocol.Receipt, error) {
	var r protocol.Receipt
	var before effect.Before
	var after string
	err := m.o.DB.Read(ctx, func(tx *store.ReadTx) (err error) {
		var ok bool
		if r, before, after, ok, err = effect.UndoHandle(tx, id); err != nil || ok {
			return err
		}
		return protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailUndoUnavailable, "This cannot be undone. "+r.Undo.Reason)
	})
	if err != nil {
		return protocol.Receipt{}, Wire(err)
	}
	state := tool.FileState{Path: before.Path, Exists: before.Existed, Mode: before.Mode, SHA256: before.SHA256}
	if before.Existed {
		if state.Content, err = m.o.Blobs.Get(before.Blob); err != nil {
			return protocol.Receipt{}, fmt.Errorf("read former content: %w", err)
		}
	}
	env, err := m.envOf(ctx, r.Origin.AgentID)
	if err != nil {
		return protocol.Receipt{}, err
	}
	e, permit, err := m.startUndo(ctx, r, state, by)
	if err != nil {
		return protocol.Receipt{}, err
	}
	var res tool.Result
	doErr := permit.Begin(ctx, func(ctx context.Context) (err error) {
		res, err = m.o.Undo(ctx, env, state, after)
		return err
	})
	receipt, err := m.finishUndo(context.WithoutCancel(ctx), e, r.ID, res, !state.Exists, doErr, by)
	if err != nil {
		return protocol.Receipt{}, err
	}
	return receipt, undoError(doErr)
}

// undoError tells the owner why nothing was put back.
func undoError(err error) error {
	var conflict *tool.ConflictError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
		return protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailUndoConflict, conflict.Sentence)
	}
	return protocol.NewError(protocol.CodeUnavailable, "", "It could not be put back: "+err.Error())
}

func (m *Manager) startUndo(ctx context.Context, r protocol.Receipt, state tool.FileState, by protocol.ReceiptOrigin) (effect.Effect, *effect.Permit, error) {
	args, err := json.Marshal(map[string]string{"receipt": string(r.ID), "path": state.Path})
	if err != nil {
		return effect.Effect{}, nil, fmt.Errorf("encode undo: %w", err)
	}
	e := effect.Effect{
		ID: protocol.EffectID(m.o.NewID()), SessionKey: r.Origin.SessionKey, AgentID: r.Origin.AgentID, Tool: "undo", Class: protocol.ClassUndo,
		Repeat: string(tool.RepeatOnce), Args: args, Plan: args, PlanHash: r.Chain.Hash, Target: r.Target, PlannedMs: m.nowMs(), StartedMs: m.nowMs(),
		Authority: protocol.Authority{Kind: "owner", Clause: "It was asked for directly, in the " + by.Channel + ".", By: by.Sender, AtMs: m.nowMs()},
	}
	e.ToolCallID = string(e.ID) // there is no call of a model behind it
	var permit *effect.Permit
	err = m.o.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if err := effect.Insert(tx, e); err != nil {
			return err
		}
		if err := effect.Authorise(tx, e.ID, e.Authority); err != nil {
			return err
		}
		permit, err = effect.Start(tx, e.ID, m.nowMs())
		return err
	})
	return e, permit, err
}

func (m *Manager) finishUndo(ctx context.Context, e effect.Effect, undoes protocol.ReceiptID, res tool.Result, removed bool, doErr error, by protocol.ReceiptOrigin) (protocol.Receipt, error) {
	if doErr != nil {
		res = failedResult(res, doErr, false)
	}
	if res.Outcome == "" {
		res.Outcome = protocol.OutcomeDone
	}
	by.SessionKey, by.AgentID = e.SessionKey, e.AgentID
	end := effect.Ending{
		ReceiptID: protocol.ReceiptID(m.o.NewID()), Outcome: res.Outcome, Evidence: res.Evidence, ResultText: res.Content, IsError: res.IsError,
		Facts: effect.Facts{Removed: removed}, Undoes: undoes, Origin: by, Represents: m.o.Owner, Mask: m.o.Mask, NoUndo: "It was an undo itself.",
	}
	var receipt protocol.Receipt
	err := m.o.DB.Write(ctx, func(tx *store.Tx) (err error) {
		receipt, err = effect.Finish(tx, e, end, m.nowMs())
		return err
	})
	return receipt, err
}
