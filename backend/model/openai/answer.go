package openai

import (
	"errors"
	"strings"

	"countersign/backend/model"
	"countersign/backend/model/internal/wire"
	"countersign/backend/protocol"
)

// answer gathers one response from its chunks.
type answer struct {
	words *words
	calls calls
	model string
	stop  string
	usage protocol.Usage
	known bool
	begun bool
}

func newAnswer(emit func(model.Delta)) *answer {
	return &answer{
		words: newWords(emit),
		calls: calls{begun: func(name string) { emit(model.Delta{ToolName: name}) }},
	}
}

// chunk takes one event.
func (a *answer) chunk(c chunk) {
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

func (a *answer) message(m *message) {
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

func (a *answer) count(u *usage) {
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

func (a *answer) failed(err error) (model.Response, error) {
	a.words.end()
	r := a.response(protocol.StopError, a.words.blocks())
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
	a.words.end()
	words := a.words.blocks()
	said := strings.TrimSpace(words.Text()) != ""
	switch a.stop {
	case "length", "max_tokens":
		// Calls of a turn that did not end are not what the model meant to do.
		if !said {
			return a.failed(who.TooLong())
		}
		return a.response(protocol.StopLength, words), nil
	case "content_filter", "refusal":
		if !said {
			return a.failed(who.Declined())
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
		return a.failed(who.Empty(a.stop))
	}
	return a.response(protocol.StopEnd, words), nil
}
