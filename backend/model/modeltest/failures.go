package modeltest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"countersign/backend/model"
	"countersign/backend/protocol"
	"countersign/backend/testkit/modelstub"
)

// refusals are told by kind, in a sentence, once, and without the key.
func (s *suite) refusals(t *testing.T) {
	for _, row := range []struct {
		status     int
		kind       string
		message    string
		want       protocol.ErrorKind
		again      bool
		inSentence string
	}{
		{401, "authentication_error", "invalid x-api-key " + Key, protocol.ErrorAuth, false, "Settings"},
		{401, "invalid_request_error", "Incorrect API key provided: " + Key, protocol.ErrorAuth, false, "key"},
		{403, "permission_error", "no access", protocol.ErrorAuth, false, "stub-small"},
		{402, "billing_error", "pay first", protocol.ErrorRateLimit, false, "credit"},
		{400, "invalid_request_error", "Your credit balance is too low to access the API", protocol.ErrorRateLimit, false, "credit"},
		{429, "insufficient_quota", "You exceeded your current quota", protocol.ErrorRateLimit, false, "credit"},
		{404, "not_found_error", "model: stub-small", protocol.ErrorNotFound, false, "stub-small"},
		{400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", protocol.ErrorContextLength, false, "new session"},
		{400, "context_length_exceeded", "This model's maximum context length is 8192 tokens", protocol.ErrorContextLength, false, "new session"},
		{400, "exceed_context_size_error", "the request exceeds the available context size", protocol.ErrorContextLength, false, "new session"},
		{413, "request_too_large", "Request exceeds the maximum size", protocol.ErrorContextLength, false, "pictures"},
		{400, "invalid_request_error", "something else", protocol.ErrorBadRequest, false, "something else"},
		{422, "invalid_request_error", "cannot process " + Key, protocol.ErrorBadRequest, false, "cannot process"},
		{429, "rate_limit_error", "slow down", protocol.ErrorRateLimit, true, "too many requests"},
		{500, "api_error", "internal", protocol.ErrorOverloaded, true, "fault on its side"},
		{502, "", "bad gateway", protocol.ErrorOverloaded, true, "502"},
		{503, "", "loading model", protocol.ErrorOverloaded, true, "overloaded"},
		{504, "", "upstream timed out", protocol.ErrorTimeout, true, "too long"},
		{529, "overloaded_error", "Overloaded", protocol.ErrorOverloaded, true, "overloaded"},
		{408, "", "timed out", protocol.ErrorTimeout, true, "too long"},
	} {
		_, _, err := s.play(t, Ask("hi"), modelstub.Refusal(row.status, row.kind, row.message, ""))
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != row.want || failed.Retryable != row.again || failed.HTTPStatus != row.status || !strings.Contains(failed.Sentence, row.inSentence) {
			t.Errorf("%d %s %q: %+v", row.status, row.kind, row.message, failed)
		}
		if n := len(s.stub.Requests()); n != 1 {
			t.Errorf("%d: %d requests were made", row.status, n)
		}
		page := modelstub.Reply{Status: row.status, Body: "<html><h1>Nothing to parse</h1></html>"}
		if _, _, err := s.play(t, Ask("hi"), page); !errors.As(err, &failed) || strings.Contains(failed.Sentence, "<") {
			t.Errorf("a page with status %d: %v", row.status, err)
		}
	}
	s.waits(t)
}

func (s *suite) waits(t *testing.T) {
	date := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
	for header, want := range map[string]time.Duration{"7": 7 * time.Second, "0.5": 500 * time.Millisecond, date: 90 * time.Second, "": 0, "soon": 0, "-3": 0, "0": 0, "1e300": 30 * 24 * time.Hour} {
		_, _, err := s.play(t, Ask("hi"), modelstub.Refusal(429, "rate_limit_error", "slow down", header))
		var failed *model.Error
		if !errors.As(err, &failed) || failed.RetryAfter < want-3*time.Second || failed.RetryAfter > want {
			t.Errorf("retry-after %q: %+v", header, failed)
		}
	}
}

// streamErrors come after status 200, at any place.
func (s *suite) streamErrors(t *testing.T) {
	blocks := []modelstub.Block{{Text: "some words first"}, call("id", "list", `{"path":"a"}`)}
	for _, row := range []struct {
		error modelstub.StreamError
		want  protocol.ErrorKind
	}{
		{modelstub.StreamError{Type: "overloaded_error", Message: "Overloaded"}, protocol.ErrorOverloaded},
		{modelstub.StreamError{Type: "rate_limit_error", Message: "slow down"}, protocol.ErrorRateLimit},
		{modelstub.StreamError{Type: "api_error", Message: "internal"}, protocol.ErrorOverloaded},
		{modelstub.StreamError{Type: "odd", Message: "what is it"}, protocol.ErrorUnknown},
	} {
		for _, after := range []int{0, 1, 2, 4, 6, 8} {
			row.error.AfterEvents = after
			_, resp, err := s.play(t, Ask("hi"), modelstub.Reply{Blocks: blocks, StreamError: &row.error})
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Kind != row.want || !failed.Retryable {
				t.Errorf("%s after %d events: %v", row.error.Type, after, err)
			}
			if after == 6 && resp.Content.Text() == "" {
				t.Errorf("%s after %d events: the text is lost", row.error.Type, after)
			}
		}
	}
}

// silence ends by the idle time, at the start and in the middle; a slow stream
// that moves does not.
func (s *suite) silence(t *testing.T) {
	reply := modelstub.Reply{Blocks: []modelstub.Block{{Text: "some words, then nothing more"}}, Hang: true}
	half := s.stub.Size(modelstub.Text("some words, then nothing more"), s.dialect) / 2
	// The words before the silence must come in time also on a loaded machine.
	for cut, idle := range map[int]time.Duration{0: 60 * time.Millisecond, half: 2 * time.Second} {
		hasty, err := s.factory(model.Config{BaseURL: s.stub.URL, Key: Key, IdleTimeout: idle})
		if err != nil {
			t.Fatal(err)
		}
		reply.Cut = cut
		s.stub.Script(reply)
		seen, emit := Watch()
		resp, err := hasty.Stream(t.Context(), Ask("hi"), emit)
		Check(t, seen, resp, err)
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != protocol.ErrorTimeout || !failed.Retryable || cut > 0 && resp.Content.Text() == "" {
			t.Errorf("silent after %d bytes: %q, %v", cut, resp.Content.Text(), err)
		}
	}
	gate := make(chan struct{})
	s.stub.Script(modelstub.Reply{Blocks: []modelstub.Block{{Text: "slow but steady"}}, Gate: gate})
	quit := make(chan struct{})
	go func() { // ends with quit
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-quit:
				return
			}
			select {
			case gate <- struct{}{}:
			case <-quit:
				return
			}
		}
	}()
	patient, err := s.factory(model.Config{BaseURL: s.stub.URL, Key: Key, IdleTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := patient.Stream(t.Context(), Ask("hi"), func(model.Delta) {})
	close(quit)
	if err != nil || resp.Content.Text() != "slow but steady" {
		t.Errorf("a slow stream: %q, %v", resp.Content.Text(), err)
	}
}

// cuts at every byte: never half a call, never an answer taken for whole that is
// not, and the text kept.
func (s *suite) cuts(t *testing.T) {
	full := modelstub.Reply{Piece: 9, Output: 1, Blocks: []modelstub.Block{
		{Thinking: "first 你好"}, {Text: "Some words 🦀 here."}, call("id_a", "list", `{"path":"src"}`), call("id_b", "list", `{"path":"b"}`),
	}}
	_, whole, err := s.play(t, Ask("hi"), full)
	if err != nil {
		t.Fatal(err)
	}
	size := s.stub.Size(full, s.dialect)
	longest, ends := 0, 0
	for at := range size {
		for _, clean := range []bool{false, true} {
			if clean && at%4 > 0 {
				continue // a clean end differs only in how the library sees it
			}
			cut := full
			cut.Cut, cut.CutAll, cut.CleanCut = at, at == 0, clean
			_, resp, err := s.play(t, Ask("hi"), cut)
			if err == nil {
				ends++
				if got, want := flat(resp.Content), flat(whole.Content); got != want {
					t.Fatalf("cut at %d of %d, taken for whole: %s", at, size, got)
				}
				continue
			}
			if k := kind(err); k != protocol.ErrorCut && !(at < 40 && k == protocol.ErrorNetwork) {
				t.Fatalf("cut at %d of %d (clean: %t): %v", at, size, clean, err)
			}
			text := resp.Content.Text()
			if !strings.HasPrefix(whole.Content.Text(), text) || len(text) < longest {
				t.Fatalf("cut at %d: text %q after %d bytes had been kept", at, text, longest)
			}
			longest = max(longest, len(text))
		}
	}
	if longest != len(whole.Content.Text()) || ends == 0 || ends > size/4 {
		t.Errorf("the longest text kept has %d bytes; %d of %d cuts were taken for whole", longest, ends, size+size/4)
	}
}

// connections fail in words, and the key stays at home.
func (s *suite) connections(t *testing.T) {
	var leaked []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, fmt.Sprint(r.Header))
	}))
	defer elsewhere.Close()
	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/v1/messages", http.StatusTemporaryRedirect)
	}))
	defer moved.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<html>Sign in to the hotel network</html>") // the client has left
	}))
	defer page.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "http://" + closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	for name, row := range map[string]struct {
		url   string
		want  protocol.ErrorKind
		words string
	}{
		"a redirect":        {moved.URL, protocol.ErrorNetwork, "another address"},
		"a page":            {page.URL, protocol.ErrorNotFound, "does not speak"},
		"nobody there":      {gone, protocol.ErrorNetwork, "start it"},
		"a bad certificate": {secure.URL, protocol.ErrorNetwork, "certificate"},
		"no such name":      {"http://no-such-host.invalid", protocol.ErrorNetwork, "cannot be found"},
	} {
		p, err := s.factory(model.Config{BaseURL: row.url, Key: Key})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Stream(t.Context(), Ask("hi"), func(model.Delta) {})
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != row.want || !strings.Contains(failed.Sentence, row.words) || strings.Contains(fmt.Sprintf("%+v %v", failed, failed.Cause), Key) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(leaked) > 0 {
		t.Errorf("the redirect was followed to another host: %s", leaked)
	}
	for _, bad := range []string{"ftp://x", "localhost:11434", "https://", "https://user:pw@x/", "https://x/?key=1", ":"} {
		if _, err := s.factory(model.Config{BaseURL: bad}); err == nil {
			t.Errorf("the address %q is accepted", bad)
		}
	}
	s.keys(t)
	s.names(t)
}

func (s *suite) keys(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from-the-environment")
	t.Setenv("ANTHROPIC_API_KEY", "from-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Env: from-the-environment")
	for _, key := range []string{"", "its own"} {
		s.stub.Forget()
		s.stub.Script(modelstub.Text("fine"))
		p, err := s.factory(model.Config{BaseURL: s.stub.URL, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Stream(t.Context(), Ask("hi"), func(model.Delta) {}); err != nil {
			t.Errorf("with key %q: %v", key, err)
		}
		for _, r := range s.stub.Requests() {
			headers := fmt.Sprint(r.Header)
			if strings.Contains(headers, "environment") || key != "" && !strings.Contains(headers, key) {
				t.Errorf("with key %q the request carries %s", key, headers)
			}
		}
	}
}

func (s *suite) names(t *testing.T) {
	lister, ok := s.made.(model.Lister)
	if !ok {
		t.Fatal("cannot list models")
	}
	names, err := lister.Models(t.Context())
	if err != nil || fmt.Sprint(names) != "[stub-small stub-large]" {
		t.Errorf("models %v, %v", names, err)
	}
	s.stub.RequireKey("another")
	defer s.stub.RequireKey("")
	if _, err := lister.Models(context.Background()); kind(err) != protocol.ErrorAuth {
		t.Errorf("models with a bad key: %v", err)
	}
}
