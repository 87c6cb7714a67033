package run

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"countersign/backend/agent"
	"countersign/backend/effect"
	"countersign/backend/model"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/registry"
	"countersign/backend/session"
	"countersign/backend/store"
	"countersign/backend/tool"
)

// journal is one run under one lease. The lane is exclusive, so what it read of
// the transcript stays true and is kept in memory; what it adds is committed
// first.
type journal struct {
	m        *Manager
	lease    queue.Lease
	run      queue.Run // as claimed
	live     *live
	agent    registry.Agent
	env      tool.Env
	system   string
	selected Selected
	history  []protocol.Message

	pending []*call // calls of the newest answer without a stored result
	batchOf protocol.MessageID

	// commits is a lane: reading calls that run side by side store their results
	// one after the other. Its holder owns seen, history and pending.
	commits chan struct{}
	seen    time.Time // until when working time has been counted
}

// lane waits for the right to commit and returns how to give it back.
func (j *journal) lane() (leave func()) {
	j.commits <- struct{}{}
	return func() { <-j.commits }
}

// tx runs fn under the lease: a lease that is void writes nothing.
func (j *journal) tx(ctx context.Context, fn func(tx *store.Tx, r queue.Run) error) error {
	return j.m.o.DB.Write(ctx, func(tx *store.Tx) error {
		r, err := queue.Held(tx, j.lease)
		if err != nil {
			return err
		}
		return fn(tx, r)
	})
}

// prepare reads what the run works with: its agent, place, model and history.
func (j *journal) prepare(ctx context.Context) error {
	j.seen = j.m.o.Now()
	j.live.phase("preparing_context", "")
	var folders []registry.Folder
	err := j.m.o.DB.Read(ctx, func(tx *store.ReadTx) (err error) {
		if j.agent, err = registry.GetAgent(tx, j.run.AgentID); err != nil {
			return err
		}
		if folders, err = registry.Folders(tx, j.run.AgentID); err != nil {
			return err
		}
		if j.history, err = session.History(tx, j.run.SessionID); err != nil {
			return err
		}
		return j.openCalls(tx)
	})
	if err != nil {
		return fmt.Errorf("read run: %w", err)
	}
	if j.env, err = j.m.o.Places.Env(ctx, j.agent, folders); err != nil {
		return err
	}
	if j.system, err = j.m.o.Places.Prompt(ctx, j.agent, j.env); err != nil {
		return err
	}
	j.selected, err = j.m.o.Models.Select(ctx, j.run.Model, j.agent.Model)
	return err
}

// openCalls finds the calls of the newest answer that have no stored result, and
// what became of each so far.
func (j *journal) openCalls(q store.Querier) error {
	answered := make(map[string]bool)
	for i := len(j.history) - 1; i >= 0; i-- {
		m := j.history[i]
		if m.RunID != j.run.ID {
			continue // one that was stopped while it waited behind this run stands between
		}
		if m.Role == protocol.RoleToolResult {
			answered[m.ToolCallID] = true
			continue
		}
		if m.Role == protocol.RoleAssistant && m.RunID == j.run.ID && !m.Incomplete {
			j.openFrom(m, answered)
		}
		break
	}
	if len(j.pending) == 0 {
		return nil
	}
	effects, err := effect.OfRun(q, j.run.ID)
	if err != nil {
		return err
	}
	byCall := make(map[string]effect.Effect, len(effects))
	for _, e := range effects {
		byCall[e.ToolCallID] = e
	}
	for _, c := range j.pending {
		if e, ok := byCall[c.block.ID]; ok {
			c.effect = &e
		}
	}
	return nil
}

func (j *journal) openFrom(m protocol.Message, answered map[string]bool) {
	j.pending, j.batchOf = nil, m.ID
	for i, block := range m.Content.ToolCalls() {
		if !answered[block.ID] {
			j.pending = append(j.pending, &call{block: block, index: i})
		}
	}
}

// Open implements agent.Journal.
func (j *journal) Open(context.Context) ([]protocol.ToolCallBlock, error) {
	blocks := make([]protocol.ToolCallBlock, len(j.pending))
	for i, c := range j.pending {
		blocks[i] = c.block
	}
	return blocks, nil
}

// worked returns the working time since it was last asked, in milliseconds.
func (j *journal) worked() int64 {
	now := j.m.o.Now()
	ms := now.Sub(j.seen).Milliseconds()
	if ms < 0 {
		ms = 0 // the wall clock stepped back
	}
	j.seen = now
	return ms
}

// BeginModelCall implements agent.Journal: it counts the call before it is made,
// so that a crash cannot make one for free.
func (j *journal) BeginModelCall(ctx context.Context) (model.Request, error) {
	var ended error
	var note *protocol.Message
	err := j.tx(ctx, func(tx *store.Tx, r queue.Run) (err error) {
		ended, note = nil, nil
		if ended, err = j.mayGoOn(tx, r); err != nil || ended != nil {
			return err
		}
		if r.ModelCalls >= r.Limits.ModelCalls {
			ended = agent.ErrParked
			return j.m.ceiling(tx, r, protocol.CeilingModelCalls)
		}
		if note, err = j.takeNote(tx, r); err != nil {
			return err
		}
		return queue.Advance(tx, r.ID, queue.Progress{ModelCalls: 1, WallMs: j.worked(), Step: stepThinking, Model: j.selected.Name}, j.m.nowMs())
	})
	if err == nil {
		err = ended
	}
	if err != nil {
		return model.Request{}, err
	}
	if note != nil {
		j.history = append(j.history, *note)
	}
	j.live.phase("starting_model", stepThinking)
	return j.request()
}

// takeNote moves what a person wrote beside a decision into the transcript.
func (j *journal) takeNote(tx *store.Tx, r queue.Run) (*protocol.Message, error) {
	note, err := queue.TakeNote(tx, r.ID)
	if err != nil || note == "" {
		return nil, err
	}
	msg, err := session.Append(tx, r.SessionID, protocol.Message{
		ID: protocol.MessageID(j.m.o.NewID()), Role: protocol.RoleUser, Origin: protocol.OriginOwner, Taint: protocol.TaintOwner, RunID: r.ID,
		TimestampMs: j.m.nowMs(), Content: protocol.Blocks{protocol.TextBlock{Text: note}},
	})
	return &msg, err
}

// mayGoOn releases or stops a run before its next step where the owner asked for
// it. The returned error, if any, ends the loop.
func (j *journal) mayGoOn(tx *store.Tx, r queue.Run) (ended, err error) {
	if r.StopRequested {
		return errStopped, nil
	}
	paused, err := queue.Paused(tx)
	if err != nil || !paused {
		return nil, err
	}
	return agent.ErrReleased, queue.Release(tx, r.ID, stepPaused, false, j.m.nowMs())
}

// request builds what is sent to the model from the repaired history.
func (j *journal) request() (model.Request, error) {
	messages := session.Repair(j.history)
	for i := range messages {
		filled, err := j.fill(messages[i].Content)
		if err != nil {
			return model.Request{}, err
		}
		messages[i].Content = filled
	}
	specs := j.m.o.Tools.Specs()
	tools := make([]model.ToolSpec, len(specs))
	for i, s := range specs {
		tools[i] = model.ToolSpec{Name: s.Name, Description: s.Description, Schema: s.Schema}
	}
	return model.Request{Model: j.selected.Model, System: j.system, Messages: messages, Tools: tools, Thinking: j.run.Thinking}, nil
}

// fill loads stored pictures into a copy of a message's content. One that cannot
// be read costs that picture, not the conversation.
func (j *journal) fill(content protocol.Blocks) (protocol.Blocks, error) {
	var out protocol.Blocks
	for i, b := range content {
		img, ok := b.(protocol.ImageBlock)
		if !ok || img.Data != "" || img.Blob == "" {
			continue
		}
		if out == nil {
			out = append(protocol.Blocks(nil), content...)
		}
		data, err := j.m.o.Blobs.Get(img.Blob)
		if err != nil {
			j.m.o.Logger.Warn("read picture", "blob", img.Blob, "cause", err)
			out[i] = protocol.TextBlock{Text: "[The picture " + img.FileName + " can no longer be read.]"}
			continue
		}
		img.Data = base64.StdEncoding.EncodeToString(data)
		out[i] = img
	}
	if out == nil {
		return content, nil
	}
	return out, nil
}

// Answer implements agent.Journal.
func (j *journal) Answer(ctx context.Context, resp model.Response) (done bool, err error) {
	msg := j.message(resp)
	calls := msg.Content.ToolCalls()
	done = len(calls) == 0
	msg, err = j.store(ctx, msg, func(tx *store.Tx, r queue.Run, stored *protocol.Message) error {
		usage := *stored.Usage
		p := queue.Progress{WallMs: j.worked(), ToolCalls: int64(len(calls)), InputTokens: usage.Input + usage.CacheRead + usage.CacheWrite, OutputTokens: usage.Output}
		if err := queue.Advance(tx, r.ID, p, j.m.nowMs()); err != nil || !done {
			return err
		}
		return j.m.finish(tx, r, queue.Ending{State: protocol.RunDone}, stored)
	})
	if err != nil || done {
		return done && err == nil, err
	}
	j.openFrom(msg, nil)
	return false, nil
}

// message turns a response into a transcript message. Calls of an answer that
// was cut by its length are not dispatched; identifiers that a provider left out
// or used before are replaced, for one call has one result.
func (j *journal) message(resp model.Response) protocol.Message {
	usage := resp.Usage
	if !resp.UsageKnown {
		usage = j.estimate(resp)
	}
	msg := protocol.Message{
		ID: protocol.MessageID(j.m.o.NewID()), Role: protocol.RoleAssistant, TimestampMs: j.m.nowMs(), RunID: j.run.ID, Origin: protocol.OriginAgent,
		Provider: string(j.selected.Kind), Model: j.selected.Name, StopReason: resp.StopReason, Usage: &usage,
	}
	cut := resp.StopReason == protocol.StopLength || resp.StopReason == protocol.StopRefusal
	used := j.usedCallIDs()
	for _, b := range resp.Content {
		c, isCall := b.(protocol.ToolCallBlock)
		if !isCall {
			msg.Content = append(msg.Content, b)
			continue
		}
		if cut {
			continue
		}
		if c.ID == "" || used[c.ID] {
			c.ID = "call_" + j.m.o.NewID()
		}
		if len(c.Arguments) == 0 {
			c.Arguments = json.RawMessage("{}")
		}
		used[c.ID] = true
		msg.Content = append(msg.Content, c)
	}
	if cut {
		msg.Incomplete = true
		msg.ErrorMessage = "The model stopped here because its answer reached the length limit. Ask it to go on."
		if resp.StopReason == protocol.StopRefusal {
			msg.ErrorMessage = "The model declined to answer this."
		}
	}
	return msg
}

func (j *journal) usedCallIDs() map[string]bool {
	used := make(map[string]bool)
	for _, m := range j.history {
		for _, c := range m.Content.ToolCalls() {
			used[c.ID] = true
		}
	}
	return used
}

// estimate counts four bytes a token where the provider gave no figures.
func (j *journal) estimate(resp model.Response) protocol.Usage {
	size := func(m protocol.Blocks) (n int64) {
		raw, err := json.Marshal(m)
		if err != nil {
			return 0
		}
		return int64(len(raw))
	}
	in := int64(len(j.system))
	for _, m := range j.history {
		in += size(m.Content)
	}
	return protocol.Usage{Input: in / 4, Output: (size(resp.Content) + 3) / 4, Estimated: true}
}

// store appends a message and what belongs with it in one transaction.
func (j *journal) store(ctx context.Context, msg protocol.Message, also func(*store.Tx, queue.Run, *protocol.Message) error) (protocol.Message, error) {
	var stored protocol.Message
	err := j.tx(ctx, func(tx *store.Tx, r queue.Run) (err error) {
		if stored, err = session.Append(tx, j.run.SessionID, msg); err != nil {
			return err
		}
		return also(tx, r, &stored)
	})
	if err != nil {
		return msg, err
	}
	j.history = append(j.history, stored)
	j.live.settled()
	return stored, nil
}

// Broken implements agent.Journal: it keeps the text that had arrived, marked
// incomplete, and ends the run with the reason. A run that was stopped or goes
// back to its queue is ended by end instead.
func (j *journal) Broken(ctx context.Context, partial model.Response, cause error) error {
	stopped := errors.Is(context.Cause(ctx), errStopped)
	if ctx.Err() != nil && !stopped {
		return cause
	}
	var text protocol.Blocks
	for _, b := range partial.Content {
		switch b.(type) {
		case protocol.TextBlock, protocol.ThinkingBlock:
			text = append(text, b)
		}
	}
	if text.Text() == "" {
		return cause
	}
	msg := j.message(model.Response{Content: text, StopReason: protocol.StopError, Usage: partial.Usage, UsageKnown: partial.UsageKnown})
	msg.Incomplete = true
	msg.ErrorMessage = sentence(cause)
	if stopped {
		msg.StopReason, msg.ErrorMessage = protocol.StopAborted, ""
	}
	_, err := j.store(context.WithoutCancel(ctx), msg, func(tx *store.Tx, r queue.Run, stored *protocol.Message) error {
		p := queue.Progress{WallMs: j.worked(), InputTokens: stored.Usage.Input, OutputTokens: stored.Usage.Output}
		return queue.Advance(tx, r.ID, p, j.m.nowMs())
	})
	return errors.Join(cause, err)
}
