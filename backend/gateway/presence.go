package gateway

import (
	"slices"
	"strings"
	"time"

	"countersign/backend/protocol"
)

// presenceChanged tells everyone who is here, soon: a moment's comings and goings
// become one event, for a thousand connects must not make a million frames.
func (g *Gateway) presenceChanged() {
	g.presenceVersion.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping || g.presence != nil {
		return
	}
	g.ticked.Add(1)
	g.presence = time.AfterFunc(presenceDelay, func() {
		defer g.ticked.Done()
		g.mu.Lock()
		g.presence = nil
		g.mu.Unlock()
		g.Broadcast(protocol.EventPresence, protocol.PresenceEvent{Presence: g.presences()})
	})
}

// presences lists the connected clients, oldest first.
func (g *Gateway) presences() []protocol.Presence {
	list := []protocol.Presence{}
	for _, c := range g.snapshotConns() {
		if c.isReady() {
			list = append(list, c.presence())
		}
	}
	slices.SortFunc(list, func(a, b protocol.Presence) int {
		if a.TsMs != b.TsMs {
			return int(a.TsMs - b.TsMs)
		}
		return strings.Compare(a.InstanceID, b.InstanceID)
	})
	return list
}

func (c *conn) presence() protocol.Presence {
	p := protocol.Presence{
		TsMs: c.since.UnixMilli(), Host: c.peer.Name, Version: c.client.Version, Platform: c.client.Platform,
		DeviceFamily: c.client.DeviceFamily, Mode: c.client.Mode, Reason: "connect", Text: c.client.DisplayName,
		InstanceID: c.client.InstanceID, Roles: []string{roleOperator}, Scopes: c.scopes.list(),
	}
	if c.device != nil {
		p.DeviceID = c.device.DeviceID
	}
	return p
}
