// Package modeltest is the suite that every model provider runs: Contract for all
// of them, Scripted for those that speak HTTP, against the scripted server.
//
// It holds what package model promises: what streams is what is returned, a call
// is whole or absent, an end that never came is an error, every failure is one
// sentence, and the next request built from an answer is one that the strictest
// provider takes.
package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"countersign/backend/model"
	"countersign/backend/protocol"
	"countersign/backend/testkit/modelstub"
)

// User is a message of the owner.
func User(text string) protocol.Message {
	return protocol.Message{Role: protocol.RoleUser, Origin: protocol.OriginOwner, Content: protocol.Blocks{protocol.TextBlock{Text: text}}}
}

// Tools are two tools to call.
func Tools() []model.ToolSpec {
	return []model.ToolSpec{
		{Name: "list", Description: "List a folder.", Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string"}}}`)},
		{Name: "write", Description: "Write a file.", Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string"},"content":{"type":"string"}}}`)},
	}
}

// Ask is a request with tools.
func Ask(text string) model.Request {
	return model.Request{Model: "stub-small", System: "You are careful.", Messages: []protocol.Message{User(text)}, Tools: Tools()}
}

// Seen is what a person would have on the screen.
type Seen struct {
	Text, Thinking string
	Tools          []string
	Resets         int
}

// Watch returns an emit function and what it gathers.
func Watch() (*Seen, func(model.Delta)) {
	s := &Seen{}
	return s, func(d model.Delta) {
		if d.Reset {
			*s = Seen{Resets: s.Resets + 1}
		}
		s.Text += d.Text
		s.Thinking += d.Thinking
		if d.ToolName != "" {
			s.Tools = append(s.Tools, d.ToolName)
		}
	}
}

// Check holds a response to the contract, beside what was shown of it and the
// error it came with.
func Check(t *testing.T, seen *Seen, resp model.Response, err error) {
	t.Helper()
	if resp.Content.Text() != seen.Text {
		t.Errorf("shown %q, returned %q", seen.Text, resp.Content.Text())
	}
	var names []string
	ids := make(map[string]bool)
	for _, c := range resp.Content.ToolCalls() {
		names = append(names, c.Name)
		if c.ID == "" || ids[c.ID] {
			t.Errorf("identifier %q of a call is empty or used twice", c.ID)
		}
		ids[c.ID] = true
		checkArguments(t, c.Arguments)
	}
	if err != nil {
		if len(names) > 0 {
			t.Errorf("calls %v are returned beside the error %v", names, err)
		}
		checkError(t, resp, err)
		return
	}
	if !slices.Equal(names, seen.Tools) && len(names) > 0 {
		t.Errorf("calls %v, shown %v", names, seen.Tools)
	}
	if (len(names) > 0) != (resp.StopReason == protocol.StopToolUse) {
		t.Errorf("stop reason %s with %d calls", resp.StopReason, len(names))
	}
}

func checkArguments(t *testing.T, args json.RawMessage) {
	t.Helper()
	var object map[string]any
	var text string
	switch {
	case json.Unmarshal(args, &object) == nil && object != nil:
	case json.Unmarshal(args, &text) == nil && len(args) <= 1<<10:
	default:
		t.Errorf("arguments %.80s (%d bytes) are neither an object nor a short string", args, len(args))
	}
}

func checkError(t *testing.T, resp model.Response, err error) {
	t.Helper()
	var failed *model.Error
	if !errors.As(err, &failed) {
		return // the context's cause
	}
	if failed.Kind == "" || failed.Provider == "" || !strings.HasSuffix(failed.Sentence, ".") || strings.ContainsAny(failed.Sentence, "\n{") {
		t.Errorf("an error is not told as it should be: %+v", failed)
	}
	if failed.Streamed != (len(resp.Content) > 0) {
		t.Errorf("streamed is %t with %d blocks", failed.Streamed, len(resp.Content))
	}
}

// Contract is what every provider keeps. req must make p answer with text.
func Contract(t *testing.T, p model.Provider, req model.Request) {
	t.Run("what streams is what is returned", func(t *testing.T) {
		seen, emit := Watch()
		resp, err := p.Stream(t.Context(), req, emit)
		if err != nil || seen.Text == "" {
			t.Fatalf("%q, %v", seen.Text, err)
		}
		Check(t, seen, resp, err)
	})
	t.Run("an ended context gives its cause", func(t *testing.T) {
		cause := errors.New("stopped by the owner")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		seen, emit := Watch()
		resp, err := p.Stream(ctx, req, emit)
		if !errors.Is(err, cause) {
			t.Errorf("error %v", err)
		}
		Check(t, seen, resp, err)
	})
	t.Run("a stop in the middle keeps what had arrived", func(t *testing.T) {
		cause := errors.New("stopped by the owner")
		ctx, cancel := context.WithCancelCause(t.Context())
		seen, emit := Watch()
		resp, err := p.Stream(ctx, req, func(d model.Delta) {
			emit(d)
			cancel(cause)
		})
		if err != nil && !errors.Is(err, cause) {
			t.Errorf("error %v", err)
		}
		Check(t, seen, resp, err)
	})
	t.Run("many at once", func(t *testing.T) {
		var wg sync.WaitGroup
		texts := make([]string, 8)
		for i := range texts {
			wg.Go(func() {
				resp, err := p.Stream(t.Context(), req, func(model.Delta) {})
				texts[i] = fmt.Sprint(resp.Content.Text(), err)
			})
		}
		wg.Wait()
		for _, text := range texts {
			if text != texts[0] || text == "" {
				t.Errorf("%q, and %q", text, texts[0])
			}
		}
	})
	t.Run("the request is not changed", func(t *testing.T) {
		before := fmt.Sprintf("%#v", req.Messages)
		if _, err := p.Stream(t.Context(), req, func(model.Delta) {}); err != nil {
			t.Fatal(err)
		}
		if after := fmt.Sprintf("%#v", req.Messages); after != before {
			t.Error("the messages of the request have changed")
		}
	})
}

// suite runs scripts against one provider.
type suite struct {
	dialect modelstub.Dialect
	factory model.Factory
	stub    *modelstub.Server
	made    model.Provider
}

// Key is what the suite's providers are given; no error may hold it.
const Key = "sk-canary-0123456789abcdef"

// Scripted is what a provider that speaks HTTP keeps, on some hundred scripts.
func Scripted(t *testing.T, dialect modelstub.Dialect, factory model.Factory) {
	stub := modelstub.New(t)
	made, err := factory(model.Config{BaseURL: stub.URL, Key: Key})
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{dialect, factory, stub, made}
	stub.Script(modelstub.Text("Good day, 你好 🦀."))
	Contract(t, made, Ask("hello"))
	t.Run("texts", s.texts)
	t.Run("shapes", s.shapes)
	t.Run("arguments", s.arguments)
	t.Run("stops", s.stops)
	t.Run("refusals", s.refusals)
	t.Run("errors in the stream", s.streamErrors)
	t.Run("silence", s.silence)
	t.Run("cuts", s.cuts)
	t.Run("histories", s.histories)
	t.Run("connections", s.connections)
	t.Run("retries", s.retries)
}

// play sends one request to a script and checks the contract.
func (s *suite) play(t *testing.T, req model.Request, replies ...modelstub.Reply) (*Seen, model.Response, error) {
	t.Helper()
	s.stub.Forget()
	s.stub.Script(replies...)
	seen, emit := Watch()
	resp, err := s.made.Stream(t.Context(), req, emit)
	Check(t, seen, resp, err)
	if err != nil && strings.Contains(fmt.Sprintf("%v %+v", err, err), Key) {
		t.Errorf("the error holds the key: %v", err)
	}
	for _, r := range s.stub.Requests() {
		if r.Invalid != "" {
			t.Errorf("the request is not valid: %s\n%s", r.Invalid, r.Body)
		}
	}
	return seen, resp, err
}

// kind is the kind of an error, "" for none.
func kind(err error) protocol.ErrorKind {
	var failed *model.Error
	if errors.As(err, &failed) {
		return failed.Kind
	}
	if err != nil {
		return protocol.ErrorKind("not a model error: " + err.Error())
	}
	return ""
}
