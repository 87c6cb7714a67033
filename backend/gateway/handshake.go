package gateway

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"countersign/backend/protocol"
)

// clientIDs and clientModes are closed lists in protocol v4; our own command line
// is "cli", our page is "webchat-ui".
func clientIDs() []string {
	return []string{
		"webchat-ui", "openclaw-control-ui", "openclaw-browser-copilot", "openclaw-tui", "webchat", "cli",
		"gateway-client", "openclaw-macos", "openclaw-linux", "openclaw-ios", "openclaw-watchos", "openclaw-android",
		"node-host", "openclaw-worker", "test", "fingerprint", "openclaw-probe",
	}
}

func clientModes() []string {
	return []string{"webchat", "cli", "ui", "backend", "node", "worker", "probe", "test"}
}

func capabilities() []string { return []string{protocol.CapChanges} }

// open does the handshake. An error ends the connection, with the answer queued.
func (c *conn) open() error {
	if err := c.challenge(); err != nil {
		return err
	}
	frame, err := c.readFrame(protocol.MaxFrameBeforeAuth)
	if err != nil {
		return err
	}
	req, bad := parseRequest(frame)
	if req == nil {
		c.end(closeInvalid, reasonInvalid, true)
		return errEnded
	}
	if bad == nil && req.Method != protocol.MethodConnect {
		bad = invalid("", "The first request of a connection is connect.")
	}
	var params protocol.ConnectParams
	if bad == nil {
		var raw json.RawMessage
		if raw, bad = c.g.connects.accept(req.Params); bad == nil {
			bad = decode(raw, &params)
		}
	}
	if bad == nil {
		bad = checkClient(&params)
	}
	if bad == nil && c.g.isStopping() {
		bad = stoppingError()
	}
	if bad != nil {
		return c.refuse(req.ID, bad)
	}
	granted, method, bad := c.authenticate(&params)
	if bad != nil {
		return c.refuse(req.ID, bad)
	}
	return c.welcome(req.ID, &params, granted, method)
}

func (c *conn) challenge() error {
	payload, err := encode(protocol.Challenge{Nonce: c.nonce, TsMs: c.since.UnixMilli(), Capabilities: capabilities()})
	if err != nil {
		return err
	}
	frame, err := json.Marshal(protocol.Event{Type: protocol.FrameEvent, Event: protocol.EventChallenge, Payload: payload})
	if err != nil {
		return fmt.Errorf("encode challenge: %w", err)
	}
	c.out.push(&item{raw: frame, size: int64(len(frame))})
	return nil
}

// refuse answers and closes. What the answer says in details is the reason.
func (c *conn) refuse(id string, bad *protocol.Error) error {
	code, reason := protocol.ClosePolicy, "connect refused"
	if bad.Details != nil && bad.Details.Code != "" {
		reason = string(bad.Details.Code)
		if bad.Details.Code == protocol.DetailProtocolMismatch {
			code = protocol.CloseProtocolMismatch
		}
	}
	c.answer(id, nil, bad)
	c.end(code, reason, true)
	return errEnded
}

func checkClient(p *protocol.ConnectParams) *protocol.Error {
	switch {
	case p.MinProtocol < 1 || p.MaxProtocol < p.MinProtocol:
		return invalid(protocol.DetailProtocolMismatch, "The range of protocol versions is not valid.")
	case p.MinProtocol > protocol.Version || p.MaxProtocol < protocol.Version:
		return invalid(protocol.DetailProtocolMismatch, fmt.Sprintf("Countersign speaks protocol version %d.", protocol.Version))
	case !slices.Contains(clientIDs(), p.Client.ID):
		return invalid("", "\"client.id\" is not one of the names that protocol 4 knows.")
	case !slices.Contains(clientModes(), p.Client.Mode):
		return invalid("", "\"client.mode\" is not one of the modes that protocol 4 knows.")
	case roleOf(p) != roleOperator:
		return invalid("", "Countersign takes clients of the role operator only.")
	}
	return nil
}

func roleOf(p *protocol.ConnectParams) string {
	if p.Role == "" {
		return roleOperator
	}
	return p.Role
}

// welcome fixes what the connection may do, sends hello-ok and goes live. Events
// that happen meanwhile wait behind it.
func (c *conn) welcome(id string, p *protocol.ConnectParams, granted scopeSet, method string) error {
	c.client, c.scopes, c.since = p.Client, granted.narrow(p.Scopes), c.g.now()
	c.caps = map[string]bool{}
	for _, capability := range p.Caps {
		c.caps[capability] = true
	}
	if l, ok := c.t.(ReadLimiter); ok {
		l.SetReadLimit(protocol.MaxFrame)
	}
	c.feed.begin()
	c.out.gate()
	c.ready.Store(true)
	c.g.presenceChanged()

	var changes []protocol.ChangeEvent
	hello := c.hello(method)
	if c.caps[protocol.CapChanges] && c.g.opts.Changes != nil && c.scopes[protocol.ScopeRead] {
		var err error
		if hello.Changes, changes, err = c.g.plan(c.ctx, p.Resume); err != nil {
			return c.refuse(id, c.g.answerFor(protocol.MethodConnect, err))
		}
	}
	payload, err := encode(hello)
	if err != nil {
		return c.refuse(id, c.g.answerFor(protocol.MethodConnect, err))
	}
	frame, err := json.Marshal(protocol.Response{Type: protocol.FrameRes, ID: id, OK: true, Payload: payload})
	if err != nil {
		return c.refuse(id, c.g.answerFor(protocol.MethodConnect, err))
	}
	c.out.openGate(&item{raw: frame, size: int64(len(frame))})
	for _, change := range changes {
		if err := c.feed.replayed(c.out, change); err != nil {
			return fmt.Errorf("replay changes: %w", err)
		}
	}
	var last int64
	if hello.Changes != nil {
		last = hello.Changes.LastSeq
	}
	c.feed.done(c.out, last)
	c.log.Info("client connected", slog.String("client", p.Client.ID), slog.String("auth", method))
	return nil
}

func (c *conn) hello(method string) protocol.HelloOK {
	g := c.g
	return protocol.HelloOK{
		Type: "hello-ok", Protocol: protocol.Version,
		Server:   protocol.ServerInfo{Version: g.opts.Version, BootID: g.opts.BootID, ConnID: c.id},
		Features: protocol.Features{Methods: g.registered(), Events: g.eventsFor(c), Capabilities: capabilities()},
		Snapshot: protocol.Snapshot{
			Presence: g.presences(), Health: g.opts.Health(), StateVersion: g.stateVersion(),
			UptimeMs: g.now().Sub(g.started).Milliseconds(), SessionDefaults: g.opts.Defaults(), AuthMode: authMode(method),
		},
		Auth: protocol.HelloAuth{Method: method, Role: roleOperator, Scopes: c.scopes.list()},
		Policy: protocol.HelloPolicy{
			MaxPayload: protocol.MaxFrame, MaxBufferedBytes: protocol.MaxBuffered, TickIntervalMs: protocol.TickIntervalMs,
			Attachments: protocol.AttachmentPolicy{MaxBytes: protocol.MaxAttachment, MaxImageBytes: protocol.MaxImage},
		},
	}
}

// authMode is the method in protocol v4's words, which know shared secrets only.
// How else a connection proved itself stands in auth.method.
func authMode(method string) string {
	if method == authToken {
		return authToken
	}
	return ""
}

// registered lists the methods that are answered, in the table's order.
func (g *Gateway) registered() []protocol.Method {
	g.mu.RLock()
	defer g.mu.RUnlock()
	out := []protocol.Method{}
	for _, call := range protocol.Calls() {
		if _, ok := g.handlers[call.Method]; ok {
			out = append(out, call.Method)
		}
	}
	return out
}

func (g *Gateway) eventsFor(c *conn) []protocol.EventName {
	out := []protocol.EventName{}
	for _, row := range protocol.EventPayloads() {
		if !ownEvent(row.Event) || c.caps[protocol.CapChanges] {
			out = append(out, row.Event)
		}
	}
	return out
}

// touch notes that a device was here; a failure costs a date, not the connection.
func (c *conn) touch(at time.Time) {
	if err := c.g.opts.Devices.Touch(c.ctx, c.device.DeviceID, at); err != nil {
		c.log.Warn("the device's last visit was not noted", slog.Any("err", err))
	}
}
