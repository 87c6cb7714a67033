package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/backend/gateway"
	"countersign/backend/gateway/gatewaytest"
	"countersign/backend/protocol"
)

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }

func TestAThousandConnectionsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gatewaytest.New(t, gatewaytest.Options(t))
		gateway.Handle(g, protocol.MethodHealth, func(context.Context, gateway.Caller, protocol.HealthParams) (protocol.Health, error) {
			return protocol.Health{OK: true}, nil
		})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for n := range 50 {
					c := gatewaytest.Dial(t, g, window)
					if n%5 == 0 {
						c.Close() // leaves in the handshake
						continue
					}
					c.Connect(gatewaytest.Params())
					g.Broadcast(protocol.EventChat, chat("r", protocol.ChatStateDelta, "x"))
					if n%2 == 0 {
						if res := c.Call(protocol.MethodHealth, protocol.HealthParams{}); !res.OK {
							t.Errorf("health was answered %+v", res.Error)
						}
					}
					c.Close()
				}
			})
		}
		wg.Wait()
		<-time.After(time.Second)
		c := gatewaytest.Dial(t, g, window)
		if hello := c.Connect(gatewaytest.Params()); len(hello.Snapshot.Presence) != 1 {
			t.Errorf("%d clients are still counted", len(hello.Snapshot.Presence))
		}
	})
}

func TestTooManyConnectionsAreTurnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := gatewaytest.Options(t)
		opts.MaxConns = 2
		g := gatewaytest.New(t, opts)
		first := gatewaytest.Dial(t, g, web)
		gatewaytest.Dial(t, g, web)
		third := gatewaytest.NewPipe(1)
		if err := g.ServeConn(t.Context(), third, window); err != nil {
			t.Fatal(err)
		}
		if code, _, ended := third.Ended(); !ended || code != protocol.CloseStarting {
			t.Errorf("the third ended %v with %d", ended, code)
		}
		first.Close()
		gatewaytest.Dial(t, g, web)
	})
}

func TestTheCommandLineComesOverTheSocket(t *testing.T) {
	// A path longer than the kernel takes is no reason to fail on Linux.
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("long/", 25))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "countersign.sock")
		g := gatewaytest.New(t, gatewaytest.Options(t))
		s, err := g.ListenSocket(path)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the socket is %v, %v", info.Mode(), err)
		}
		tr, err := gateway.DialSocket(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		tr.(gateway.ReadLimiter).SetReadLimit(protocol.MaxFrame)
		if frame, err := tr.Read(t.Context()); err != nil || !strings.Contains(string(frame), "connect.challenge") {
			t.Errorf("first came %s, %v", frame, err)
		}
		params, err := json.Marshal(gatewaytest.Params())
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Write(t.Context(), fmt.Appendf(nil, `{"type":"req","id":"1","method":"connect","params":%s}`, params)); err != nil {
			t.Fatal(err)
		}
		if frame, err := tr.Read(t.Context()); err != nil || !strings.Contains(string(frame), `"method":"socket"`) {
			t.Errorf("the answer is %s, %v", frame, err)
		}
		s.Close()
		s.Close()
		for err == nil {
			_, err = tr.Read(t.Context())
		}
		_ = tr.Close(0, "")
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("the socket's file stayed: %v", err)
		}
	}
}

func TestASocketLeftBehindIsReplacedAndAnythingElseIsNot(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	left, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = left.Close()
	g := gatewaytest.New(t, gatewaytest.Options(t))
	s, err := g.ListenSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := g.ListenSocket(path); err == nil {
		t.Error("a file was taken for a socket")
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Error("the file was touched")
	}
}

func TestALineThatIsTooLongEndsTheStream(t *testing.T) {
	a, b := net.Pipe()
	tr := gateway.NewStream(a)
	go func() {
		_, _ = io.WriteString(b, "short\n")
		_, _ = b.Write(make([]byte, protocol.MaxFrameBeforeAuth+100))
		_ = b.Close()
	}()
	if frame, err := tr.Read(t.Context()); err != nil || string(frame) != "short" {
		t.Errorf("read %q, %v", frame, err)
	}
	if _, err := tr.Read(t.Context()); err != gateway.ErrFrameTooLarge {
		t.Errorf("a long line gave %v", err)
	}
	_ = tr.Close(0, "")
	_ = tr.Close(0, "")
}

// A client may send anything; the gateway answers or closes, and goes on.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `null`, `{"type":"req","id":"1","method":"health","params":{}}`, `{"id":1}`, "\x00", `{"type":"req","id":"","method":""}`,
		`{"type":"req","id":"1","method":"chat.send","params":{"sessionKey":"main","message":"x","idempotencyKey":"k","attachments":[null,{}]}}`,
		`{"type":"req","id":"1","method":"connect","params":{"minProtocol":4,"maxProtocol":4,"client":{"id":"cli","version":"1","platform":"x","mode":"cli"},"device":{}}}`,
		`{"type":"req","id":"1","method":"connect","params":{"minProtocol":1e400}}`, strings.Repeat("[", 20000),
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, frame []byte, afterHello bool) {
		synctest.Test(t, func(t *testing.T) {
			g := gatewaytest.New(t, gatewaytest.Options(t))
			gateway.Handle(g, protocol.MethodChatSend, func(_ context.Context, _ gateway.Caller, p protocol.ChatSendParams) (protocol.ChatSendResult, error) {
				return protocol.ChatSendResult{RunID: protocol.RunID(p.IdempotencyKey)}, nil
			})
			c := gatewaytest.Dial(t, g, socket)
			if afterHello {
				c.Connect(gatewaytest.Params())
			}
			c.Send(string(frame))
			<-time.After(20 * time.Second)
			answered := false
			for {
				got, ok := c.TryRecv()
				if !ok {
					break
				}
				if !json.Valid(got) {
					t.Fatalf("the server wrote %q", got)
				}
				answered = answered || strings.HasPrefix(string(got), `{"type":"res"`)
			}
			if _, _, ended := c.Pipe.Ended(); !ended && !answered {
				t.Fatalf("%q was neither answered nor the end", frame)
			}
		})
	})
}
