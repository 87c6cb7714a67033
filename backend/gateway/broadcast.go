package gateway

import (
	"log/slog"
	"reflect"

	"countersign/backend/protocol"
)

// ownEvent reports the events that protocol v4 does not know; they go only to
// clients with the capability.
func ownEvent(e protocol.EventName) bool {
	switch e {
	case protocol.EventRun, protocol.EventReceipt, protocol.EventSettings, protocol.EventChange:
		return true
	}
	return false
}

// Broadcast sends an event to every client that may have it and can understand
// it. It never blocks and keeps the order of one caller. The payload has the type
// of protocol's event table; anything else is a mistake of the host's, which is
// logged and sent to nobody.
//
// A change (protocol.ChangeEvent) is broadcast after its commit, in the order of
// its sequence.
func (g *Gateway) Broadcast(event protocol.EventName, payload any) {
	g.send(event, payload, nil)
}

// Send is Broadcast to one connection.
func (g *Gateway) Send(to protocol.ConnID, event protocol.EventName, payload any) {
	g.send(event, payload, func(c *conn) bool { return c.id == to })
}

func (g *Gateway) send(event protocol.EventName, payload any, only func(*conn) bool) {
	row, known := g.events[event]
	if !known || event == protocol.EventChallenge || reflect.TypeOf(payload) != row.Payload {
		g.log.Error("an event was not sent: it is not in the protocol's table",
			slog.String("event", string(event)), slog.String("type", typeName(payload)))
		return
	}
	body, err := encode(payload)
	if err != nil {
		g.log.Error("an event was not sent", slog.String("event", string(event)), slog.Any("err", err))
		return
	}
	model := item{
		event: event, payload: body, run: runOf(payload), text: textOf(event, payload), ends: endsRun(payload),
		size: int64(len(body) + frameOverhead), state: g.stateFor(event),
		newest: event == protocol.EventTick || event == protocol.EventPresence || event == protocol.EventHealth,
	}
	for _, c := range g.snapshotConns() {
		if !c.isReady() || only != nil && !only(c) || !c.wants(row, payload) {
			continue
		}
		it := model
		if change, ok := payload.(protocol.ChangeEvent); ok {
			c.feed.live(c.out, change.Seq, &it)
			continue
		}
		c.out.push(&it)
	}
}

// wants reports whether this client may have an event and understands it.
func (c *conn) wants(row protocol.EventPayload, payload any) bool {
	if row.Scope != "" && !c.scopes[row.Scope] {
		return false
	}
	if ownEvent(row.Event) {
		return c.caps[protocol.CapChanges]
	}
	if e, ok := payload.(protocol.AgentEvent); ok && e.Stream == protocol.StreamTool {
		return c.caps[protocol.CapToolEvents]
	}
	return true
}

// stateFor numbers the states that presence and health carry.
func (g *Gateway) stateFor(event protocol.EventName) *protocol.StateVersion {
	switch event {
	case protocol.EventHealth:
		g.healthVersion.Add(1)
	case protocol.EventPresence:
	default:
		return nil
	}
	v := g.stateVersion()
	return &v
}

func (g *Gateway) stateVersion() protocol.StateVersion {
	return protocol.StateVersion{Presence: g.presenceVersion.Load(), Health: g.healthVersion.Load()}
}

func typeName(v any) string {
	if v == nil {
		return "nil"
	}
	return reflect.TypeOf(v).String()
}
