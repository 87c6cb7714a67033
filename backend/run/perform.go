package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"countersign/backend/agent"
	"countersign/backend/approval"
	"countersign/backend/blob"
	"countersign/backend/effect"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/store"
	"countersign/backend/tool"
)

// Perform implements agent.Journal: the start is on disk before the effect
// begins, and its result, its receipt and the step of the run are stored in one
// transaction after it.
func (j *journal) Perform(ctx context.Context, block protocol.ToolCallBlock) error {
	c := j.find(block.ID)
	if c == nil {
		return fmt.Errorf("call %s is not open", block.ID)
	}
	permit, err := j.start(ctx, c)
	if err != nil {
		return err
	}
	j.live.tool(protocol.ToolData{Phase: protocol.ToolStart, ToolCallID: c.block.ID, Name: c.block.Name, Args: c.plan.Args})
	out := &output{live: j.live, call: c.block, mask: j.m.o.Mask}
	var res tool.Result
	doErr := permit.Begin(ctx, func(ctx context.Context) (err error) {
		res, err = c.tool.Do(ctx, j.env, c.plan, out.add)
		return err
	})
	out.close()
	return j.finishCall(context.WithoutCancel(ctx), c, res, doErr, ctx.Err() != nil)
}

func (j *journal) find(id string) *call {
	leave := j.lane()
	defer leave()
	for _, c := range j.pending {
		if c.block.ID == id {
			return c
		}
	}
	return nil
}

// start uses up what allows the call and notes that it begins. A call that only
// reads needs no row before it begins.
func (j *journal) start(ctx context.Context, c *call) (*effect.Permit, error) {
	spec := c.tool.Spec()
	if c.effect == nil {
		c.effect = j.newEffect(c)
		if spec.Class.Repeat == tool.RepeatRead && !spec.Class.Outward {
			c.effect.StartedMs = j.m.nowMs()
			return effect.ReadPermit(), nil
		}
	}
	c.effect.Authority = c.authority
	before, size, err := j.keep(c.plan.Before)
	if err != nil {
		return nil, err
	}
	c.effect.Before = before
	var permit *effect.Permit
	var ended error
	err = j.tx(ctx, func(tx *store.Tx, r queue.Run) (err error) {
		if ended, err = j.mayGoOn(tx, r); err != nil || ended != nil {
			return err
		}
		permit, err = j.authorise(tx, c, size)
		if err != nil {
			return err
		}
		return queue.Advance(tx, r.ID, queue.Progress{WallMs: j.worked(), Step: c.plan.Card.Sentence}, j.m.nowMs())
	})
	if err == nil {
		err = ended
	}
	if errors.Is(err, approval.ErrConsumed) && c.grant != "" {
		// The grant ended between the decision and the start: decide anew.
		c.effect, c.grant = nil, ""
		return nil, agent.ErrLookAgain
	}
	return permit, err
}

func (j *journal) authorise(tx *store.Tx, c *call, size int64) (*effect.Permit, error) {
	now := j.m.nowMs()
	switch {
	case c.approval != "":
		if err := approval.Consume(tx, c.approval, c.hash, now); err != nil {
			return nil, err
		}
		if err := effect.Replan(tx, *c.effect); err != nil { // the former state of now
			return nil, err
		}
	case c.grant != "":
		if err := approval.ConsumeGrant(tx, c.grant, now); err != nil {
			return nil, err
		}
		fallthrough
	default:
		if err := effect.Insert(tx, *c.effect); err != nil {
			return nil, err
		}
	}
	if b := c.effect.Before; b != nil && b.Blob != "" {
		if err := blob.Use(tx, b.Blob, size, "before", now); err != nil {
			return nil, err
		}
	}
	if err := effect.Authorise(tx, c.effect.ID, c.authority); err != nil {
		return nil, err
	}
	c.effect.StartedMs = now
	return effect.Start(tx, c.effect.ID, now)
}

// keep puts a file's former content on disk before it is changed.
func (j *journal) keep(state *tool.FileState) (*effect.Before, int64, error) {
	if state == nil {
		return nil, 0, nil
	}
	b := &effect.Before{Path: state.Path, Existed: state.Exists, Mode: state.Mode, SHA256: state.SHA256}
	if !state.Exists {
		return b, 0, nil
	}
	id, err := j.m.o.Blobs.Put(state.Content)
	if err != nil {
		return nil, 0, fmt.Errorf("keep former content: %w", err)
	}
	b.Blob = id
	return b, int64(len(state.Content)), nil
}

// finishCall stores how a call ended.
func (j *journal) finishCall(ctx context.Context, c *call, res tool.Result, doErr error, interrupted bool) error {
	if doErr != nil {
		res = failedResult(res, doErr, interrupted)
	}
	if res.Outcome == "" {
		res.Outcome = protocol.OutcomeDone
	}
	end := j.ending(c, res.Outcome)
	end.Evidence, end.ResultText, end.IsError = res.Evidence, j.m.o.Mask(res.Content), res.IsError
	end.Taint, end.AfterSHA256 = res.Taint, res.AfterSHA256
	end.Facts.Lines, end.Facts.Items, end.Facts.TimedOut, end.Facts.NothingDone = res.Lines, res.Items, res.TimedOut, res.NothingDone
	leave := j.lane()
	defer leave()
	end.Sources = j.sources()
	receipt, flushed, err := j.commitCall(ctx, c, end)
	if err != nil {
		return err
	}
	j.live.tool(protocol.ToolData{Phase: protocol.ToolResult, ToolCallID: c.block.ID, Name: c.block.Name, Output: end.ResultText,
		IsError: end.IsError, ReceiptID: receipt.ID, Sentence: receipt.Sentence})
	j.flushed(flushed)
	return nil
}

// failedResult is what a call is said to have done when its tool returned an
// error: nothing where that is sure, and otherwise no more than is known.
func failedResult(res tool.Result, err error, interrupted bool) tool.Result {
	res.IsError = true
	res.Evidence.Error = err.Error()
	switch {
	case errors.Is(err, tool.ErrPlanChanged):
		res.Outcome = protocol.OutcomeFailed
		res.Content = "What is there changed since this was allowed, so nothing was done. Look again, then ask for it anew."
		res.Evidence.Error = "it changed since it was allowed, so nothing was done"
	case interrupted:
		res.Outcome = protocol.OutcomeStopped
		if res.Content == "" {
			res.Content = "Stopped while it ran; part of it may have happened."
		}
	default:
		res.Outcome = protocol.OutcomeFailed
		if res.Content == "" {
			res.Content = "It did not work: " + err.Error()
		}
	}
	return res
}

func (j *journal) commitCall(ctx context.Context, c *call, end effect.Ending) (receipt protocol.Receipt, flushed []protocol.Message, err error) {
	unsettled := c.result
	err = j.tx(ctx, func(tx *store.Tx, r queue.Run) (err error) {
		c.result = unsettled
		finish := effect.Finish
		if c.tool.Spec().Class.Repeat == tool.RepeatRead && !c.tool.Spec().Class.Outward && c.approval == "" {
			finish = effect.Record
		}
		if receipt, err = finish(tx, *c.effect, end, j.m.nowMs()); err != nil {
			return err
		}
		c.result = &result{text: end.ResultText, isError: end.IsError, receipt: receipt.ID, taint: end.Taint}
		if flushed, err = j.flush(tx); err != nil {
			return err
		}
		return queue.Advance(tx, r.ID, queue.Progress{WallMs: j.worked()}, j.m.nowMs())
	})
	if err != nil {
		c.result = unsettled
	}
	return receipt, flushed, err
}

// ending begins the ending of a call with what is the same for every outcome.
func (j *journal) ending(c *call, outcome protocol.Outcome) effect.Ending {
	end := effect.Ending{
		ReceiptID: protocol.ReceiptID(j.m.o.NewID()), Outcome: outcome, Mask: j.m.o.Mask, Represents: j.m.o.Owner,
		Origin: protocol.ReceiptOrigin{
			Channel: j.run.Channel, Sender: j.run.Sender, AgentID: j.run.AgentID, AgentName: j.agent.Name, SessionKey: j.run.SessionKey,
			RunID: j.run.ID, ToolCallID: c.block.ID,
		},
	}
	var named struct {
		Pattern  string `json:"pattern"`
		Cwd      string `json:"cwd"`
		Question string `json:"question"`
	}
	args := c.plan.Args
	if c.effect != nil && len(args) == 0 {
		args = c.effect.Args
	}
	if err := json.Unmarshal(args, &named); err == nil {
		end.Facts.Pattern, end.Facts.Where, end.Facts.Question = named.Pattern, folderWords(named.Cwd), named.Question
	}
	return end
}

// folderWords names a folder of a command; the workspace itself needs no words.
func folderWords(cwd string) string {
	if cwd = strings.TrimPrefix(cwd, "./"); cwd == "." {
		return ""
	}
	return cwd
}

// askOwner stores a structured question; its call waits for the answer.
func (j *journal) askOwner(tx *store.Tx, c *call, asker tool.Asker) error {
	q, err := asker.Question(c.plan)
	if err != nil {
		return fmt.Errorf("form question: %w", err)
	}
	c.effect, c.standing = j.newEffect(c), agent.Waiting
	if err := effect.Insert(tx, *c.effect); err != nil {
		return err
	}
	q.ID, q.RunID, q.SessionKey, q.AgentID = protocol.QuestionID(j.m.o.NewID()), j.run.ID, j.run.SessionKey, j.run.AgentID
	q.ToolCallID, q.State, q.CreatedAtMs = c.block.ID, "pending", j.m.nowMs()
	return approval.AskQuestion(tx, c.effect.ID, q)
}

// settleQuestion ends an answered question with the answer as its result.
func (j *journal) settleQuestion(tx *store.Tx, c *call) error {
	q, err := approval.QuestionOfEffect(tx, c.effect.ID)
	if err != nil {
		return err
	}
	if q.State == "pending" {
		c.standing = agent.Waiting
		return nil
	}
	answer := strings.Join(q.Answers, ", ")
	if q.AnswerText != "" {
		answer = strings.TrimPrefix(answer+": "+q.AnswerText, ": ")
	}
	end := j.ending(c, protocol.OutcomeDone)
	end.Facts.Answer, end.ResultText, end.Taint = answer, "The owner answered: "+answer, protocol.TaintOwner
	receipt, err := effect.Finish(tx, *c.effect, end, j.m.nowMs())
	if err != nil {
		return err
	}
	c.standing = agent.Settled
	c.result = &result{text: end.ResultText, receipt: receipt.ID, taint: protocol.TaintOwner}
	return nil
}

// Park implements agent.Journal.
func (j *journal) Park(ctx context.Context) error {
	outcome := error(nil)
	err := j.tx(ctx, func(tx *store.Tx, r queue.Run) (err error) {
		outcome = nil
		if outcome, err = j.mayGoOn(tx, r); err != nil || outcome != nil {
			return err
		}
		reason, err := waitsFor(tx, j.pending)
		if err != nil || reason == "" {
			return err // decided meanwhile: look again
		}
		outcome = agent.ErrParked
		if err := queue.Advance(tx, r.ID, queue.Progress{WallMs: j.worked()}, j.m.nowMs()); err != nil {
			return err
		}
		return queue.Park(tx, r.ID, reason, "", j.m.nowMs())
	})
	if err != nil {
		return err
	}
	return outcome
}

// waitsFor says what the first call without a result waits for; empty means that
// a person has decided.
func waitsFor(tx *store.Tx, calls []*call) (protocol.ParkReason, error) {
	for _, c := range calls {
		if c.standing != agent.Waiting {
			continue
		}
		if _, ok := c.tool.(tool.Asker); ok {
			q, err := approval.QuestionOfEffect(tx, c.effect.ID)
			if err != nil || q.State != "pending" {
				return "", err
			}
			return protocol.ParkQuestion, nil
		}
		a, ok, err := approval.OfEffect(tx, c.effect.ID)
		if err != nil || !ok || a.State != protocol.ApprovalPending {
			return "", err
		}
		return protocol.ParkApproval, nil
	}
	return "", nil
}

func msUntil(now time.Time, atMs int64) time.Duration {
	return time.Duration(atMs-now.UnixMilli()) * time.Millisecond
}

// commandText shows argv as one line in which each argument can be told apart.
func commandText(argv []string) string {
	parts := make([]string, len(argv))
	for i, a := range argv {
		parts[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n\"'\\$&|;<>()*?[]#~`") {
			parts[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(parts, " ")
}
