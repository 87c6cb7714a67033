package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"countersign/backend/client"
	"countersign/backend/host"
	"countersign/backend/protocol"
	"countersign/backend/testkit/invariant"
	"countersign/backend/testkit/kill"
)

// Sizes of a conversation: a new one begins after so many messages, and so many
// may wait at once.
const (
	perSession = 30
	maxOpen    = 3
)

// talk is one sender with one conversation at a time. It is used by one
// goroutine; the messages it wrote belong to the ledger.
type talk struct {
	no     int
	ledger *ledger
	token  string
	home   string

	generation int
	sent       []*invariant.Message // of this conversation
	ended      map[protocol.RunID]bool

	conn   *client.Conn
	rand   *rand.Rand
	writer writer
}

func (t *talk) session() protocol.SessionKey {
	return protocol.NewSessionKey(protocol.MainAgent, fmt.Sprintf("soak-%d-%d", t.no, t.generation))
}

// dial connects: every other sender over the WebSocket.
func (t *talk) dial(ctx context.Context, h *kill.Host) (err error) {
	o := client.Options{Name: fmt.Sprintf("talk %d", t.no), Version: "soak", Caps: []string{protocol.CapChanges, protocol.CapToolEvents}}
	if t.no%2 == 0 {
		t.conn, err = client.Socket(ctx, filepath.Join(t.home, host.SocketName), o)
		return err
	}
	o.Token = t.token
	t.conn, err = client.Web(ctx, h.WS, o)
	return err
}

// work sends again what was not acknowledged, then goes on talking until the
// host or ctx ends.
func (t *talk) work(ctx context.Context, seed uint64, h *kill.Host) error {
	t.rand = rand.New(rand.NewPCG(seed, uint64(t.no)))
	t.writer = writer{rand: t.rand, marker: t.ledger.marker, file: fmt.Sprintf("lines-%d.txt", t.no)}
	if err := t.dial(ctx, h); err != nil {
		return err
	}
	defer t.conn.Close()
	if err := t.resend(ctx); err != nil {
		return err
	}
	for {
		if err := t.step(ctx); err != nil {
			return err
		}
	}
}

// resend sends again, in their order, the messages without an acknowledgement.
func (t *talk) resend(ctx context.Context) error {
	for _, m := range t.sent {
		if m.Acked {
			continue
		}
		t.ledger.count(func(c *Tally) { c.Again++ })
		if err := t.deliver(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (t *talk) step(ctx context.Context) error {
	if len(t.sent) >= perSession {
		if err := t.follow(ctx, 0); err != nil {
			return err
		}
		t.generation++
		t.sent = nil
		clear(t.ended)
	}
	p := t.rand.IntN(100)
	switch {
	case p < 8 && len(t.sent) > 0:
		return t.again(ctx, t.sent[t.rand.IntN(len(t.sent))])
	case p < 12 && len(t.sent) > 0:
		return t.misuse(ctx, t.sent[t.rand.IntN(len(t.sent))])
	case p < 20 && len(t.sent) > 0:
		return t.stop(ctx)
	}
	m := t.compose()
	if err := t.deliver(ctx, m); err != nil {
		return err
	}
	if t.rand.IntN(3) > 0 {
		return t.follow(ctx, 0)
	}
	return t.follow(ctx, maxOpen)
}

func (t *talk) compose() *invariant.Message {
	key := protocol.RunID(fmt.Sprintf("k%d-%d-%d", t.no, t.generation, len(t.sent)))
	text, commands := t.writer.compose(key)
	m := &invariant.Message{Key: key, Session: t.session(), Text: text}
	t.sent = append(t.sent, m)
	t.ledger.write(m, commands)
	return m
}

// call makes a call that the killer may strike.
func (t *talk) call(ctx context.Context, m protocol.Method, params, result any) error {
	t.ledger.waiting.Add(1)
	t.ledger.moments.mark()
	err := t.conn.Call(ctx, m, params, result)
	var refused *protocol.Error
	if err == nil || errors.As(err, &refused) {
		t.ledger.waiting.Add(-1)
	}
	return err
}

func (t *talk) params(m *invariant.Message) protocol.ChatSendParams {
	return protocol.ChatSendParams{SessionKey: string(m.Session), Message: m.Text, IdempotencyKey: string(m.Key)}
}

// deliver sends a message until its first acknowledgement. A refusal is wrong:
// nothing that is sent here deserves one.
func (t *talk) deliver(ctx context.Context, m *invariant.Message) error {
	var ack protocol.ChatSendResult
	err := t.call(ctx, protocol.MethodChatSend, t.params(m), &ack)
	var refused *protocol.Error
	switch {
	case errors.As(err, &refused):
		t.ledger.say(invariant.Broken, "message %s was refused: %s", m.Key, refused.Message)
		return err
	case err != nil:
		return err
	case ack.RunID != m.Key:
		t.ledger.say(invariant.Broken, "message %s was answered for run %s", m.Key, ack.RunID)
	}
	t.ledger.acked(m)
	t.ledger.moments.mark()
	return nil
}

// again sends an acknowledged message once more: the answer must know it.
func (t *talk) again(ctx context.Context, m *invariant.Message) error {
	t.ledger.count(func(c *Tally) { c.Again++ })
	var ack protocol.ChatSendResult
	if err := t.call(ctx, protocol.MethodChatSend, t.params(m), &ack); err != nil {
		var refused *protocol.Error
		if errors.As(err, &refused) {
			t.ledger.say(invariant.Broken, "message %s was known and its repeat refused: %s", m.Key, refused.Message)
		}
		return err
	}
	if ack.RunID != m.Key || ack.Status == protocol.ChatStarted {
		t.ledger.say(invariant.Lost, "message %s was acknowledged, and its repeat was answered %s for run %s", m.Key, ack.Status, ack.RunID)
	}
	return nil
}

// misuse sends other words under a known key: that must be refused.
func (t *talk) misuse(ctx context.Context, m *invariant.Message) error {
	p := t.params(m)
	p.Message += " and other words"
	var ack protocol.ChatSendResult
	err := t.call(ctx, protocol.MethodChatSend, p, &ack)
	var refused *protocol.Error
	switch {
	case err == nil:
		t.ledger.say(invariant.Duplicated, "other words under the key %s were taken: %s", m.Key, ack.Status)
	case errors.As(err, &refused):
		if refused.Details == nil || refused.Details.Code != protocol.DetailKeyReused {
			t.ledger.say(invariant.Broken, "other words under the key %s were refused as: %s", m.Key, refused.Message)
		}
		return nil
	}
	return err
}

// stop stops what works or waits in the conversation, or only its newest run.
func (t *talk) stop(ctx context.Context) error {
	timer := time.NewTimer(time.Duration(t.rand.Int64N(int64(60 * time.Millisecond))))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	p := protocol.ChatAbortParams{SessionKey: string(t.session())}
	if t.rand.IntN(2) == 0 {
		p.RunID = t.sent[len(t.sent)-1].Key
	}
	t.ledger.count(func(c *Tally) { c.Stops++ })
	var out protocol.ChatAbortResult
	return t.call(ctx, protocol.MethodChatAbort, p, &out)
}

// follow waits until at most most runs of the conversation are open.
func (t *talk) follow(ctx context.Context, most int) error {
	for asked := false; ; asked = true {
		open := 0
		for _, m := range t.sent {
			if t.ended[m.Key] {
				continue
			}
			if !asked { // it may have ended before this connection began
				var r protocol.Run
				if err := t.conn.Call(ctx, protocol.MethodRunsGet, protocol.RunsGetParams{RunID: m.Key}, &r); err != nil {
					return err
				}
				t.ended[m.Key] = r.State.Ended()
			}
			if !t.ended[m.Key] {
				open++
			}
		}
		if open <= most {
			return nil
		}
		if err := t.hear(ctx); err != nil {
			return err
		}
	}
}

// hear takes one event.
func (t *talk) hear(ctx context.Context) error {
	e, err := t.conn.Event(ctx)
	if err != nil {
		return err
	}
	switch e.Event {
	case protocol.EventRun:
		var r protocol.RunEvent
		if err := decode(e, &r); err != nil {
			return err
		}
		if r.Run.State.Ended() && r.Run.SessionKey == t.session() {
			t.ended[r.Run.RunID] = true
		}
	case protocol.EventAgent:
		var a protocol.AgentEvent
		if err := decode(e, &a); err != nil {
			return err
		}
		if a.Stream == protocol.StreamTool && a.SessionKey == t.session() {
			t.ledger.moments.mark()
		}
	default:
	}
	return nil
}
