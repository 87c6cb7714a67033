package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"countersign/backend/gateway"
	"countersign/backend/host"
	"countersign/backend/protocol"
)

// client is one connection to a running host. It is used by one goroutine.
type client struct {
	transport gateway.Transport
	next      int
	events    []protocol.Event // came while a response was awaited
	hello     protocol.HelloOK
}

// access says what a connection asks for.
type access struct {
	scopes []protocol.Scope
	// key signs as a device; bootstrap pairs it.
	key       ed25519.PrivateKey
	bootstrap string
}

// dial connects to the host of the data directory.
func dial(ctx context.Context, g *globals, a access) (*client, error) {
	dir, err := g.dir()
	if err != nil {
		return nil, err
	}
	t, err := gateway.DialSocket(ctx, filepath.Join(dir, host.SocketName))
	if err != nil {
		return nil, fmt.Errorf("no Countersign runs on %s; start it with `countersign serve` or open the app", dir)
	}
	if limiter, ok := t.(gateway.ReadLimiter); ok {
		limiter.SetReadLimit(protocol.MaxFrame)
	}
	c := &client{transport: t}
	if err := c.connect(ctx, a); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *client) close() error { return c.transport.Close(1000, "") }

func (c *client) connect(ctx context.Context, a access) error {
	var first protocol.Event
	if err := c.read(ctx, &first); err != nil {
		return err
	}
	var challenge protocol.Challenge
	if err := json.Unmarshal(first.Payload, &challenge); err != nil {
		return fmt.Errorf("understand the host: %w", err)
	}
	p := protocol.ConnectParams{
		MinProtocol: protocol.Version, MaxProtocol: protocol.Version, Role: "operator", Scopes: a.scopes,
		Client: protocol.ClientInfo{ID: "cli", DisplayName: "countersign", Version: version, Platform: runtime.GOOS, Mode: "cli"},
		Caps:   []string{protocol.CapToolEvents, protocol.CapChanges},
	}
	if a.bootstrap != "" {
		p.Auth = &protocol.ConnectAuth{BootstrapToken: a.bootstrap}
	}
	if a.key != nil {
		gateway.SignConnect(&p, a.key, challenge.Nonce, time.UnixMilli(challenge.TsMs))
	}
	return c.call(ctx, protocol.MethodConnect, p, &c.hello)
}

func (c *client) read(ctx context.Context, into any) error {
	frame, err := c.transport.Read(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the host ended the connection: %w", err)
	}
	if err := json.Unmarshal(frame, into); err != nil {
		return fmt.Errorf("understand the host: %w", err)
	}
	return nil
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

// call sends a request and waits for its response; events that come meanwhile
// are kept for event.
func (c *client) call(ctx context.Context, m protocol.Method, params, result any) error {
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
		return fmt.Errorf("reach the host: %w", err)
	}
	for {
		var f frame
		if err := c.read(ctx, &f); err != nil {
			return err
		}
		if f.Type == protocol.FrameEvent {
			c.events = append(c.events, protocol.Event{Event: f.Event, Payload: f.Payload})
			continue
		}
		if f.ID != id {
			continue
		}
		if !f.OK {
			return explain(f.Error)
		}
		if err := json.Unmarshal(f.Payload, result); err != nil {
			return fmt.Errorf("understand the host: %w", err)
		}
		return nil
	}
}

// explain adds to an error what to do about it from the command line.
func explain(e *protocol.Error) error {
	if e == nil {
		return errors.New("the host refused without a reason")
	}
	if e.Details != nil && e.Details.Code == protocol.DetailMissingScope {
		return errors.New("this needs a paired device; pair this computer's command line with `countersign device pair --ticket T`, with a ticket that the window shows or `countersign serve` printed")
	}
	return e
}

// event returns the next event, those kept first.
func (c *client) event(ctx context.Context) (protocol.Event, error) {
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

// ask dials, makes one call and hangs up.
func ask[R any](ctx context.Context, g *globals, a access, m protocol.Method, params any) (R, error) {
	var out R
	c, err := dial(ctx, g, a)
	if err != nil {
		return out, err
	}
	err = c.call(ctx, m, params, &out)
	return out, errors.Join(err, c.close())
}

// reading is what every command may ask for without a paired device.
func reading() access {
	return access{scopes: []protocol.Scope{protocol.ScopeRead, protocol.ScopeWrite, protocol.ScopeModels}}
}
