// Package client is how a program written in Go talks to a running host: over
// the Unix socket in its data directory, or over a WebSocket. The command line
// uses it, and so do the programs that measure the host and try to break it.
//
// It does the handshake, pairs each response with its call and keeps the events
// that come meanwhile. It decides nothing, repeats nothing and reconnects to
// nothing: a caller that must know whether a lost call was carried out sends it
// again under the same key on a new connection.
package client

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"countersign/backend/gateway"
	"countersign/backend/protocol"
)

// ErrEnded reports that the connection is gone: what was asked may have been
// carried out or not.
var ErrEnded = errors.New("the host ended the connection")

// Options say who connects and what for.
type Options struct {
	// Name and Version are shown to the owner beside the connection.
	Name    string
	Version string
	Scopes  []protocol.Scope
	Caps    []string
	// Key signs as a paired device; Bootstrap, a ticket, pairs it.
	Key       ed25519.PrivateKey
	Bootstrap string
	// Token is the content of the host's token file.
	Token string
}

// Conn is one connection to a running host. It is used by one goroutine; Close
// may be called by any.
type Conn struct {
	transport gateway.Transport
	next      int
	events    []protocol.Event // came while a response was awaited
	hello     protocol.HelloOK
}

// Socket connects over the Unix socket at path.
func Socket(ctx context.Context, path string, o Options) (*Conn, error) {
	t, err := gateway.DialSocket(ctx, path)
	if err != nil {
		return nil, err
	}
	return New(ctx, t, o)
}

// New does the handshake over a transport, which it closes when the host refuses.
func New(ctx context.Context, t gateway.Transport, o Options) (*Conn, error) {
	if limiter, ok := t.(gateway.ReadLimiter); ok {
		limiter.SetReadLimit(protocol.MaxFrame)
	}
	c := &Conn{transport: t}
	if err := c.connect(ctx, o); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close hangs up. Closing twice is fine.
func (c *Conn) Close() error { return c.transport.Close(1000, "") }

// Hello is what the host said of itself and of what this connection may do.
func (c *Conn) Hello() protocol.HelloOK { return c.hello }

func (c *Conn) connect(ctx context.Context, o Options) error {
	var first protocol.Event
	if err := c.read(ctx, &first); err != nil {
		return err
	}
	var challenge protocol.Challenge
	if err := json.Unmarshal(first.Payload, &challenge); err != nil {
		return fmt.Errorf("understand the host: %w", err)
	}
	p := protocol.ConnectParams{
		MinProtocol: protocol.Version, MaxProtocol: protocol.Version, Role: "operator", Scopes: o.Scopes, Caps: o.Caps,
		Client: protocol.ClientInfo{ID: "cli", DisplayName: o.Name, Version: o.Version, Platform: runtime.GOOS, Mode: "cli"},
	}
	if o.Bootstrap != "" || o.Token != "" {
		p.Auth = &protocol.ConnectAuth{BootstrapToken: o.Bootstrap, Token: o.Token}
	}
	if o.Key != nil {
		gateway.SignConnect(&p, o.Key, challenge.Nonce, time.UnixMilli(challenge.TsMs))
	}
	return c.Call(ctx, protocol.MethodConnect, p, &c.hello)
}

func (c *Conn) read(ctx context.Context, into any) error {
	frame, err := c.transport.Read(ctx)
	if err != nil {
		return lost(ctx, err)
	}
	if err := json.Unmarshal(frame, into); err != nil {
		return fmt.Errorf("understand the host: %w", err)
	}
	return nil
}

// lost says why a connection failed: the caller's own end comes first.
func lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrEnded, err)
}

// frame is a response or an event, before it is known which.
type frame struct {
	Type    protocol.FrameType `json:"type"`
	ID      string             `json:"id"`
	OK      bool               `json:"ok"`
	Payload json.RawMessage    `json:"payload"`
	Error   *protocol.Error    `json:"error"`
	Event   protocol.EventName `json:"event"`
}

// Call sends a request and waits for its response, decoded into result; events
// that come meanwhile are kept for Event. A refusal is a *protocol.Error; after
// any other error the connection cannot be used again.
func (c *Conn) Call(ctx context.Context, m protocol.Method, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode %s: %w", m, err)
	}
	c.next++
	id := strconv.Itoa(c.next)
	req, err := json.Marshal(protocol.Request{Type: protocol.FrameReq, ID: id, Method: m, Params: raw})
	if err != nil {
		return fmt.Errorf("encode %s: %w", m, err)
	}
	if err := c.transport.Write(ctx, req); err != nil {
		return lost(ctx, err)
	}
	for {
		var f frame
		if err := c.read(ctx, &f); err != nil {
			return err
		}
		switch {
		case f.Type == protocol.FrameEvent:
			c.events = append(c.events, protocol.Event{Event: f.Event, Payload: f.Payload})
		case f.ID != id:
		case !f.OK:
			return refusal(f.Error)
		default:
			if err := json.Unmarshal(f.Payload, result); err != nil {
				return fmt.Errorf("understand the host: %w", err)
			}
			return nil
		}
	}
}

func refusal(e *protocol.Error) error {
	if e == nil {
		return protocol.NewError(protocol.CodeInternal, "", "The host refused without a reason.")
	}
	return e
}

// Event returns the next event, those kept first. When ctx ends it returns its
// error, and the connection cannot be used again.
func (c *Conn) Event(ctx context.Context) (protocol.Event, error) {
	if len(c.events) > 0 {
		e := c.events[0]
		c.events = c.events[1:]
		return e, nil
	}
	for {
		var f frame
		if err := c.read(ctx, &f); err != nil {
			return protocol.Event{}, err
		}
		if f.Type == protocol.FrameEvent {
			return protocol.Event{Event: f.Event, Payload: f.Payload}, nil
		}
	}
}
