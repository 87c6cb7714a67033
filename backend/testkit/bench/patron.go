package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"countersign/backend/client"
	"countersign/backend/host"
	"countersign/backend/protocol"
	"countersign/backend/testkit/kill"
)

// patron is a running host with a client over its WebSocket, and the paired
// device that answers it.
type patron struct {
	host   *kill.Host
	home   string
	conn   *client.Conn
	device *client.Conn
	sent   int
}

// stopTime bounds the end of a host, turnTime one turn.
const (
	stopTime = 15 * time.Second
	turnTime = time.Minute
)

func newHome(dir, name string) (string, error) {
	root := filepath.Join(dir, name)
	if err := os.Mkdir(root, 0o700); err != nil {
		return "", fmt.Errorf("make folder: %w", err)
	}
	return filepath.Join(root, "data"), nil
}

// open starts a host on a fresh home and connects.
func open(ctx context.Context, o options, dir string) (p *patron, err error) {
	p = &patron{}
	if p.home, err = newHome(dir, "host"); err != nil {
		return p, err
	}
	token, tokenFile := uuid.NewString(), filepath.Join(dir, "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		return p, fmt.Errorf("write token file: %w", err)
	}
	if p.host, err = kill.Start(ctx, kill.Options{Bin: o.bin, Home: p.home, Args: []string{"--token-file", tokenFile}, Log: os.Stderr}); err != nil {
		return p, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.conn, err = client.Web(ctx, p.host.WS, client.Options{Name: "bench", Version: "bench", Token: token}); err != nil {
		return p, err
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return p, fmt.Errorf("make device key: %w", err)
	}
	p.device, err = client.Socket(ctx, filepath.Join(p.home, host.SocketName), client.Options{
		Name: "bench", Version: "bench", Scopes: []protocol.Scope{protocol.ScopeRead, protocol.ScopeApprovals}, Key: key, Bootstrap: p.host.Ticket,
	})
	return p, err
}

func (p *patron) close() error {
	var errs []error
	for _, c := range []*client.Conn{p.conn, p.device} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	if p.host != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTime)
		defer cancel()
		errs = append(errs, p.host.Stop(ctx))
	}
	return errors.Join(errs...)
}

// send sends one message and returns how long its acknowledgement took.
func (p *patron) send(ctx context.Context, session, text string) (protocol.RunID, time.Duration, error) {
	p.sent++
	params := protocol.ChatSendParams{SessionKey: session, Message: text, IdempotencyKey: fmt.Sprintf("bench-%d", p.sent)}
	var ack protocol.ChatSendResult
	began := time.Now()
	err := p.conn.Call(ctx, protocol.MethodChatSend, params, &ack)
	took := time.Since(began)
	if err != nil {
		return "", took, fmt.Errorf("send %q: %w", text, err)
	}
	return ack.RunID, took, nil
}

// final waits for the final event of a run. One that does not come is an error:
// the run may wait for somebody.
func (p *patron) final(ctx context.Context, id protocol.RunID) error {
	ctx, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	for {
		e, err := p.conn.Event(ctx)
		if err != nil {
			return fmt.Errorf("wait for run %s: %w", id, err)
		}
		if e.Event != protocol.EventChat {
			continue
		}
		var c protocol.ChatEvent
		if err := json.Unmarshal(e.Payload, &c); err != nil {
			return fmt.Errorf("understand event: %w", err)
		}
		if c.RunID != id {
			continue
		}
		switch c.State {
		case protocol.ChatStateFinal:
			return nil
		case protocol.ChatStateError, protocol.ChatStateAborted:
			return fmt.Errorf("run %s ended as %s: %s", id, c.State, c.ErrorMessage)
		case protocol.ChatStateDelta, protocol.ChatStateStatus:
		}
	}
}

// turn sends a message and returns the time to its final event.
func (p *patron) turn(ctx context.Context, session, text string) (time.Duration, error) {
	began := time.Now()
	id, _, err := p.send(ctx, session, text)
	if err != nil {
		return 0, err
	}
	err = p.final(ctx, id)
	return time.Since(began), err
}

// allowed makes a turn whose one question is allowed for the session.
func (p *patron) allowed(ctx context.Context, session, text string) error {
	id, _, err := p.send(ctx, session, text)
	if err != nil {
		return err
	}
	for {
		e, err := p.device.Event(ctx)
		if err != nil {
			return fmt.Errorf("wait for a question: %w", err)
		}
		if e.Event != protocol.EventApprovalRequested {
			continue
		}
		var a protocol.Approval
		if err := json.Unmarshal(e.Payload, &a); err != nil {
			return fmt.Errorf("understand event: %w", err)
		}
		if a.Request.RunID != id {
			continue
		}
		decide := protocol.ApprovalResolveParams{ID: a.ID, Decision: protocol.AllowSession}
		if err := p.device.Call(ctx, protocol.MethodApprovalResolve, decide, &protocol.ApprovalResolveResult{}); err != nil {
			return fmt.Errorf("allow %s: %w", strings.ToLower(a.Request.Sentence), err)
		}
		return p.final(ctx, id)
	}
}
