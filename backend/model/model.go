// Package model is the contract between the agent loop and the companies and
// programs that run language models.
//
// A provider turns one request into one complete response and reports text and
// thinking as they arrive. It never retries, never stores anything and never
// knows of tools beyond their schemas: retries belong to [Retrier], of which
// there is exactly one for each call, so that they cannot multiply. What a
// provider cannot finish it returns as [*Error], with the part that had arrived;
// half a tool call is never part of a response.
package model

import (
	"context"
	"encoding/json"
	"time"

	"countersign/backend/protocol"
)

// ToolSpec describes a tool to a model. Schema is a JSON Schema object.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Request is one call of a model. Messages hold the history in order; the
// caller has repaired it, so that each tool call has its result.
type Request struct {
	Model     string
	System    string
	Messages  []protocol.Message
	Tools     []ToolSpec
	MaxTokens int
	// Thinking is "", "low", "medium" or "high"; a provider without it ignores it.
	Thinking string
}

// Response is one complete turn of a model.
//
// Content holds text, thinking and tool calls in the model's order. The
// arguments of a call are a JSON object; when the model wrote something else,
// they are a JSON string with at most 1 KiB of what it wrote, which the loop
// answers with an error result.
type Response struct {
	Content    protocol.Blocks
	StopReason protocol.StopReason
	Usage      protocol.Usage
	// UsageKnown is false when the provider gave no figures; the caller estimates.
	UsageKnown bool
	// Model is what the provider says answered.
	Model string
}

// Delta is a part of a response as it arrives. It is shown, never stored.
type Delta struct {
	Text     string
	Thinking string
	// Reset says that the parts so far belong to an attempt that is given up;
	// what follows replaces them.
	Reset bool
	// ToolName is set when the model has begun to write a call of this tool.
	ToolName string
}

// Provider runs one model call at a time for each Stream; it is safe for
// concurrent use.
//
// Stream calls emit in order from one goroutine and returns when the response
// is complete, ctx has ended (the error is ctx's cause) or the call failed
// (*Error). The text and thinking that had arrived are returned beside either
// error, so that they can be kept as incomplete; a tool call never is, whole or
// half, for only a completed turn may act.
type Provider interface {
	Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error)
}

// Lister is an optional ability: the names of models that a server offers.
type Lister interface {
	Models(ctx context.Context) ([]string, error)
}

// Config is what a provider is made from. Key comes from the keychain and is
// held in memory only.
type Config struct {
	Kind    protocol.ModelProvider
	BaseURL string
	Key     string
	// IdleTimeout ends a stream that says nothing for so long; default 120 s.
	IdleTimeout time.Duration
}

// Factory makes a provider of one kind.
type Factory func(Config) (Provider, error)

// Error is a model call that failed.
//
// Sentence tells a person in plain words what happened and what to do; Cause is
// for the log and may hold the provider's own words.
type Error struct {
	Kind       protocol.ErrorKind
	Sentence   string
	HTTPStatus int
	Provider   string
	// Retryable says that the same request may succeed later.
	Retryable bool
	// RetryAfter is what the provider asked us to wait; zero when it did not say.
	RetryAfter time.Duration
	// Streamed says that part of a response had arrived before the failure.
	Streamed bool
	Cause    error
}

// Error gives the sentence and the cause.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Sentence
	}
	return e.Sentence + " (" + e.Cause.Error() + ")"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }
