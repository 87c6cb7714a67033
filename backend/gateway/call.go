package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"

	"countersign/backend/protocol"
)

// HandlerFunc answers one call. Params are a JSON object whose keys and required
// fields have been checked. The context does not end with the connection, for
// what was asked is done even when the asker has gone; it ends when the host
// must stop. An error that is a *protocol.Error reaches the client as it is.
type HandlerFunc func(ctx context.Context, c Caller, params json.RawMessage) (any, error)

type handler struct {
	call  protocol.Call
	shape shape
	run   HandlerFunc
}

// ErrorRule says what a client is told when a handler returns an error that is,
// in the sense of errors.Is, the rule's.
type ErrorRule struct {
	Is     error
	Code   protocol.Code
	Detail protocol.Detail
	// Sentence is for the person; empty takes the error's own text.
	Sentence  string
	Retryable bool
}

// Handle registers what answers a method. It panics for a method that is not in
// protocol's table and for a second handler, for both are mistakes of whoever
// composes the program.
func (g *Gateway) Handle(m protocol.Method, run HandlerFunc) {
	call, known := g.methods[m]
	if !known || m == protocol.MethodConnect {
		panic(fmt.Sprintf("gateway: method %q is not in the protocol's table", m))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, twice := g.handlers[m]; twice {
		panic(fmt.Sprintf("gateway: method %q has two handlers", m))
	}
	g.handlers[m] = handler{call: call, shape: shapeOf(call.Params), run: run}
}

// Handle registers a typed handler. It panics, as the method does, and also when
// the types are not the table's.
func Handle[P, R any](g *Gateway, m protocol.Method, run func(ctx context.Context, c Caller, params P) (R, error)) {
	call := g.methods[m]
	if call.Params != reflect.TypeFor[P]() || call.Result != reflect.TypeFor[R]() {
		panic(fmt.Sprintf("gateway: method %q takes %v and answers %v, not %v and %v",
			m, call.Params, call.Result, reflect.TypeFor[P](), reflect.TypeFor[R]()))
	}
	g.Handle(m, func(ctx context.Context, c Caller, raw json.RawMessage) (any, error) {
		var params P
		if err := decode(raw, &params); err != nil {
			return nil, err
		}
		return run(ctx, c, params)
	})
}

// run calls a handler. A panic in one call is that call's failure, not the
// host's end: bridges and other runs go on.
func (g *Gateway) run(h handler, c Caller, params json.RawMessage) (payload json.RawMessage, failure *protocol.Error) {
	defer func() {
		if p := recover(); p != nil {
			g.log.Error("a call panicked", slog.String("method", string(h.call.Method)),
				slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			payload, failure = nil, internal()
		}
	}()
	params, failure = h.shape.accept(params)
	if failure != nil {
		return nil, failure
	}
	result, err := h.run(g.ctx, c, params)
	if err != nil {
		return nil, g.answerFor(h.call.Method, err)
	}
	payload, err = encode(result)
	if err != nil {
		return nil, g.answerFor(h.call.Method, err)
	}
	return payload, nil
}

// answerFor is the one place where errors become answers.
func (g *Gateway) answerFor(m protocol.Method, err error) *protocol.Error {
	var known *protocol.Error
	if errors.As(err, &known) {
		return known
	}
	for _, rule := range g.opts.Errors {
		if !errors.Is(err, rule.Is) {
			continue
		}
		sentence := rule.Sentence
		if sentence == "" {
			sentence = err.Error()
		}
		answer := protocol.NewError(rule.Code, rule.Detail, sentence)
		answer.Retryable = rule.Retryable
		return answer
	}
	switch {
	case g.ctx.Err() != nil && errors.Is(err, context.Canceled):
		return stoppingError()
	case errors.Is(err, context.DeadlineExceeded):
		answer := protocol.NewError(protocol.CodeUnavailable, "", "This took too long and was given up. Try again.")
		answer.Retryable = true
		return answer
	}
	g.log.Error("a call failed", slog.String("method", string(m)), slog.Any("err", err))
	return internal()
}

func internal() *protocol.Error {
	return protocol.NewError(protocol.CodeInternal, "",
		"Something went wrong inside Countersign. What was stored is safe; the log says more. Try again.")
}

func stoppingError() *protocol.Error {
	answer := protocol.NewError(protocol.CodeUnavailable, "",
		"Countersign is stopping. What was accepted is kept; try again when it is back.")
	answer.Details = &protocol.ErrorDetails{Reason: "gateway-restarting"}
	answer.Retryable, answer.RetryAfterMs = true, 500
	return answer
}
