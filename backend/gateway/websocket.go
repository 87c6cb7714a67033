package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// pingEvery is how often we ask a client for a sign of life, and how long it
	// may take to give one (protocol v4: 25 s).
	pingEvery = 25 * time.Second
	// closeWait bounds the sending of a close frame.
	closeWait = time.Second
)

// webSocket is a transport over one WebSocket.
type webSocket struct {
	conn *websocket.Conn
	stop chan struct{}
	done chan struct{}
	once sync.Once
	err  error

	mu     sync.Mutex // guards all below
	echoes map[uint64]func()
	asked  uint64
}

var _ Echoer = (*webSocket)(nil)

func isUpgrade(r *http.Request) bool {
	return headerHas(r.Header, "Connection", "upgrade") && headerHas(r.Header, "Upgrade", "websocket")
}

func headerHas(h http.Header, name, want string) bool {
	for _, value := range h.Values(name) {
		for part := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(part), want) {
				return true
			}
		}
	}
	return false
}

// upgrade answers a WebSocket's opening. The guard has judged the request before;
// compression stays off, for it would let secrets be guessed by size.
func upgrade(w http.ResponseWriter, r *http.Request, limit int64) (*webSocket, error) {
	up := websocket.Upgrader{
		HandshakeTimeout: 5 * time.Second, ReadBufferSize: 4096, WriteBufferSize: 4096,
		CheckOrigin: func(*http.Request) bool { return true },
	}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return nil, fmt.Errorf("upgrade: %w", err)
	}
	conn.SetReadLimit(limit)
	s := &webSocket{conn: conn, stop: make(chan struct{}), done: make(chan struct{}), echoes: map[uint64]func(){}}
	s.heard()
	conn.SetPongHandler(s.pong)
	go s.ping()
	return s, nil
}

// heard gives the client until a while after the next ping.
func (s *webSocket) heard() { _ = s.conn.SetReadDeadline(time.Now().Add(2 * pingEvery)) }

func (s *webSocket) ping() {
	defer close(s.done)
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			// A writer that is stuck keeps the ping from leaving; the missing pong ends
			// the connection all the same.
			_ = s.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(closeWait))
		}
	}
}

// maxEchoes bounds the pings whose pong is awaited. Beyond it the older ones are
// forgotten; who waits for them has a longest time of its own.
const maxEchoes = 256

// Echo implements Echoer by a ping: a client's library answers it when it has
// taken the frames before it.
func (s *webSocket) Echo(heard func()) {
	s.mu.Lock()
	if len(s.echoes) >= maxEchoes {
		clear(s.echoes)
	}
	s.asked++
	mark := s.asked
	s.echoes[mark] = heard
	s.mu.Unlock()
	_ = s.conn.WriteControl(websocket.PingMessage, strconv.AppendUint(nil, mark, 10), time.Now().Add(closeWait))
}

// pong takes an answer to a ping. It answers for the pings before it too, for a
// client may leave those out (RFC 6455, 5.5.3).
func (s *webSocket) pong(mark string) error {
	s.heard()
	upTo, err := strconv.ParseUint(mark, 10, 64)
	if err != nil {
		return nil // the regular ping carries no mark
	}
	var heard []func()
	s.mu.Lock()
	for asked, f := range s.echoes {
		if asked <= upTo {
			heard = append(heard, f)
			delete(s.echoes, asked)
		}
	}
	s.mu.Unlock()
	for _, f := range heard {
		f()
	}
	return nil
}

func (s *webSocket) SetReadLimit(bytes int64) { s.conn.SetReadLimit(bytes) }

func (s *webSocket) Read(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	kind, frame, err := s.conn.ReadMessage()
	switch {
	case errors.Is(err, websocket.ErrReadLimit):
		return nil, ErrFrameTooLarge
	case err != nil:
		return nil, fmt.Errorf("read frame: %w", err)
	case kind != websocket.TextMessage:
		return nil, ErrNotText
	}
	s.heard()
	return frame, nil
}

func (s *webSocket) Write(ctx context.Context, frame []byte) error {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.NetConn().SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := s.conn.WriteMessage(websocket.TextMessage, frame); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

func (s *webSocket) Close(code int, reason string) error {
	s.once.Do(func() {
		close(s.stop)
		const most = 120 // a close frame holds 123 bytes of reason
		if len(reason) > most {
			reason = reason[:most]
		}
		_ = s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(closeWait))
		s.err = s.conn.Close()
		<-s.done
	})
	return s.err
}
