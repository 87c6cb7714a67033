package gatewaytest

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"countersign/backend/gateway"
	"countersign/backend/protocol"
)

// patience is how long a client waits for a frame. Under testing/synctest it costs
// nothing.
const patience = 20 * time.Second

// Client is a client over a Pipe. It is for one goroutine.
type Client struct {
	T    testing.TB
	Pipe *Pipe
	// Nonce is the challenge's, once it has come.
	Nonce string
	// Events are those that came while a client waited for an answer.
	Events []protocol.Event

	done chan struct{}
	next int
}

// Dial opens a connection of a kind and takes the challenge. The connection ends
// with the test.
func Dial(t testing.TB, g *gateway.Gateway, peer gateway.Peer) *Client {
	t.Helper()
	return DialBuffered(t, g, peer, 1024)
}

// DialBuffered is Dial with a pipe that holds so many frames.
func DialBuffered(t testing.TB, g *gateway.Gateway, peer gateway.Peer, buffer int) *Client {
	t.Helper()
	c := &Client{T: t, Pipe: NewPipe(buffer), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		_ = g.ServeConn(context.Background(), c.Pipe, peer)
	}()
	t.Cleanup(c.Close)
	var challenge protocol.Challenge
	if e := c.Event(); e.Event != protocol.EventChallenge || json.Unmarshal(e.Payload, &challenge) != nil {
		t.Fatalf("the first frame is %q, not a challenge", e.Event)
	}
	c.Nonce = challenge.Nonce
	return c
}

// Close ends the connection from the client's side and waits for the server.
func (c *Client) Close() {
	_ = c.Pipe.Close(1000, "")
	<-c.done
}

// Send sends a frame as it is.
func (c *Client) Send(frame string) {
	c.T.Helper()
	select {
	case c.Pipe.in <- []byte(frame):
	case <-c.Pipe.closed:
	case <-time.After(patience):
		c.T.Fatal("the server takes no frame")
	}
}

// Recv returns the next frame; ok is false when the connection has ended.
func (c *Client) Recv() (frame []byte, ok bool) {
	c.T.Helper()
	select {
	case frame := <-c.Pipe.out:
		return frame, true
	default:
	}
	select {
	case frame := <-c.Pipe.out:
		return frame, true
	case <-c.Pipe.closed:
		// What left before the end is still there.
		select {
		case frame := <-c.Pipe.out:
			return frame, true
		default:
			return nil, false
		}
	case <-time.After(patience):
		c.T.Fatal("no frame comes")
		return nil, false
	}
}

// TryRecv returns a frame that is there already.
func (c *Client) TryRecv() (frame []byte, ok bool) {
	select {
	case frame := <-c.Pipe.out:
		return frame, true
	default:
		return nil, false
	}
}

// Event returns the next frame, which must be an event.
func (c *Client) Event() protocol.Event {
	c.T.Helper()
	frame, ok := c.Recv()
	if !ok {
		code, reason, _ := c.Pipe.Ended()
		c.T.Fatalf("the connection ended (%d %s), an event was awaited", code, reason)
	}
	var e protocol.Event
	if err := json.Unmarshal(frame, &e); err != nil || e.Type != protocol.FrameEvent {
		c.T.Fatalf("an event was awaited, this came: %s", frame)
	}
	return e
}

// Start sends a request and returns its id.
func (c *Client) Start(method protocol.Method, params any) string {
	c.T.Helper()
	c.next++
	id := strconv.Itoa(c.next)
	body, err := json.Marshal(params)
	if err != nil {
		c.T.Fatal(err)
	}
	frame, err := json.Marshal(protocol.Request{Type: protocol.FrameReq, ID: id, Method: method, Params: body})
	if err != nil {
		c.T.Fatal(err)
	}
	c.Send(string(frame))
	return id
}

// Answer waits for the answer to an id and keeps the events that come before it.
func (c *Client) Answer(id string) protocol.Response {
	c.T.Helper()
	for {
		frame, ok := c.Recv()
		if !ok {
			code, reason, _ := c.Pipe.Ended()
			c.T.Fatalf("the connection ended (%d %s), an answer was awaited", code, reason)
		}
		var head struct {
			Type protocol.FrameType `json:"type"`
		}
		if err := json.Unmarshal(frame, &head); err != nil {
			c.T.Fatal(err)
		}
		if head.Type == protocol.FrameEvent {
			var e protocol.Event
			if err := json.Unmarshal(frame, &e); err != nil {
				c.T.Fatal(err)
			}
			c.Events = append(c.Events, e)
			continue
		}
		var res protocol.Response
		if err := json.Unmarshal(frame, &res); err != nil {
			c.T.Fatal(err)
		}
		if res.ID == id {
			return res
		}
		c.T.Fatalf("the answer to %s was awaited, this came: %s", id, frame)
	}
}

// Call makes a call and waits for its answer.
func (c *Client) Call(method protocol.Method, params any) protocol.Response {
	c.T.Helper()
	return c.Answer(c.Start(method, params))
}

// Params are those of a connect of the command line, asking for every scope and
// capability.
func Params() protocol.ConnectParams {
	return protocol.ConnectParams{
		MinProtocol: protocol.Version, MaxProtocol: protocol.Version, Role: "operator",
		Client: protocol.ClientInfo{ID: "cli", DisplayName: "test", Version: "1", Platform: "Linux", DeviceFamily: "Linux", Mode: "cli"},
		Scopes: []protocol.Scope{
			protocol.ScopeRead, protocol.ScopeWrite, protocol.ScopeAdmin, protocol.ScopeApprovals,
			protocol.ScopeQuestions, protocol.ScopePairing, protocol.ScopeModels,
		},
		Caps: []string{protocol.CapToolEvents, protocol.CapChanges},
	}
}

// Connect does the handshake and returns hello-ok.
func (c *Client) Connect(p protocol.ConnectParams) protocol.HelloOK {
	c.T.Helper()
	res := c.Call(protocol.MethodConnect, p)
	if !res.OK {
		c.T.Fatalf("connect was refused: %s", res.Error.Message)
	}
	var hello protocol.HelloOK
	if err := json.Unmarshal(res.Payload, &hello); err != nil {
		c.T.Fatal(err)
	}
	return hello
}
