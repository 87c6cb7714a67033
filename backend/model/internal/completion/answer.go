// Package completion reads the answers of Chat Completions servers from their
// chunks: text, thinking and calls, whatever the server's habits are.
//
// It knows no connection. It is apart from the provider so that it can be tested
// and fuzzed without the library that carries the chunks.
package completion

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"countersign/backend/model"
	"countersign/backend/model/internal/wire"
	"countersign/backend/protocol"
)

// Answer gathers one response from its chunks. It is not safe for concurrent use.
type Answer struct {
	words *words
	calls calls
	model string
	stop  string
	usage protocol.Usage
	known bool
	begun bool
}

// New returns an empty answer that shows its parts by emit.
func New(emit func(model.Delta)) *Answer {
	return &Answer{
		words: newWords(emit),
		calls: calls{begun: func(name string) { emit(model.Delta{ToolName: name}) }},
	}
}

// Begun reports whether anything of the answer has come.
func (a *Answer) Begun() bool { return a.begun }

// Stopped reports whether the server has said that the answer is whole.
func (a *Answer) Stopped() bool { return a.stop != "" }

// Take reads one chunk. A chunk that is an error of the server is returned as
// refusal, with the status that it names or 200.
func (a *Answer) Take(raw []byte) (refusal *wire.Answer, err error) {
	var c chunk
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("read a chunk: %w", err)
	}
	if told, ok := c.refusal(); ok {
		told.Status = statusOf(told)
		return &told, nil
	}
	a.chunk(c)
	return nil, nil
}

func (a *Answer) chunk(c chunk) {
	a.begun = true
	if c.Model != "" {
		a.model = string(c.Model)
	}
	a.count(c.Usage)
	for _, ch := range c.Choices {
		if ch.Index != "" && ch.Index != "0" {
			continue
		}
		for _, m := range []*message{ch.Delta, ch.Message} {
			if m != nil {
				a.message(m)
			}
		}
		if ch.FinishReason != "" {
			a.stop = string(ch.FinishReason)
		}
	}
}

func (a *Answer) message(m *message) {
	a.words.think(m.thinking())
	a.words.write(m.text())
	if m.Refusal != "" {
		a.words.write(string(m.Refusal))
	}
	for _, d := range m.ToolCalls {
		a.calls.add(d)
	}
	if f := m.FunctionCall; f != nil {
		a.calls.add(toolDelta{Index: "0", Function: *f})
	}
}

func (a *Answer) count(u *usage) {
	if u == nil {
		return
	}
	in, errIn := u.Prompt.Int64()
	out, errOut := u.Completion.Int64()
	if errIn != nil || errOut != nil || in == 0 && out == 0 {
		return
	}
	cached, err := u.Details.Cached.Int64()
	if err != nil || cached > in {
		cached = 0
	}
	a.known = true
	a.usage = protocol.Usage{Input: in - cached, Output: out, CacheRead: cached}
}

// Failed is what is kept of an answer that err has ended.
func (a *Answer) Failed(err error) (model.Response, error) {
	a.words.end()
	r := a.response(protocol.StopError, a.words.blocks())
	var e *model.Error
	if errors.As(err, &e) {
		e.Streamed = len(r.Content) > 0
	}
	return r, err
}

func (a *Answer) response(stop protocol.StopReason, content protocol.Blocks) model.Response {
	return model.Response{Content: content, StopReason: stop, Usage: a.usage, UsageKnown: a.known, Model: a.model}
}

// Finish makes the complete response, or the error of one that cannot be used.
func (a *Answer) Finish(who wire.Provider, req model.Request) (model.Response, error) {
	a.words.end()
	words := a.words.blocks()
	said := strings.TrimSpace(words.Text()) != ""
	switch a.stop {
	case "length", "max_tokens":
		// Calls of a turn that did not end are not what the model meant to do.
		if !said {
			return a.Failed(who.TooLong())
		}
		return a.response(protocol.StopLength, words), nil
	case "content_filter", "refusal":
		if !said {
			return a.Failed(who.Declined())
		}
		return a.response(protocol.StopRefusal, words), nil
	}
	if calls := a.calls.blocks(req.Messages); len(calls) > 0 {
		for _, c := range calls {
			words = append(words, c)
		}
		return a.response(protocol.StopToolUse, words), nil
	}
	if !said {
		return a.Failed(who.Empty(a.stop))
	}
	return a.response(protocol.StopEnd, words), nil
}

func newID() string { return rand.Text() }
