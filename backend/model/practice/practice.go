// Package practice is a model provider that is no AI: a small program that
// follows plain requests, so that everything can be tried offline and without a
// key, and tested without chance.
//
// It answers from the history alone and keeps nothing: which steps of a request
// are done shows in the calls already made, whose identifiers are computed from
// the request. The same history gives the same answer, byte for byte. It says
// what it is when a conversation begins and whenever it is asked, never claims
// to have understood what it has not, and does nothing at all when a part of a
// request is unclear to it.
package practice

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"countersign/backend/model"
	"countersign/backend/protocol"
)

// Name is the model's name.
const Name = "practice"

// Options are for demonstrations and tests; the zero value is the product's.
type Options struct {
	// Delay is waited before each delta.
	Delay time.Duration
}

// Provider is the practice model. It is safe for concurrent use.
type Provider struct {
	options Options
}

// New implements model.Factory. It needs nothing of the config and cannot fail.
func New(model.Config) (model.Provider, error) { return With(Options{}), nil }

// With returns the practice model with options.
func With(o Options) *Provider { return &Provider{options: o} }

// Models implements model.Lister.
func (p *Provider) Models(context.Context) ([]string, error) { return []string{Name}, nil }

// Stream implements model.Provider.
func (p *Provider) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	t := next(req)
	s := &speaker{ctx: ctx, delay: p.options.Delay, emit: emit}
	resp := model.Response{StopReason: protocol.StopEnd, Model: Name}
	if t.thinking != "" {
		said := s.say(t.thinking, func(part string) model.Delta { return model.Delta{Thinking: part} })
		resp.Content = append(resp.Content, protocol.ThinkingBlock{Thinking: said})
	}
	if t.text != "" && s.err == nil {
		said := s.say(t.text, func(part string) model.Delta { return model.Delta{Text: part} })
		if said != "" {
			resp.Content = append(resp.Content, protocol.TextBlock{Text: said})
		}
	}
	if s.err == nil && t.fail != nil {
		failed := *t.fail
		failed.Streamed = len(resp.Content) > 0
		s.err = &failed
	}
	if s.err == nil {
		for _, c := range t.calls {
			s.send(model.Delta{ToolName: c.Name})
		}
	}
	if s.err != nil {
		resp.StopReason = protocol.StopError
		return resp, s.err
	}
	for _, c := range t.calls {
		resp.Content = append(resp.Content, c)
		resp.StopReason = protocol.StopToolUse
	}
	return resp, nil
}

// turn is what the practice model says and asks for next.
type turn struct {
	thinking string
	text     string
	calls    []protocol.ToolCallBlock
	fail     *model.Error
}

// next finds the turn that follows a history.
func next(req model.Request) turn {
	h := read(req.Messages)
	steps := parse(h.request)
	tools := readTools(req.Tools)
	t := turn{}
	if h.first && steps[0].actions[0].kind != kindIdentity {
		t.say(introduction)
	}
	if why := refuse(steps, tools); why != "" {
		t.say(why)
		return t
	}
	t.walk(h, steps, tools)
	return t
}

// walk goes through the steps: what is done is passed over, what is only said is
// said just before the step that follows it, and the first call that is not made
// yet ends the turn.
func (t *turn) walk(h history, steps []step, tools toolbox) {
	var done []outcome
	var pending turn
	for i, s := range steps {
		if s.talks() {
			pending.talk(s.actions[0])
			continue
		}
		for round := 0; round == 0 || s.loops; round++ {
			calls := h.calls(i, round, s, tools)
			results, made := h.results(calls)
			if !made {
				t.join(pending)
				t.begin(s, round)
				t.calls = calls
				return
			}
			came := outcomes(s, results)
			done = append(done, came...)
			pending = turn{}
			if stopped(came) {
				t.say(summary(done, steps[i+1:]))
				return
			}
		}
	}
	if len(done) > 0 {
		t.say(summary(done, nil))
	}
	t.join(pending)
}

// say adds a paragraph.
func (t *turn) say(text string) {
	if t.text != "" && text != "" {
		t.text += "\n\n"
	}
	t.text += text
}

// join adds what another turn says.
func (t *turn) join(other turn) {
	t.say(other.text)
	t.thinking += other.thinking
	t.fail = other.fail
}

// talk says what a step without a tool asks for.
func (t *turn) talk(a action) {
	switch a.kind {
	case kindThink:
		t.thinking += thoughts(a.text)
		t.say("I have thought about " + a.text + ". As a practice model I have no opinion on it; the thinking above only shows where a real model's would be.")
	case kindPretend:
		t.fail = pretended(a.text)
	default:
		t.say(a.speech())
	}
}

// begin announces the calls of a step.
func (t *turn) begin(s step, round int) {
	text := announce(s.actions)
	if s.loops && round > 0 {
		text = fmt.Sprintf("Round %d. ", round+1) + text
	}
	t.say(text)
}

// speaker sends deltas until the context ends.
type speaker struct {
	ctx   context.Context
	delay time.Duration
	emit  func(model.Delta)
	err   error
}

// say sends text in pieces of about a word and returns what was sent.
func (s *speaker) say(text string, delta func(string) model.Delta) string {
	said := 0
	for _, part := range pieces(text) {
		if !s.send(delta(part)) {
			break
		}
		said += len(part)
	}
	return text[:said]
}

func (s *speaker) send(d model.Delta) bool {
	if s.err == nil && s.delay > 0 {
		timer := time.NewTimer(s.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.ctx.Done():
		}
	}
	if s.err == nil && s.ctx.Err() != nil {
		s.err = context.Cause(s.ctx)
	}
	if s.err != nil {
		return false
	}
	s.emit(d)
	return true
}

// pieces cuts text behind spaces and newlines, so that no character is split.
func pieces(text string) []string {
	var out []string
	start := 0
	for i := 0; i < len(text); i++ {
		if text[i] == ' ' || text[i] == '\n' {
			out = append(out, text[start:i+1])
			start = i + 1
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// raw encodes a value that is known to have a JSON form.
func raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic("practice: encode arguments: " + err.Error())
	}
	return data
}
