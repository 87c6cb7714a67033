package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"countersign/backend/protocol"
)

const (
	roleOperator = "operator"
	// maxDenied is how many calls without the scope a connection may make.
	maxDenied = 10
	// maxCalls bounds the calls of one connection that run at once. Stop and pause
	// still get through up to twice as many.
	maxCalls = 64
	// maxRequestID is the longest id of a request, in bytes.
	maxRequestID = 256

	closeNormal    = 1000
	closeNotText   = 1003
	closeTooLarge  = 1009
	closeInvalid   = protocol.ClosePolicy
	reasonInvalid  = "invalid frame"
	reasonTooSlow  = "slow consumer"
	reasonSlowOpen = "handshake timeout"
)

// errEnded says that the gateway itself ended the connection.
var errEnded = errors.New("connection ended")

// conn is one connection. The reader owns the fields without a lock until the
// handshake is done; afterwards they do not change.
type conn struct {
	g     *Gateway
	id    protocol.ConnID
	t     Transport
	peer  Peer
	nonce string
	log   *slog.Logger
	out   *outbound
	feed  changeFeed

	client protocol.ClientInfo
	scopes scopeSet
	caps   map[string]bool
	device *protocol.Device
	since  time.Time
	ready  atomic.Bool

	// ctx ends when the connection ends; flushed when nothing more may be written.
	ctx          context.Context
	cancel       context.CancelFunc
	flushed      context.Context
	cancelFlush  context.CancelFunc
	endOnce      sync.Once
	code         int
	reason       string
	writerClosed chan struct{}

	// denied and lastSend belong to the reader.
	denied   int
	lastSend chan struct{}

	mu      sync.Mutex
	running map[string]struct{}
}

func newConn(g *Gateway, t Transport, p Peer) *conn {
	c := &conn{
		g: g, t: t, peer: p, id: protocol.ConnID(g.opts.NewID()), nonce: g.opts.NewID(), since: g.now(),
		running: map[string]struct{}{}, writerClosed: make(chan struct{}), lastSend: make(chan struct{}),
	}
	close(c.lastSend)
	c.log = g.log.With(slog.String("conn", string(c.id)), slog.String("peer", string(p.Kind)))
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.flushed, c.cancelFlush = context.WithCancel(context.Background())
	c.out = newOutbound(func() { c.end(protocol.ClosePolicy, reasonTooSlow, false) })
	if p.Kind == PeerWindow {
		c.out.pace = windowPace
	}
	return c
}

func (c *conn) isReady() bool { return c.ready.Load() }

// serve runs the connection to its end: the reader here, the writer beside it.
func (c *conn) serve() error {
	go c.write()
	deadline := time.AfterFunc(protocol.HandshakeMs*time.Millisecond, func() {
		c.end(protocol.ClosePolicy, reasonSlowOpen, true)
	})
	err := c.open()
	if deadline.Stop() && err == nil {
		err = c.read()
	}
	c.end(closeNormal, "", true)
	<-c.writerClosed
	return err
}

// end ends the connection; the first reason counts. With flush, what is queued
// may still leave for a moment.
func (c *conn) end(code int, reason string, flush bool) {
	c.endOnce.Do(func() {
		c.code, c.reason = code, reason
		c.cancel()
		if flush {
			time.AfterFunc(flushTime, c.cancelFlush)
		} else {
			c.cancelFlush()
		}
		c.out.finish(!flush)
	})
}

func (c *conn) write() {
	defer close(c.writerClosed)
	for {
		it := c.out.next()
		if it == nil {
			break
		}
		frame, err := c.out.frame(it)
		if err != nil {
			c.log.Error("an event could not be written", slog.Any("err", err))
			c.end(protocol.ClosePolicy, "internal", false)
			break
		}
		if err := c.t.Write(c.flushed, frame); err != nil {
			c.end(closeNormal, "", false)
			break
		}
		c.out.wrote(it)
	}
	c.cancelFlush()
	if err := c.t.Close(c.code, c.reason); err != nil {
		c.log.Debug("the transport did not close cleanly", slog.Any("err", err))
	}
}

// read takes requests until the connection ends.
func (c *conn) read() error {
	for {
		frame, err := c.readFrame(protocol.MaxFrame)
		if err != nil {
			return err
		}
		req, bad := parseRequest(frame)
		switch {
		case req == nil:
			c.end(closeInvalid, reasonInvalid, true)
			return errEnded
		case bad != nil:
			c.answer(req.ID, nil, bad)
		default:
			if err := c.dispatch(req); err != nil {
				return err
			}
		}
	}
}

// readFrame reads one frame and ends the connection for one that may not come.
func (c *conn) readFrame(limit int) ([]byte, error) {
	frame, err := c.t.Read(c.ctx)
	switch {
	case c.ctx.Err() != nil:
		return nil, errEnded
	case errors.Is(err, ErrFrameTooLarge) || err == nil && len(frame) > limit:
		c.end(closeTooLarge, "frame too large", true)
		return nil, errEnded
	case errors.Is(err, ErrNotText):
		c.end(closeNotText, "text frames only", true)
		return nil, errEnded
	}
	return frame, err
}

// parseRequest reads a frame. Without a request there is no id to answer to;
// with both results the request has an id and the error is its answer.
func parseRequest(frame []byte) (*protocol.Request, *protocol.Error) {
	var object map[string]json.RawMessage
	if json.Unmarshal(frame, &object) != nil || object == nil {
		return nil, nil
	}
	var req protocol.Request
	if json.Unmarshal(object["id"], &req.ID) != nil || req.ID == "" || len(req.ID) > maxRequestID {
		return nil, nil
	}
	if json.Unmarshal(object["type"], &req.Type) != nil || req.Type != protocol.FrameReq {
		return &req, invalid("", "A client sends frames of type req only.")
	}
	if json.Unmarshal(object["method"], &req.Method) != nil || req.Method == "" {
		return &req, invalid("", "The request names no method.")
	}
	for key := range object {
		switch key {
		case "type", "id", "method", "params", "traceparent", "expectedProfileId":
		default:
			return &req, invalid("", "The key \""+join("", key)+"\" is not known in a frame.")
		}
	}
	req.Params = object["params"]
	return &req, nil
}

// dispatch starts one call. Only an end of the connection is an error.
func (c *conn) dispatch(req *protocol.Request) error {
	if req.Method == protocol.MethodConnect {
		c.answer(req.ID, nil, invalid("", "This connection is open already."))
		return nil
	}
	c.g.mu.RLock()
	h, known := c.g.handlers[req.Method]
	c.g.mu.RUnlock()
	if !known {
		c.answer(req.ID, nil, invalid(protocol.DetailUnknownMethod, "Countersign does not know the method \""+join("", string(req.Method))+"\"."))
		return nil
	}
	if !c.scopes[h.call.Scope] {
		return c.deny(req, h.call.Scope)
	}
	fits, twice := c.begin(req)
	if twice {
		c.end(closeInvalid, "request id in use", true)
		return errEnded
	}
	if !fits {
		busy := protocol.NewError(protocol.CodeUnavailable, "", "Too many calls at once on this connection. Wait for some answers, then try again.")
		busy.Retryable, busy.RetryAfterMs = true, 100
		c.answer(req.ID, nil, busy)
		return nil
	}
	c.start(h, req)
	return nil
}

func (c *conn) deny(req *protocol.Request, scope protocol.Scope) error {
	c.denied++
	answer := protocol.NewError(protocol.CodeForbidden, protocol.DetailMissingScope,
		"This connection may not do that. "+howToGet(scope))
	answer.Details.MissingScope = scope
	answer.Details.RequiredScopes = []protocol.Scope{scope}
	c.answer(req.ID, nil, answer)
	if c.denied > maxDenied {
		c.end(protocol.ClosePolicy, "too many unauthorized calls", true)
		return errEnded
	}
	return nil
}

func howToGet(scope protocol.Scope) string {
	switch scope {
	case protocol.ScopeRead, protocol.ScopeWrite:
		return "Connect with the scope " + string(scope) + "."
	}
	return "Use the window, or pair this program with \"countersign device pair\"."
}

// begin takes a place for a call; twice says that its id is still in use.
func (c *conn) begin(req *protocol.Request) (fits, twice bool) {
	most := maxCalls
	if req.Method == protocol.MethodChatAbort || req.Method == protocol.MethodPauseSet {
		most = 2 * maxCalls
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.running[req.ID]; used {
		return false, true
	}
	if len(c.running) >= most {
		return false, false
	}
	c.running[req.ID] = struct{}{}
	return true, false
}

// start runs a call. The chat.sends of a connection follow one another, for their
// order is the conversation's; chat.abort follows the sends before it, for it
// may be meant for one of them.
func (c *conn) start(h handler, req *protocol.Request) {
	c.g.mu.RLock()
	stopping := c.g.stopping
	if !stopping {
		c.g.calls.Add(1)
	}
	c.g.mu.RUnlock()
	if stopping {
		c.finish(req.ID, nil, stoppingError(), nil)
		return
	}
	var after, done chan struct{}
	switch req.Method {
	case protocol.MethodChatSend:
		after, done = c.lastSend, make(chan struct{})
		c.lastSend = done
	case protocol.MethodChatAbort:
		after = c.lastSend
	}
	run := runAskedFor(req)
	if run != "" {
		c.out.hold(run)
	}
	caller := c.caller()
	go func() {
		defer c.g.calls.Done()
		if after != nil {
			<-after
		}
		payload, failure := c.g.run(h, caller, req.Params)
		if done != nil {
			close(done)
		}
		var written func()
		if run != "" {
			written = func() { c.onceRead(func() { c.out.release(run) }) }
		}
		c.finish(req.ID, payload, failure, written)
	}()
}

// onceRead calls then, once, when the client has read what left so far, or when
// that has taken too long.
func (c *conn) onceRead(then func()) {
	echoer, ok := c.t.(Echoer)
	if !ok {
		time.AfterFunc(ackGap, then)
		return
	}
	once := sync.OnceFunc(then)
	late := time.AfterFunc(echoGap, once)
	echoer.Echo(func() {
		late.Stop()
		once()
	})
}

// runAskedFor is the run that a request will start, whose events wait behind the
// answer.
func runAskedFor(req *protocol.Request) protocol.RunID {
	if req.Method != protocol.MethodChatSend && req.Method != protocol.MethodSessionsCreate {
		return ""
	}
	var params struct {
		Key protocol.RunID `json:"idempotencyKey"`
	}
	if json.Unmarshal(req.Params, &params) != nil {
		return ""
	}
	return params.Key
}

func (c *conn) finish(id string, payload json.RawMessage, failure *protocol.Error, written func()) {
	c.mu.Lock()
	delete(c.running, id)
	c.mu.Unlock()
	c.reply(id, payload, failure, written)
}

func (c *conn) answer(id string, payload json.RawMessage, failure *protocol.Error) {
	c.reply(id, payload, failure, nil)
}

func (c *conn) reply(id string, payload json.RawMessage, failure *protocol.Error, written func()) {
	res := protocol.Response{Type: protocol.FrameRes, ID: id, OK: failure == nil, Payload: payload, Error: failure}
	frame, err := json.Marshal(res)
	if err != nil {
		// Payload and error were encoded before, so this is a bug; the id alone cannot fail.
		c.log.Error("an answer could not be written", slog.Any("err", err))
		frame, _ = json.Marshal(protocol.Response{Type: protocol.FrameRes, ID: id, Error: internal()})
	}
	c.out.push(&item{raw: frame, size: int64(len(frame)), written: written})
}

func (c *conn) caller() Caller {
	return Caller{Conn: c.id, Client: c.client, Peer: c.peer, Scopes: c.scopes.list(), Device: c.device}
}
