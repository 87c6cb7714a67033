package modeltest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"countersign/backend/model"
	"countersign/backend/protocol"
	"countersign/backend/testkit/modelstub"
)

// retries are the retrier's over the real connection: bounded, visible, and what
// is shown is replaced rather than added to.
func (s *suite) retries(t *testing.T) {
	over := modelstub.Refusal(529, "overloaded_error", "Overloaded", "0.001")
	words := modelstub.Text("some words that go on for a while")
	broken := words
	broken.Cut = s.stub.Size(words, s.dialect) * 2 / 3
	inStream := words
	inStream.StreamError = &modelstub.StreamError{AfterEvents: 5, Type: "overloaded_error", Message: "Overloaded"}
	inStream.Headers = map[string]string{"Retry-After": "0.001"}
	for _, row := range []struct {
		name     string
		script   []modelstub.Reply
		requests int
		failed   protocol.ErrorKind
		text     string
		resets   int
	}{
		{"overloaded, then fine", []modelstub.Reply{over, modelstub.Text("fine")}, 2, "", "fine", 0},
		{"overloaded three times", []modelstub.Reply{over, over, over, modelstub.Text("fine")}, 4, "", "fine", 0},
		{"overloaded for good", []modelstub.Reply{over}, 4, protocol.ErrorOverloaded, "", 0},
		{"overloaded in the stream", []modelstub.Reply{inStream, modelstub.Text("fine")}, 2, "", "fine", 1},
		{"cut, then fine", []modelstub.Reply{broken, modelstub.Text("fine")}, 2, "", "fine", 1},
		{"cut twice", []modelstub.Reply{broken, broken, modelstub.Text("fine")}, 2, protocol.ErrorCut, "", 1},
		{"empty, then fine", []modelstub.Reply{{}, modelstub.Text("fine")}, 2, "", "fine", 0},
		{"empty twice", []modelstub.Reply{{}, {}, modelstub.Text("fine")}, 2, protocol.ErrorEmpty, "", 0},
		{"a bad key", []modelstub.Reply{modelstub.Refusal(401, "authentication_error", "no", "1")}, 1, protocol.ErrorAuth, "", 0},
		{"a wait of an hour", []modelstub.Reply{modelstub.Refusal(429, "rate_limit_error", "later", "3600")}, 1, protocol.ErrorRateLimit, "", 0},
	} {
		s.stub.Forget()
		s.stub.Script(row.script...)
		var told []int
		retrier := model.NewRetrier(quick{s.made}, model.RetryOptions{
			Jitter: func() float64 { return 0 },
			Notify: func(a model.Attempt) { told = append(told, a.Number) },
		})
		seen, emit := Watch()
		resp, err := retrier.Stream(t.Context(), Ask("hi"), emit)
		Check(t, seen, resp, err)
		n := len(s.stub.Requests())
		if kind(err) != row.failed || n != row.requests || len(told) != n-1 || seen.Resets != row.resets || row.text != "" && seen.Text != row.text {
			t.Errorf("%s: %d requests, told %v, %d resets, %q, %v", row.name, n, told, seen.Resets, seen.Text, err)
		}
		if row.name == "cut twice" && seen.Text == "" {
			t.Error("the text of a cut answer is lost")
		}
	}
	s.deadline(t)
}

// quick asks for the shortest wait where the server asked for none, so that the
// suite need not wait as a person would.
type quick struct{ model.Provider }

// Stream implements model.Provider.
func (q quick) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	resp, err := q.Provider.Stream(ctx, req, emit)
	var failed *model.Error
	if errors.As(err, &failed) && failed.RetryAfter == 0 {
		failed.RetryAfter = time.Millisecond
	}
	return resp, err
}

// deadline: a call that our own deadline ends says why, not that it was ended.
func (s *suite) deadline(t *testing.T) {
	s.stub.Script(modelstub.Refusal(529, "overloaded_error", "Overloaded", "5"))
	retrier := model.NewRetrier(s.made, model.RetryOptions{Deadline: time.Second})
	_, err := retrier.Stream(t.Context(), Ask("hi"), func(model.Delta) {})
	if kind(err) != protocol.ErrorOverloaded {
		t.Errorf("ended by the deadline: %v", err)
	}
	s.stub.Script(modelstub.Reply{Hang: true})
	retrier = model.NewRetrier(s.made, model.RetryOptions{Deadline: 50 * time.Millisecond})
	_, err = retrier.Stream(t.Context(), Ask("hi"), func(model.Delta) {})
	if kind(err) != protocol.ErrorTimeout {
		t.Errorf("hanging until the deadline: %v", fmt.Sprint(err))
	}
}
