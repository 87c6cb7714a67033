package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"countersign/backend/agent"
	"countersign/backend/approval"
	"countersign/backend/effect"
	"countersign/backend/policy"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/registry"
	"countersign/backend/session"
	"countersign/backend/store"
	"countersign/backend/tool"
)

// call is one open tool call of the newest answer.
type call struct {
	block    protocol.ToolCallBlock
	index    int
	standing agent.Standing
	effect   *effect.Effect
	result   *result

	// What looking at the call found, before anything is stored.
	tool   tool.Tool
	args   json.RawMessage
	plan   tool.Plan
	hash   string
	denied *tool.DeniedError

	// What allows a ready call.
	authority protocol.Authority
	approval  protocol.ApprovalID
	grant     string
}

// result is what the model reads of a call that has ended.
type result struct {
	text    string
	isError bool
	receipt protocol.ReceiptID
	taint   protocol.Taint
}

func agentOf(q store.Querier, r queue.Run) (registry.Agent, error) {
	return registry.GetAgent(q, r.AgentID)
}

// Decide implements agent.Journal. It looks at every open call on the machine
// first, then settles the whole batch in one transaction.
func (j *journal) Decide(ctx context.Context, _ []protocol.ToolCallBlock) ([]agent.Call, error) {
	for _, c := range j.pending {
		if err := j.look(ctx, c); err != nil {
			return nil, err
		}
	}
	var ended error
	var decided []*call
	var flushed []protocol.Message
	err := j.tx(ctx, func(tx *store.Tx, r queue.Run) (err error) {
		ended, decided, flushed = nil, nil, nil
		if ended, err = j.mayGoOn(tx, r); err != nil || ended != nil {
			return err
		}
		if r.ToolCalls > r.Limits.ToolCalls {
			ended = agent.ErrParked
			return j.m.ceiling(tx, r, protocol.CeilingToolCalls)
		}
		for _, c := range j.pending {
			next := *c
			if err := j.settle(tx, r, &next); err != nil {
				return err
			}
			decided = append(decided, &next)
		}
		flushed, err = j.flushOf(tx, decided)
		return err
	})
	if err == nil {
		err = ended
	}
	if err != nil {
		return nil, err
	}
	j.pending = decided
	calls := make([]agent.Call, len(decided))
	for i, c := range decided {
		reads := c.tool != nil && c.tool.Spec().Class.Repeat == tool.RepeatRead && !c.tool.Spec().Class.Outward
		calls[i] = agent.Call{Block: c.block, Standing: c.standing, Reads: reads}
	}
	j.flushed(flushed)
	return calls, nil
}

// look finds the tool of a call, checks its arguments and plans it. What the
// model got wrong becomes its result; what no one may allow is noted.
func (j *journal) look(ctx context.Context, c *call) error {
	if c.result != nil || c.effect != nil && c.effect.State.Ended() {
		return nil
	}
	wrong := func(words string) error {
		c.result = &result{text: words, isError: true}
		return nil
	}
	t, ok := j.m.o.Tools.Get(c.block.Name)
	if !ok {
		return wrong(fmt.Sprintf("There is no tool named %q.", c.block.Name))
	}
	c.tool = t
	args, err := j.m.o.Tools.Check(c.block.Name, c.block.Arguments)
	var bad *tool.ArgumentError
	if errors.As(err, &bad) {
		return wrong(bad.Sentence)
	}
	if err != nil {
		return fmt.Errorf("check arguments of %s: %w", c.block.Name, err)
	}
	c.args = args
	plan, err := t.Plan(ctx, j.env, args)
	switch {
	case err == nil:
	case errors.As(err, &bad):
		return wrong(bad.Sentence)
	case errors.As(err, &c.denied):
		c.plan = tool.Plan{Tool: c.block.Name, Args: args, Target: target(args)}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		j.m.o.Logger.Warn("plan call", "tool", c.block.Name, "cause", err)
		return wrong("This could not be prepared: " + err.Error())
	}
	if err == nil {
		c.plan = plan
	}
	c.hash = tool.PlanHash(c.plan)
	return nil
}

// target names what a refused call was about.
func target(args json.RawMessage) string {
	var named struct {
		Path string   `json:"path"`
		Argv []string `json:"argv"`
	}
	if err := json.Unmarshal(args, &named); err != nil {
		return "its arguments"
	}
	if named.Path != "" {
		return named.Path
	}
	return commandText(named.Argv)
}

// settle finds what may be done with one call, and stores that.
func (j *journal) settle(tx *store.Tx, r queue.Run, c *call) error {
	switch {
	case c.result != nil:
		c.standing = agent.Settled
		return nil
	case c.effect != nil && c.effect.State.Ended():
		c.result = &result{text: c.effect.ResultText, isError: c.effect.IsError, receipt: c.effect.ReceiptID, taint: c.effect.Taint}
		c.standing = agent.Settled
		return nil
	case c.effect != nil:
		return j.settleAsked(tx, r, c)
	}
	return j.settleNew(tx, r, c)
}

// settleNew asks policy about a call that is seen for the first time.
func (j *journal) settleNew(tx *store.Tx, r queue.Run, c *call) error {
	d, err := j.decide(tx, c)
	if err != nil {
		return err
	}
	c.authority = protocol.Authority{Kind: "clause", Clause: d.Clause.Text}
	switch d.Verdict {
	case policy.Deny:
		c.effect = j.newEffect(c)
		return j.refuse(tx, c, "Refused: "+d.Clause.Text+" Nothing was done.", true)
	case policy.Ask:
		c.effect, c.standing = j.newEffect(c), agent.Waiting
		if err := effect.Insert(tx, *c.effect); err != nil {
			return err
		}
		return approval.Ask(tx, j.question(c, d))
	}
	if asker, ok := c.tool.(tool.Asker); ok {
		return j.askOwner(tx, c, asker)
	}
	if d.GrantID != "" {
		c.grant, c.authority.Kind = d.GrantID, "grant"
	}
	c.standing = agent.Ready
	return nil
}

// decide puts one planned call to policy.
func (j *journal) decide(tx *store.Tx, c *call) (policy.Decision, error) {
	grants, err := approval.Grants(tx, j.run.SessionID, c.hash)
	if err != nil {
		return policy.Decision{}, err
	}
	now := j.m.o.Now()
	q := policy.Question{
		Act: Act(c.tool.Spec()), Powers: policy.Powers{Allow: j.agent.Allow, Deny: j.agent.Deny}, PlanHash: c.hash, Truncated: c.plan.Card.Truncated,
		Sandboxed: j.m.o.Sandboxed(), ReadTainted: j.readTainted(), PrivateInReach: true, Now: now,
	}
	q.Act.Outward = q.Act.Outward || c.plan.Outward
	if c.denied != nil {
		q.Refused = policy.Clause{ID: c.denied.Clause, Text: c.denied.Sentence}
	}
	for _, g := range grants {
		pg := policy.Grant{ID: g.ID, PlanHash: g.PlanHash, Remaining: g.Remaining}
		if g.ExpiresAtMs > 0 {
			pg.Expires = now.Add(msUntil(now, g.ExpiresAtMs))
		}
		q.Grants = append(q.Grants, pg)
	}
	return policy.Decide(q), nil
}

// Act is what policy is told of a tool.
func Act(s tool.Spec) policy.Act {
	return policy.Act{Tool: s.Name, Group: s.Group, Reads: s.Class.Repeat == tool.RepeatRead, Outward: s.Class.Outward}
}

// readTainted reports whether text from outside is in the history.
func (j *journal) readTainted() bool {
	for _, m := range j.history {
		if m.Taint == protocol.TaintOutside {
			return true
		}
	}
	return false
}

// settleAsked looks at what a person said to a call that was asked.
func (j *journal) settleAsked(tx *store.Tx, r queue.Run, c *call) error {
	if _, ok := c.tool.(tool.Asker); ok {
		return j.settleQuestion(tx, c)
	}
	a, ok, err := approval.OfEffect(tx, c.effect.ID)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("call %s waits without a question", c.block.ID)
	}
	c.authority = protocol.Authority{Kind: "approval", Clause: a.Request.Clause, ApprovalID: a.ID, Decision: a.Decision, AtMs: a.ResolvedAtMs, Reason: a.Reason}
	if a.Resolver != nil {
		c.authority.By = a.Resolver.Name
	}
	switch a.State {
	case protocol.ApprovalPending:
		c.standing = agent.Waiting
		return nil
	case protocol.ApprovalAllowed:
		return j.settleAllowed(tx, c, a)
	}
	words := "The owner did not allow this; nothing was done. Do not try to reach the same by another way."
	if a.Reason != "" {
		words += " The reason: " + a.Reason
	}
	return j.refuse(tx, c, words, false)
}

// settleAllowed makes an allowed call ready, if the plan of now is the one that
// was allowed; anything else is a new question.
func (j *journal) settleAllowed(tx *store.Tx, c *call, a protocol.Approval) error {
	if c.denied != nil {
		c.authority = protocol.Authority{Kind: "clause", Clause: c.denied.Sentence}
		return j.refuse(tx, c, "Refused: "+c.denied.Sentence+" Nothing was done.", false)
	}
	if a.Request.PlanHash == c.hash {
		c.approval, c.standing = a.ID, agent.Ready
		return nil
	}
	d, err := j.decide(tx, c)
	if err != nil {
		return err
	}
	if d.Verdict == policy.Deny {
		c.authority = protocol.Authority{Kind: "clause", Clause: d.Clause.Text}
		return j.refuse(tx, c, "Refused: "+d.Clause.Text+" Nothing was done.", false)
	}
	replanned := j.newEffect(c)
	replanned.ID = c.effect.ID
	if err := effect.Replan(tx, *replanned); err != nil {
		return err
	}
	var allowed tool.Plan
	if err := json.Unmarshal(c.effect.Plan, &allowed); err != nil {
		return fmt.Errorf("decode the allowed plan of %s: %w", c.effect.ID, err)
	}
	c.effect, c.standing = replanned, agent.Waiting
	q := j.question(c, d)
	q.Request.Changed = tool.Changed(c.tool, allowed, c.plan)
	return approval.Ask(tx, q)
}

// refuse ends a call that is not allowed, with a receipt. insert says that its
// effect is not stored yet.
func (j *journal) refuse(tx *store.Tx, c *call, words string, insert bool) error {
	c.standing = agent.Settled
	c.effect.Authority = c.authority
	end := j.ending(c, protocol.OutcomeDenied)
	end.ResultText, end.IsError, end.Facts.NeverStarted = words, true, true
	finish := effect.Finish
	if insert {
		finish = effect.Record
	}
	receipt, err := finish(tx, *c.effect, end, j.m.nowMs())
	if err != nil {
		return err
	}
	c.result = &result{text: words, isError: true, receipt: receipt.ID}
	return nil
}

func (j *journal) newEffect(c *call) *effect.Effect {
	plan, err := json.Marshal(c.plan)
	if err != nil {
		panic(err) // a plan is made of strings and raw JSON that was checked
	}
	spec := c.tool.Spec()
	return &effect.Effect{
		ID: protocol.EffectID(j.m.o.NewID()), RunID: j.run.ID, SessionKey: j.run.SessionKey, AgentID: j.run.AgentID, MessageID: j.batchOf,
		ToolCallID: c.block.ID, CallIndex: c.index, Tool: spec.Name, Class: spec.Effect, Repeat: string(spec.Class.Repeat),
		Args: c.plan.Args, Plan: plan, PlanHash: c.hash, Target: c.plan.Target, Authority: c.authority, State: effect.Planned, PlannedMs: j.m.nowMs(),
	}
}

// question turns a plan into what a person is asked.
func (j *journal) question(c *call, d policy.Decision) protocol.Approval {
	card := c.plan.Card
	req := protocol.ApprovalRequest{
		AgentID: j.run.AgentID, AgentName: j.agent.Name, SessionKey: j.run.SessionKey, RunID: j.run.ID, ToolCallID: c.block.ID, EffectID: c.effect.ID,
		Tool: c.block.Name, ForWhom: j.run.Sender, Sentence: card.Sentence, Command: commandText(card.Argv), CommandArgv: card.Argv, Cwd: card.Cwd,
		EnvKeys: card.EnvKeys, ResolvedPath: card.Resolved, Host: "gateway", Security: "allowlist", Ask: "always", WarningText: card.Warning,
		Target: c.plan.Target, Diff: card.Diff, Input: card.Input, Scripts: card.Scripts, Truncated: card.Truncated, Clause: d.Clause.Text, Reach: card.Reach, HighRisk: card.HighRisk,
		PlanHash: c.hash, Args: c.plan.Args, AllowedDecisions: []protocol.Decision{protocol.AllowOnce, protocol.Deny}, Taint: j.sources(),
	}
	if m := j.m.o.MaskMark; m != "" && c.tool.Spec().Effect == protocol.ClassWrite && strings.Contains(string(c.plan.Args), m) {
		req.HighRisk = true
		req.WarningText = strings.TrimSpace("A secret was hidden from the model here, and it would write the mask over it. " + req.WarningText)
	}
	switch {
	case card.Truncated:
		req.AllowedDecisions = []protocol.Decision{protocol.Deny}
	case d.MayAllowSession && !req.HighRisk:
		req.AllowedDecisions = []protocol.Decision{protocol.AllowOnce, protocol.AllowSession, protocol.Deny}
	}
	return protocol.Approval{ID: protocol.ApprovalID(j.m.o.NewID()), Request: req, State: protocol.ApprovalPending, CreatedAtMs: j.m.nowMs()}
}

// sources names where untrusted text in the history came from, newest first.
func (j *journal) sources() []protocol.TaintSource {
	var out []protocol.TaintSource
	for i := len(j.history) - 1; i >= 0 && len(out) < 3; i-- {
		if m := j.history[i]; m.Taint == protocol.TaintOutside {
			out = append(out, protocol.TaintSource{Source: "the output of " + m.ToolName, Passage: session.Shorten(m.Content.Text())})
		}
	}
	return out
}

// flush stores the results of settled calls in the model's order, up to the
// first that has none.
func (j *journal) flush(tx *store.Tx) ([]protocol.Message, error) { return j.flushOf(tx, j.pending) }

func (j *journal) flushOf(tx *store.Tx, calls []*call) ([]protocol.Message, error) {
	var out []protocol.Message
	for _, c := range calls {
		if c.result == nil {
			break
		}
		msg, err := session.Append(tx, j.run.SessionID, protocol.Message{
			ID: protocol.MessageID(j.m.o.NewID()), Role: protocol.RoleToolResult, RunID: j.run.ID, TimestampMs: j.m.nowMs(), Origin: protocol.OriginSystem,
			Taint: c.result.taint, ToolCallID: c.block.ID, ToolName: c.block.Name, IsError: c.result.isError, ReceiptID: c.result.receipt,
			Content: protocol.Blocks{protocol.TextBlock{Text: c.result.text}},
		})
		if err != nil {
			return nil, err
		}
		out = append(out, msg)
	}
	return out, nil
}

// flushed notes in memory what a committed flush has stored.
func (j *journal) flushed(messages []protocol.Message) {
	j.history = append(j.history, messages...)
	j.pending = j.pending[len(messages):]
}
