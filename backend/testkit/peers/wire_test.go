//go:build peers

package peers_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"countersign/backend/gateway"
)

// wire is a client's side of a WebSocket that keeps what came.
type wire struct {
	conn *websocket.Conn
	keep func(frame []byte)
}

var _ gateway.Transport = (*wire)(nil)

func dial(t *testing.T, url string, keep func(frame []byte)) *wire {
	t.Helper()
	conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &wire{conn: conn, keep: keep}
}

// Read implements gateway.Transport.
func (w *wire) Read(ctx context.Context) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { _ = w.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	_, frame, err := w.conn.ReadMessage()
	if err != nil {
		return nil, fmt.Errorf("read frame: %w", err)
	}
	w.keep(frame)
	return frame, nil
}

// Write implements gateway.Transport.
func (w *wire) Write(_ context.Context, frame []byte) error {
	return w.conn.WriteMessage(websocket.TextMessage, frame)
}

// Close implements gateway.Transport.
func (w *wire) Close(int, string) error { return w.conn.Close() }

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
