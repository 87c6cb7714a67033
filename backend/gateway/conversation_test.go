package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/backend/gateway"
	"countersign/backend/gateway/gatewaytest"
	"countersign/backend/protocol"
)

// A conversation is a text file. Lines that begin with "->" are sent as they are,
// "wait 15s" lets time pass, "send tick" broadcasts; what the server sends and how
// it closes is written after each by -update, and compared otherwise.
//
//	peer window|browser|socket|web   who connects; first line
//	-> {…}                           a frame of the client
//	repeat 11 {…}                    a frame sent so often, # standing for the number
//	long 70000                       a frame of so many bytes
//	wait 15s                         time passes
//	<- {…}                           a frame of the server
//	closed 1008 reason               the end
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/conversations/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("conversations: found %d (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				got := converse(t, string(text))
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				if got != string(text) {
					t.Errorf("the conversation went otherwise:\n%s", got)
				}
			})
		})
	}
}

func converse(t *testing.T, text string) string {
	opts := gatewaytest.Options(t)
	opts.Devices = gatewaytest.NewDevices()
	opts.Changes = &gatewaytest.ChangeLog{}
	opts.Token = tokenFile(t, "right-token")
	opts.Errors = []gateway.ErrorRule{{Is: os.ErrNotExist, Code: protocol.CodeInvalidRequest, Detail: protocol.DetailUnknownRun, Sentence: "There is no such run."}}
	g := gatewaytest.New(t, opts)
	registerForConversations(g)

	pipe := gatewaytest.NewPipe(1024)
	var out strings.Builder
	ended := false
	started := false
	settle := func() {
		synctest.Wait()
		for {
			frame, ok := pipe.Received()
			if !ok {
				break
			}
			fmt.Fprintf(&out, "<- %s\n", frame)
		}
		if code, reason, ok := pipe.Ended(); ok && !ended {
			ended = true
			fmt.Fprintf(&out, "closed %d %s\n", code, reason)
		}
	}
	done := make(chan struct{})
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		verb, rest, _ := strings.Cut(line, " ")
		if verb == "<-" || verb == "closed" {
			continue
		}
		fmt.Fprintln(&out, line)
		switch verb {
		case "peer":
			started = true
			go func() {
				defer close(done)
				_ = g.ServeConn(context.Background(), pipe, gateway.Peer{Kind: gateway.PeerKind(rest), Name: rest, Remote: "test"})
			}()
		case "->":
			pipe.Deliver([]byte(rest))
		case "repeat":
			count, frame, _ := strings.Cut(rest, " ")
			for n := range atoi(t, count) {
				pipe.Deliver([]byte(strings.ReplaceAll(frame, "#", fmt.Sprint(n+1))))
				settle()
			}
		case "long":
			pipe.Deliver([]byte(strings.Repeat("x", atoi(t, rest))))
		case "wait":
			d, err := time.ParseDuration(rest)
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(d)
		case "", "#":
			continue
		default:
			t.Fatalf("line not understood: %s", line)
		}
		settle()
	}
	if !started {
		t.Fatal("the conversation has no peer")
	}
	_ = pipe.Close(1000, "")
	<-done
	return out.String()
}

func registerForConversations(g *gateway.Gateway) {
	gateway.Handle(g, protocol.MethodHealth, func(context.Context, gateway.Caller, protocol.HealthParams) (protocol.Health, error) {
		return protocol.Health{OK: true}, nil
	})
	gateway.Handle(g, protocol.MethodChatSend, func(_ context.Context, _ gateway.Caller, p protocol.ChatSendParams) (protocol.ChatSendResult, error) {
		return protocol.ChatSendResult{RunID: protocol.RunID(p.IdempotencyKey), Status: protocol.ChatStarted}, nil
	})
	gateway.Handle(g, protocol.MethodRunsGet, func(_ context.Context, _ gateway.Caller, p protocol.RunsGetParams) (protocol.Run, error) {
		switch p.RunID {
		case "gone":
			return protocol.Run{}, fmt.Errorf("read run: %w", os.ErrNotExist)
		case "broken":
			return protocol.Run{}, errors.New("disk on fire at /secret/path")
		case "panics":
			panic("a bug")
		}
		return protocol.Run{RunID: p.RunID}, nil
	})
	g.Handle(protocol.MethodApprovalResolve, func(_ context.Context, c gateway.Caller, _ json.RawMessage) (any, error) {
		by := c.Resolver()
		return protocol.ApprovalResolveResult{OK: true, Approval: protocol.Approval{Resolver: &by}}, nil
	})
}

func tokenFile(t *testing.T, token string) *gateway.TokenFile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := gateway.OpenTokenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
