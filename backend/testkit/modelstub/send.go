package modelstub

import (
	"net/http"
	"strings"
)

// send streams a reply.
func (s *Server) send(w http.ResponseWriter, r *http.Request, reply Reply, d Dialect, body []byte) {
	events := s.events(reply, d, body)
	contentType := "text/event-stream; charset=utf-8"
	if reply.Quirks.NoStream {
		contentType = "application/json"
	}
	if d == Anthropic {
		contentType = strings.TrimSuffix(contentType, "; charset=utf-8") + "; charset=utf-8"
	}
	w.Header().Set("Content-Type", contentType)
	for name, value := range reply.Headers {
		w.Header().Set(name, value)
	}
	out := &sender{w: w, left: -1, gate: reply.Gate, gone: r.Context().Done(), quit: s.quit}
	if reply.Cut > 0 || reply.CutAll {
		out.left = reply.Cut
	}
	if !reply.Hang || reply.Cut > 0 {
		w.WriteHeader(http.StatusOK)
		out.flush()
		for _, e := range events {
			if !out.event(e, reply.Chunk) {
				break
			}
		}
	}
	switch {
	case reply.Hang:
		select {
		case <-r.Context().Done():
		case <-s.quit:
		}
	case out.left == 0 && !reply.CleanCut:
		hangUp(w)
	}
}

// events are the whole body in events.
func (s *Server) events(reply Reply, d Dialect, body []byte) []string {
	if reply.Body != "" {
		return []string{reply.Body}
	}
	var events []string
	if d == Anthropic {
		events = anthropicEvents(reply)
	} else {
		events = openaiEvents(reply, body)
	}
	if e := reply.StreamError; e != nil {
		events = append(events[:min(e.AfterEvents, len(events))], streamError(*e, d))
	}
	for i := range events {
		if reply.Quirks.Comments && !reply.Quirks.NoStream {
			events[i] = ": keep-alive\n\n" + events[i]
		}
		if reply.Quirks.CRLF {
			events[i] = strings.ReplaceAll(events[i], "\n", "\r\n")
		}
	}
	return events
}

// Size is how many bytes the whole body of a reply has, so that every place to
// cut it can be tried.
func (s *Server) Size(reply Reply, d Dialect) int {
	n := 0
	for _, e := range s.events(reply, d, nil) {
		n += len(e)
	}
	return n
}

// sender writes events within a bound of bytes.
type sender struct {
	w    http.ResponseWriter
	left int // -1 without a bound
	gate <-chan struct{}
	gone <-chan struct{}
	quit <-chan struct{}
}

// event writes one event and reports whether more may follow.
func (s *sender) event(e string, chunk int) bool {
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-s.gone:
			return false
		case <-s.quit:
			return false
		}
	}
	if s.left >= 0 && len(e) >= s.left {
		e, s.left = e[:s.left], 0
	} else if s.left > 0 {
		s.left -= len(e)
	}
	if chunk <= 0 {
		chunk = max(1, len(e))
	}
	for len(e) > 0 {
		n := min(chunk, len(e))
		if _, err := s.w.Write([]byte(e[:n])); err != nil {
			return false
		}
		s.flush()
		e = e[n:]
	}
	return s.left != 0
}

func (s *sender) flush() {
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// hangUp ends the connection in the middle of the body.
func hangUp(w http.ResponseWriter) {
	if h, ok := w.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			_ = conn.Close() // that it breaks is the point
		}
	}
}
