package client

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"countersign/backend/gateway"
)

// handshakeTime bounds the opening of a WebSocket.
const handshakeTime = 10 * time.Second

// Web connects over the WebSocket at url, as `countersign serve` prints it.
func Web(ctx context.Context, url string, o Options) (*Conn, error) {
	dialer := websocket.Dialer{HandshakeTimeout: handshakeTime}
	conn, answer, err := dialer.DialContext(ctx, url, http.Header{})
	if err != nil {
		if answer != nil {
			return nil, fmt.Errorf("reach the host: it answered %s", answer.Status)
		}
		return nil, fmt.Errorf("reach the host: %w", err)
	}
	return New(ctx, &web{conn: conn}, o)
}

// web is the client's side of a WebSocket. The host's pings are answered while it
// reads.
type web struct {
	conn *websocket.Conn
	once sync.Once
	err  error
}

var _ gateway.Transport = (*web)(nil)

func (w *web) SetReadLimit(bytes int64) { w.conn.SetReadLimit(bytes) }

func (w *web) Read(ctx context.Context) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { _ = w.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	kind, frame, err := w.conn.ReadMessage()
	switch {
	case err != nil:
		return nil, fmt.Errorf("read frame: %w", err)
	case kind != websocket.TextMessage:
		return nil, gateway.ErrNotText
	}
	return frame, nil
}

func (w *web) Write(ctx context.Context, frame []byte) error {
	stop := context.AfterFunc(ctx, func() { _ = w.conn.NetConn().SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := w.conn.WriteMessage(websocket.TextMessage, frame); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

func (w *web) Close(code int, reason string) error {
	w.once.Do(func() {
		_ = w.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(time.Second))
		w.err = w.conn.Close()
	})
	return w.err
}
