package client_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"countersign/backend/client"
	"countersign/backend/gateway"
	"countersign/backend/gateway/gatewaytest"
	"countersign/backend/protocol"
)

const token = "a-token-of-the-test"

// rig is a small gateway with both doors open.
type rig struct {
	gateway *gateway.Gateway
	socket  *gateway.Socket
	path    string
	server  *gateway.Server
}

func open(t *testing.T) rig {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := gatewaytest.Options(t)
	var err error
	if o.Token, err = gateway.OpenTokenFile(file); err != nil {
		t.Fatal(err)
	}
	o.Devices = gatewaytest.NewDevices()
	r := rig{gateway: gatewaytest.New(t, o), path: filepath.Join(dir, "s.sock")}
	gateway.Handle(r.gateway, protocol.MethodChatSend, func(_ context.Context, _ gateway.Caller, p protocol.ChatSendParams) (protocol.ChatSendResult, error) {
		r.gateway.Broadcast(protocol.EventChat, protocol.ChatEvent{RunID: protocol.RunID(p.IdempotencyKey), State: protocol.ChatStateFinal})
		return protocol.ChatSendResult{RunID: protocol.RunID(p.IdempotencyKey), Status: protocol.ChatStarted}, nil
	})
	gateway.Handle(r.gateway, protocol.MethodApprovalList, func(context.Context, gateway.Caller, protocol.ApprovalListParams) ([]protocol.Approval, error) {
		return nil, nil
	})
	if r.socket, err = r.gateway.ListenSocket(r.path); err != nil {
		t.Fatal(err)
	}
	if r.server, err = r.gateway.Listen("127.0.0.1:0", gateway.HTTPOptions{}); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCallsAndEventsComeThroughBothDoors(t *testing.T) {
	r := open(t)
	doors := map[string]func() (*client.Conn, error){
		"socket": func() (*client.Conn, error) { return client.Socket(t.Context(), r.path, client.Options{Name: "test"}) },
		"web": func() (*client.Conn, error) {
			return client.Web(t.Context(), r.server.WS(), client.Options{Token: token})
		},
	}
	for name, dial := range doors {
		t.Run(name, func(t *testing.T) {
			c, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var ack protocol.ChatSendResult
			if err := c.Call(t.Context(), protocol.MethodChatSend, protocol.ChatSendParams{SessionKey: "main", Message: "hello", IdempotencyKey: "k-" + name}, &ack); err != nil {
				t.Fatal(err)
			}
			if ack.RunID != protocol.RunID("k-"+name) {
				t.Errorf("the answer names run %q", ack.RunID)
			}
			for {
				e, err := c.Event(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if e.Event == protocol.EventChat {
					return // kept while the answer was awaited, or come after it
				}
			}
		})
	}
}

func TestARefusalIsToldAndLeavesTheConnectionUsable(t *testing.T) {
	r := open(t)
	c, err := client.Socket(t.Context(), r.path, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var refused *protocol.Error
	err = c.Call(t.Context(), "no.such.method", protocol.Empty{}, &protocol.Empty{})
	if !errors.As(err, &refused) || refused.Details.Code != protocol.DetailUnknownMethod {
		t.Fatalf("an unknown method gave %v", err)
	}
	var ack protocol.ChatSendResult
	if err := c.Call(t.Context(), protocol.MethodChatSend, protocol.ChatSendParams{SessionKey: "main", Message: "x", IdempotencyKey: "k"}, &ack); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
}

func TestAWrongTokenIsRefused(t *testing.T) {
	r := open(t)
	_, err := client.Web(t.Context(), r.server.WS(), client.Options{Token: "wrong"})
	var refused *protocol.Error
	if !errors.As(err, &refused) || refused.Details.Code != protocol.DetailTokenMismatch {
		t.Errorf("a wrong token gave %v", err)
	}
}

func TestADevicePairsWithATicketAndMayDecide(t *testing.T) {
	r := open(t)
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	ticket, _ := r.gateway.Tickets().New(gateway.ForDevice)
	scopes := []protocol.Scope{protocol.ScopeRead, protocol.ScopeApprovals}
	for _, bootstrap := range []string{ticket, ""} { // paired, then known
		c, err := client.Socket(t.Context(), r.path, client.Options{Key: key, Bootstrap: bootstrap, Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(c.Hello().Auth.Scopes, protocol.ScopeApprovals) {
			t.Errorf("with ticket %q the scopes are %v", bootstrap, c.Hello().Auth.Scopes)
		}
		if err := c.Call(t.Context(), protocol.MethodApprovalList, protocol.ApprovalListParams{}, &[]protocol.Approval{}); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAnEndedHostIsToldApartFromARefusal(t *testing.T) {
	r := open(t)
	c, err := client.Socket(t.Context(), r.path, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r.socket.Close()
	for err == nil {
		_, err = c.Event(t.Context())
	}
	if !errors.Is(err, client.ErrEnded) {
		t.Errorf("the end is told as %v", err)
	}
}

func TestWaitingForAnEventEndsWithItsContext(t *testing.T) {
	r := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	c, err := client.Socket(ctx, r.path, client.Options{Scopes: []protocol.Scope{protocol.ScopeRead}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	for err == nil {
		_, err = c.Event(ctx)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled wait ended with %v", err)
	}
}
