package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"countersign/backend/protocol"
)

// Bounds of a retried call. Four requests is the budget of a turn over all
// layers: each one may carry the whole context again.
const (
	maxRequests     = 4
	firstWait       = time.Second
	longestWait     = 20 * time.Second
	longestAskedFor = time.Minute
)

// Attempt reports that a request failed and another one follows.
type Attempt struct {
	// Number of the request that follows, from 2.
	Number int
	// Of is the most requests this call may make.
	Of int
	// Err is why the one before failed.
	Err *Error
	// At is when the next one starts.
	At time.Time
}

// RetryOptions are the settings of a Retrier; the zero value is ready to use.
type RetryOptions struct {
	// Notify is called before each wait, from the goroutine of Stream.
	Notify func(Attempt)
	// Deadline ends the whole call, waits included; zero means none. When it
	// passes, the error is that of the last request, not the deadline's.
	Deadline time.Duration
	// Jitter gives a number in [0,1); nil means a random one.
	Jitter func() float64
}

// Retrier makes a model call again when that may help, and is the only one who
// does: providers and their libraries never retry, so that requests cannot
// multiply. It is a Provider itself, safe for concurrent use.
//
// At most four requests are made for one call, after growing, jittered waits, or
// after the wait the provider asked for. A provider that asks for more than a
// minute ends the call, with a sentence that says when to try again. Cut and
// empty answers are tried once more. What had been shown of a discarded answer
// is voided by Delta.Reset before the next one begins.
type Retrier struct {
	provider Provider
	options  RetryOptions
}

// NewRetrier wraps a provider.
func NewRetrier(p Provider, o RetryOptions) *Retrier {
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	if o.Notify == nil {
		o.Notify = func(Attempt) {}
	}
	return &Retrier{provider: p, options: o}
}

// errDeadline is the cause of a context that our own deadline ended.
var errDeadline = errors.New("the time for this model call is over")

// Stream implements Provider. The partial response beside an error is what is
// on the screen: of the last request that showed anything.
func (r *Retrier) Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error) {
	outer := ctx
	if r.options.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.options.Deadline, errDeadline)
		defer cancel()
	}
	shown := &screen{emit: emit}
	var last *Error
	seen := make(map[protocol.ErrorKind]int)
	for number := 1; ; number++ {
		var resp Response
		var err error
		if ctx.Err() == nil {
			resp, err = r.provider.Stream(ctx, req, shown.delta)
			if err == nil {
				shown.clear()
				return resp, nil
			}
			shown.failed(resp)
		}
		if outer.Err() != nil {
			return shown.partial, context.Cause(outer)
		}
		if ctx.Err() != nil {
			return shown.partial, r.tooLate(last, shown.partial)
		}
		if !errors.As(err, &last) {
			return shown.partial, fmt.Errorf("call model: %w", err)
		}
		seen[last.Kind]++
		if final := giveUp(last, seen[last.Kind], number); final != nil {
			return shown.partial, final
		}
		wait := r.wait(last, number)
		if r.endsWithin(ctx, outer, wait) {
			return shown.partial, last
		}
		r.options.Notify(Attempt{Number: number + 1, Of: maxRequests, Err: last, At: time.Now().Add(wait)})
		sleep(ctx, wait)
	}
}

// screen follows what a person sees of an answer. What a failed request showed
// stays until the next one has something to put in its place.
type screen struct {
	emit    func(Delta)
	partial Response
	used    bool
	stale   bool
}

func (s *screen) delta(d Delta) {
	s.clear()
	s.used = s.used || d.Text != "" || d.Thinking != "" || d.ToolName != ""
	s.emit(d)
}

func (s *screen) clear() {
	if s.stale {
		s.emit(Delta{Reset: true})
		s.partial, s.used, s.stale = Response{}, false, false
	}
}

func (s *screen) failed(partial Response) {
	if s.used && !s.stale || len(s.partial.Content) == 0 {
		s.partial = partial
	}
	s.stale = s.used
}

// endsWithin reports whether our own deadline, not one of the caller, falls into
// the next wait, which would then be in vain.
func (r *Retrier) endsWithin(ctx, outer context.Context, wait time.Duration) bool {
	end, ok := ctx.Deadline()
	if !ok || r.options.Deadline == 0 || time.Until(end) > wait {
		return false
	}
	theirs, ok := outer.Deadline()
	return !ok || end.Before(theirs)
}

// tooLate is the error of a call that our own deadline ended: why the requests
// before failed is what a person and a fallback need to know, not that time ran
// out meanwhile.
func (r *Retrier) tooLate(last *Error, partial Response) error {
	if last != nil {
		return last
	}
	return &Error{
		Kind:      protocol.ErrorTimeout,
		Sentence:  fmt.Sprintf("The model did not finish within %s, so the call was ended. Your message is kept; try again, or choose a faster model.", Words(r.options.Deadline)),
		Retryable: true,
		Streamed:  len(partial.Content) > 0,
		Cause:     errDeadline,
	}
}

// giveUp returns the error to end with, nil when another request may follow.
func giveUp(e *Error, sameKind, number int) *Error {
	if !e.Retryable {
		return e
	}
	if e.RetryAfter > longestAskedFor {
		late := *e
		late.Sentence = fmt.Sprintf("The provider asks us to wait %s before the next request. Your message is kept; try again at %s, or choose another model.",
			Words(e.RetryAfter), time.Now().Add(e.RetryAfter).Format("15:04"))
		return &late
	}
	once := e.Kind == protocol.ErrorCut || e.Kind == protocol.ErrorEmpty
	if number >= maxRequests || once && sameKind > 1 {
		return e
	}
	return nil
}

// wait is how long to wait after request number: what the provider asked for
// with a little added, so that many clients do not return together, or half to
// all of a step that doubles.
func (r *Retrier) wait(e *Error, number int) time.Duration {
	jitter := r.options.Jitter()
	if e.RetryAfter > 0 {
		return e.RetryAfter + time.Duration(jitter*float64(time.Second))
	}
	step := min(2*firstWait<<(number-1), longestWait)
	return step/2 + time.Duration(jitter*float64(step/2))
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Words says a duration for a person: 45 seconds, 3 minutes, 2 hours.
func Words(d time.Duration) string {
	n, unit := int64(d.Round(time.Second)/time.Second), "second"
	switch {
	case d >= 2*time.Hour:
		n, unit = int64(d.Round(time.Hour)/time.Hour), "hour"
	case d >= 2*time.Minute:
		n, unit = int64(d.Round(time.Minute)/time.Minute), "minute"
	}
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
