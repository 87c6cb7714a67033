package model_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/backend/model"
	"countersign/backend/protocol"
)

// script is a provider that answers one line after the other.
type script struct {
	lines []line
	asked int
	at    []time.Duration
	start time.Time
}

type line struct {
	text  string
	takes time.Duration
	err   error
}

func (s *script) Stream(ctx context.Context, _ model.Request, emit func(model.Delta)) (model.Response, error) {
	l := s.lines[min(s.asked, len(s.lines)-1)]
	s.asked++
	s.at = append(s.at, time.Since(s.start))
	resp := model.Response{}
	if l.text != "" {
		emit(model.Delta{Text: l.text})
		resp.Content = protocol.Blocks{protocol.TextBlock{Text: l.text}}
	}
	select {
	case <-time.After(l.takes):
	case <-ctx.Done():
		return resp, context.Cause(ctx)
	}
	return resp, l.err
}

func failure(kind protocol.ErrorKind, retryable bool, after time.Duration) error {
	return &model.Error{Kind: kind, Sentence: string(kind), Retryable: retryable, RetryAfter: after}
}

// play runs one call and returns what happened as words.
func play(t *testing.T, o model.RetryOptions, lines ...line) (s *script, screen string, resp model.Response, tries []model.Attempt, err error) {
	t.Helper()
	s = &script{lines: lines, start: time.Now()}
	o.Notify = func(a model.Attempt) { tries = append(tries, a) }
	if o.Jitter == nil {
		o.Jitter = func() float64 { return 0.5 }
	}
	resp, err = model.NewRetrier(s, o).Stream(t.Context(), model.Request{}, func(d model.Delta) {
		if d.Reset {
			screen = ""
		}
		screen += d.Text
	})
	return s, screen, resp, tries, err
}

func TestOverloadedIsRetriedUntilItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := line{err: failure(protocol.ErrorOverloaded, true, 0)}
		s, screen, _, tries, err := play(t, model.RetryOptions{}, over, over, over, line{text: "at last"})
		if err != nil || screen != "at last" || s.asked != 4 {
			t.Fatalf("%d requests, %q, %v", s.asked, screen, err)
		}
		if got := fmt.Sprint(s.at); got != "[0s 1.5s 4.5s 10.5s]" {
			t.Errorf("requests at %s", got)
		}
		for i, a := range tries {
			if a.Number != i+2 || a.Of != 4 || a.Err.Kind != protocol.ErrorOverloaded || !a.At.Equal(s.start.Add(s.at[i+1])) {
				t.Errorf("attempt %d told as %+v", i, a)
			}
		}
	})
}

func TestNeverMoreThanFourRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, kind := range []protocol.ErrorKind{protocol.ErrorOverloaded, protocol.ErrorRateLimit, protocol.ErrorTimeout, protocol.ErrorNetwork} {
			s, _, _, tries, err := play(t, model.RetryOptions{}, line{err: failure(kind, true, 0)})
			var failed *model.Error
			if s.asked != 4 || len(tries) != 3 || !errors.As(err, &failed) || failed.Kind != kind {
				t.Errorf("%s: %d requests, %v", kind, s.asked, err)
			}
		}
	})
}

func TestCutAndEmptyAnswersAreTriedOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, kind := range []protocol.ErrorKind{protocol.ErrorCut, protocol.ErrorEmpty} {
			s, screen, resp, _, _ := play(t, model.RetryOptions{}, line{text: "half an", err: failure(kind, true, 0)}, line{text: "half", err: failure(kind, true, 0)}, line{text: "whole"})
			if s.asked != 2 || screen != "half" || resp.Content.Text() != "half" {
				t.Errorf("%s: %d requests, screen %q, kept %q", kind, s.asked, screen, resp.Content.Text())
			}
		}
	})
}

func TestARetriedAnswerReplacesWhatWasShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, screen, resp, _, err := play(t, model.RetryOptions{}, line{text: "half an", err: failure(protocol.ErrorCut, true, 0)}, line{text: "a whole answer"})
		if err != nil || screen != "a whole answer" || resp.Content.Text() != screen {
			t.Errorf("screen %q, %v", screen, err)
		}
	})
}

func TestWhatWasShownIsKeptWhenNothingReplacesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, screen, resp, _, err := play(t, model.RetryOptions{}, line{text: "half an", err: failure(protocol.ErrorCut, true, 0)}, line{err: failure(protocol.ErrorAuth, false, 0)})
		if screen != "half an" || resp.Content.Text() != "half an" || !strings.Contains(fmt.Sprint(err), "auth") {
			t.Errorf("screen %q, kept %q, %v", screen, resp.Content.Text(), err)
		}
	})
}

func TestAnEmptySuccessStillClearsTheScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, screen, _, _, err := play(t, model.RetryOptions{}, line{text: "half an", err: failure(protocol.ErrorCut, true, 0)}, line{})
		if err != nil || screen != "" {
			t.Errorf("screen %q, %v", screen, err)
		}
	})
}

func TestWhatCannotHelpIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, err := range []error{failure(protocol.ErrorAuth, false, 0), failure(protocol.ErrorContextLength, false, 0), errors.New("a fault of the program")} {
			s, _, _, tries, got := play(t, model.RetryOptions{}, line{err: err})
			if s.asked != 1 || len(tries) != 0 || !errors.Is(got, err) {
				t.Errorf("%v: %d requests, %v", err, s.asked, got)
			}
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _, _, err := play(t, model.RetryOptions{Jitter: func() float64 { return 0 }}, line{err: failure(protocol.ErrorRateLimit, true, 7*time.Second)}, line{text: "x"})
		if err != nil || s.at[1] != 7*time.Second {
			t.Errorf("requests at %v, %v", s.at, err)
		}
	})
}

func TestALongRetryAfterEndsTheCallAndSaysWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _, _, err := play(t, model.RetryOptions{}, line{err: failure(protocol.ErrorRateLimit, true, 10*time.Minute)})
		when := time.Now().Add(10 * time.Minute).Format("15:04")
		if s.asked != 1 || err == nil || !strings.Contains(err.Error(), "10 minutes") || !strings.Contains(err.Error(), when) {
			t.Errorf("%d requests, %v", s.asked, err)
		}
	})
}

func TestOurDeadlineKeepsTheRootCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := line{err: failure(protocol.ErrorOverloaded, true, 0), takes: 2 * time.Second}
		s, _, _, _, err := play(t, model.RetryOptions{Deadline: 10 * time.Second}, over)
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != protocol.ErrorOverloaded {
			t.Errorf("after %d requests: %v", s.asked, err)
		}
		over.takes = time.Hour
		_, _, _, _, err = play(t, model.RetryOptions{Deadline: 10 * time.Second}, line{err: failure(protocol.ErrorOverloaded, true, 0)}, over)
		if !errors.As(err, &failed) || failed.Kind != protocol.ErrorOverloaded {
			t.Errorf("deadline inside a request: %v", err)
		}
		_, _, resp, _, err := play(t, model.RetryOptions{Deadline: 10 * time.Second}, line{text: "so far", takes: time.Hour})
		if !errors.As(err, &failed) || failed.Kind != protocol.ErrorTimeout || resp.Content.Text() != "so far" || !strings.Contains(failed.Sentence, "10 seconds") {
			t.Errorf("%q, %v", resp.Content.Text(), err)
		}
	})
}

func TestStopEndsAWaitAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("stopped by the owner")
		ctx, cancel := context.WithCancelCause(t.Context())
		s := &script{lines: []line{{text: "half", err: failure(protocol.ErrorRateLimit, true, 30*time.Second)}}, start: time.Now()}
		time.AfterFunc(time.Second, func() { cancel(cause) })
		resp, err := model.NewRetrier(s, model.RetryOptions{}).Stream(ctx, model.Request{}, func(model.Delta) {})
		if !errors.Is(err, cause) || resp.Content.Text() != "half" || time.Since(s.start) != time.Second {
			t.Errorf("%v after %s, kept %q", err, time.Since(s.start), resp.Content.Text())
		}
	})
}

func TestWordsOfDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "1 second", 90 * time.Second: "90 seconds", 5 * time.Minute: "5 minutes", 3 * time.Hour: "3 hours", 0: "0 seconds",
	} {
		if got := model.Words(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}
