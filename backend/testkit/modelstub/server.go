package modelstub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a running stub. It is safe for concurrent use.
type Server struct {
	// URL is its address without a path; both dialects take it as a base URL.
	URL string

	http *http.Server
	quit chan struct{} // closed when the server stops; hanging replies end with it

	mu       sync.Mutex // guards all below
	script   []Reply
	next     int
	requests []Request
	lenient  bool
	models   []string
	key      string
}

// New starts a strict stub on loopback that stops with the test.
func New(t testing.TB, script ...Reply) *Server {
	t.Helper()
	s, err := Serve("127.0.0.1:0", script...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Serve starts a strict stub on addr, for use without a test.
func Serve(addr string, script ...Reply) (*Server, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for the model stub: %w", err)
	}
	s := &Server{URL: "http://" + listener.Addr().String(), quit: make(chan struct{}), script: script, models: []string{"stub-small", "stub-large"}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, Anthropic) })
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, OpenAI) })
	mux.HandleFunc("GET /v1/models", s.listModels)
	mux.HandleFunc("POST /_script", s.takeScript)
	mux.HandleFunc("GET /_requests", s.giveRequests)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(listener) }() // ends with Close, and waited for by it
	return s, nil
}

// Close stops the server and ends what hangs.
func (s *Server) Close() error {
	close(s.quit)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stop the model stub: %w", err)
	}
	return s.http.Close()
}

// Script replaces the answers to come.
func (s *Server) Script(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.next = replies, 0
}

// Lenient switches the checking of requests off.
func (s *Server) Lenient() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lenient = true
}

// RequireKey refuses requests without this key.
func (s *Server) RequireKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// Requests returns what has been asked so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Forget drops the requests kept so far.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, d Dialect) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	reply, problem := s.take(r, d, body)
	if reply.Begun != nil {
		select {
		case reply.Begun <- struct{}{}:
		case <-r.Context().Done():
		case <-s.quit:
		}
	}
	switch {
	case problem != "":
		refuse(w, d, Reply{Status: http.StatusBadRequest, ErrorType: "invalid_request_error", Message: problem})
	case !s.mayCall(r):
		refuse(w, d, Reply{Status: http.StatusUnauthorized, ErrorType: "authentication_error", ErrorCode: "invalid_api_key", Message: "the key is not valid"})
	case reply.Status >= 300:
		refuse(w, d, reply)
	case reply.Quirks.RefuseField != "" && hasField(body, reply.Quirks.RefuseField):
		refuse(w, d, Reply{Status: http.StatusBadRequest, ErrorType: "invalid_request_error", Message: "Unknown parameter: " + reply.Quirks.RefuseField})
	default:
		s.send(w, r, reply, d, body)
	}
}

// take notes a request and finds its reply. A request that is refused for a
// field does not use the reply up.
func (s *Server) take(r *http.Request, d Dialect, body []byte) (Reply, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	problem := ""
	if !s.lenient {
		problem = validate(d, body)
	}
	headers := make(map[string]string)
	for name, values := range r.Header {
		headers[name] = strings.Join(values, ", ")
	}
	s.requests = append(s.requests, Request{Dialect: d, Path: r.URL.Path, Header: headers, Body: body, Invalid: problem})
	if len(s.script) == 0 {
		return Text("This is the scripted model. It has no script."), problem
	}
	reply := s.script[min(s.next, len(s.script)-1)]
	if problem == "" && (reply.Quirks.RefuseField == "" || !hasField(body, reply.Quirks.RefuseField)) {
		s.next++
	}
	return reply, problem
}

func (s *Server) mayCall(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key == "" || r.Header.Get("X-Api-Key") == s.key || r.Header.Get("Authorization") == "Bearer "+s.key
}

func hasField(body []byte, name string) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return false
	}
	_, ok := fields[name]
	return ok
}

func (s *Server) listModels(w http.ResponseWriter, r *http.Request) {
	if !s.mayCall(r) {
		refuse(w, OpenAI, Reply{Status: http.StatusUnauthorized, ErrorType: "authentication_error", Message: "the key is not valid"})
		return
	}
	var data []map[string]any
	for _, m := range s.models {
		data = append(data, map[string]any{"id": m, "object": "model", "type": "model", "display_name": m, "created_at": "2026-01-01T00:00:00Z", "created": 1, "owned_by": "stub"})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data, "has_more": false})
}

func (s *Server) takeScript(w http.ResponseWriter, r *http.Request) {
	var replies []Reply
	if err := json.NewDecoder(r.Body).Decode(&replies); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.Script(replies...)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) giveRequests(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.Requests())
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has left
}

func refuse(w http.ResponseWriter, d Dialect, r Reply) {
	for name, value := range r.Headers {
		w.Header().Set(name, value)
	}
	if r.Body != "" {
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "text/html")
		}
		w.WriteHeader(r.Status)
		_, _ = io.WriteString(w, r.Body) // the client has left
		return
	}
	if d == Anthropic {
		writeJSON(w, r.Status, map[string]any{"type": "error", "error": map[string]any{"type": r.ErrorType, "message": r.Message}})
		return
	}
	e := map[string]any{"message": r.Message, "type": r.ErrorType, "param": nil, "code": nil}
	if r.ErrorCode != "" {
		e["code"] = r.ErrorCode
	}
	writeJSON(w, r.Status, map[string]any{"error": e})
}
