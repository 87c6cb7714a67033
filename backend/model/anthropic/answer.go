package anthropic

import (
	"errors"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"countersign/backend/model"
	"countersign/backend/model/internal/wire"
	"countersign/backend/protocol"
)

// answer gathers one response from its events.
type answer struct {
	emit   func(model.Delta)
	blocks []*block
	model  string
	stop   sdk.StopReason
	usage  protocol.Usage
	known  bool
	begun  bool
	done   bool
}

// block is one content block; text holds what the deltas of its kind add up to.
type block struct {
	index     int64
	kind      string
	text      strings.Builder
	signature strings.Builder
	id, name  string
	closed    bool
}

// event takes one event. The answer is done with message_stop.
func (a *answer) event(e sdk.MessageStreamEventUnion) {
	a.begun = true
	switch e.Type {
	case "message_start":
		a.model = string(e.Message.Model)
		u := e.Message.Usage
		a.usage = protocol.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens}
	case "content_block_start":
		a.start(e)
	case "content_block_delta":
		if b := a.at(e.Index); b != nil {
			a.delta(b, e.Delta)
		}
	case "content_block_stop":
		if b := a.at(e.Index); b != nil {
			b.closed = true
		}
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.stop = e.Delta.StopReason
		}
		a.count(e.Usage)
	case "message_stop":
		a.done = true
	}
}

// count takes the running totals; what is not told keeps its first value.
func (a *answer) count(u sdk.MessageDeltaUsage) {
	if !u.JSON.OutputTokens.Valid() {
		return
	}
	a.known = true
	a.usage.Output = u.OutputTokens
	if u.JSON.InputTokens.Valid() {
		a.usage.Input = u.InputTokens
	}
	if u.JSON.CacheReadInputTokens.Valid() {
		a.usage.CacheRead = u.CacheReadInputTokens
	}
	if u.JSON.CacheCreationInputTokens.Valid() {
		a.usage.CacheWrite = u.CacheCreationInputTokens
	}
}

func (a *answer) start(e sdk.MessageStreamEventUnion) {
	c := e.ContentBlock
	b := &block{index: e.Index, kind: c.Type, id: c.ID, name: c.Name}
	a.blocks = append(a.blocks, b)
	switch c.Type {
	case "text":
		a.text(b, c.Text)
	case "thinking":
		a.thinking(b, c.Thinking)
		b.signature.WriteString(c.Signature)
	case "redacted_thinking":
		b.signature.WriteString(c.Data)
	case "tool_use":
		if written := c.JSON.Input.Raw(); written != "{}" && written != "null" {
			b.text.WriteString(written) // some servers give the whole input here
		}
		a.emit(model.Delta{ToolName: c.Name})
	}
}

func (a *answer) delta(b *block, d sdk.MessageStreamEventUnionDelta) {
	switch d.Type {
	case "text_delta":
		a.text(b, d.Text)
	case "thinking_delta":
		a.thinking(b, d.Thinking)
	case "signature_delta":
		b.signature.WriteString(d.Signature)
	case "input_json_delta":
		b.text.WriteString(d.PartialJSON)
	}
}

func (a *answer) text(b *block, text string) {
	if text != "" {
		b.text.WriteString(text)
		a.emit(model.Delta{Text: text})
	}
}

func (a *answer) thinking(b *block, text string) {
	if text != "" {
		b.text.WriteString(text)
		a.emit(model.Delta{Thinking: text})
	}
}

// at is the newest block of an index.
func (a *answer) at(index int64) *block {
	for i := len(a.blocks) - 1; i >= 0; i-- {
		if a.blocks[i].index == index {
			return a.blocks[i]
		}
	}
	return nil
}

// complete reports whether all of the content has come: the stop reason follows
// the last block, so an end that is lost after it costs nothing.
func (a *answer) complete() bool {
	if a.done {
		return true
	}
	for _, b := range a.blocks {
		if !b.closed {
			return false
		}
	}
	return a.stop != ""
}

// words are the text and thinking that have come. An unfinished thinking block
// loses its signature, which would not fit it.
func (a *answer) words() protocol.Blocks {
	var out protocol.Blocks
	for _, b := range a.blocks {
		signature := b.signature.String()
		if !b.closed {
			signature = ""
		}
		switch b.kind {
		case "text":
			if b.text.Len() > 0 {
				out = append(out, protocol.TextBlock{Text: b.text.String()})
			}
		case "thinking":
			if b.text.Len() > 0 || signature != "" {
				out = append(out, protocol.ThinkingBlock{Thinking: b.text.String(), Signature: signature})
			}
		case "redacted_thinking":
			if signature != "" {
				out = append(out, protocol.ThinkingBlock{Signature: signature, Redacted: true})
			}
		}
	}
	return out
}

func (a *answer) failed(err error) (model.Response, error) {
	r := a.response(protocol.StopError, a.words())
	var e *model.Error
	if errors.As(err, &e) {
		e.Streamed = len(r.Content) > 0
	}
	return r, err
}

func (a *answer) response(stop protocol.StopReason, content protocol.Blocks) model.Response {
	return model.Response{Content: content, StopReason: stop, Usage: a.usage, UsageKnown: a.known, Model: a.model}
}

// finish makes the complete response, or the error of one that cannot be used.
func (a *answer) finish(who wire.Provider, req model.Request) (model.Response, error) {
	calls := a.calls(req.Messages)
	words := a.words()
	switch a.stop {
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded, sdk.StopReasonPauseTurn:
		// Calls of a turn that did not end are not what the model meant to do.
		if words.Text() == "" {
			return a.failed(who.TooLong())
		}
		return a.response(protocol.StopLength, words), nil
	case sdk.StopReasonRefusal:
		if words.Text() == "" {
			return a.failed(who.Declined())
		}
		return a.response(protocol.StopRefusal, words), nil
	}
	if len(calls) > 0 {
		return a.response(protocol.StopToolUse, a.all(calls)), nil
	}
	if strings.TrimSpace(words.Text()) == "" {
		return a.failed(who.Empty(string(a.stop)))
	}
	return a.response(protocol.StopEnd, words), nil
}

func (a *answer) calls(history []protocol.Message) []protocol.ToolCallBlock {
	var calls []protocol.ToolCallBlock
	for _, b := range a.blocks {
		if b.kind == "tool_use" {
			calls = append(calls, protocol.ToolCallBlock{ID: b.id, Name: b.name, Arguments: wire.Arguments(b.text.String())})
		}
	}
	wire.FreshIDs(history, calls, newID)
	return calls
}

// all puts the calls where the model wrote them.
func (a *answer) all(calls []protocol.ToolCallBlock) protocol.Blocks {
	var out protocol.Blocks
	for _, b := range a.blocks {
		if b.kind == "tool_use" {
			out = append(out, calls[0])
			calls = calls[1:]
			continue
		}
		one := answer{blocks: []*block{b}}
		out = append(out, one.words()...)
	}
	return out
}
