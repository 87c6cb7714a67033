package gateway

import (
	"context"

	"countersign/backend/protocol"
)

// registerOwn answers the methods whose truth is the gateway's: who is here, and
// how others come in.
func (g *Gateway) registerOwn() {
	Handle(g, protocol.MethodPresence, func(context.Context, Caller, protocol.Empty) ([]protocol.Presence, error) {
		return g.presences(), nil
	})
	Handle(g, protocol.MethodTicketCreate, g.createTicket)
	if g.opts.Browsers != nil {
		Handle(g, protocol.MethodBrowserList, g.listBrowsers)
		Handle(g, protocol.MethodBrowserRemove, g.removeBrowser)
	}
	if g.opts.Devices != nil {
		Handle(g, protocol.MethodDeviceList, g.listDevices)
		Handle(g, protocol.MethodDeviceRemove, g.removeDevice)
	}
}

// createTicket needs every scope, for what a ticket opens may do everything.
func (g *Gateway) createTicket(_ context.Context, c Caller, p protocol.TicketParams) (protocol.Ticket, error) {
	if len(c.Scopes) != len(protocol.AllScopes()) {
		return protocol.Ticket{}, protocol.NewError(protocol.CodeForbidden, "",
			"Only the window, or a program that may do everything, can let others in. Make the ticket in the window.")
	}
	switch p.Kind {
	case "device":
		if g.opts.Devices == nil {
			return protocol.Ticket{}, protocol.NewError(protocol.CodeUnavailable, "", "Nothing can be paired here.")
		}
		secret, ends := g.tickets.New(ForDevice)
		return protocol.Ticket{Ticket: secret, ExpiresAtMs: ends.UnixMilli()}, nil
	case "browser":
		base := g.URL()
		if base == "" || g.opts.Browsers == nil {
			return protocol.Ticket{}, protocol.NewError(protocol.CodeUnavailable, "",
				"No port is open for a browser. Switch it on in settings, under Gateway, then try again.")
		}
		secret, ends := g.tickets.New(ForBrowser)
		return protocol.Ticket{Ticket: secret, URL: EnterURL(base, secret), ExpiresAtMs: ends.UnixMilli()}, nil
	}
	return protocol.Ticket{}, invalid("", "\"kind\" is browser or device.")
}

func (g *Gateway) listDevices(ctx context.Context, _ Caller, _ protocol.Empty) (protocol.DeviceList, error) {
	devices, err := g.opts.Devices.List(ctx)
	if err != nil {
		return protocol.DeviceList{}, err
	}
	list := protocol.DeviceList{}
	for _, d := range devices {
		d.Connected = g.Connected(d.DeviceID)
		list.Paired = append(list.Paired, d)
	}
	return list, nil
}

func (g *Gateway) removeDevice(ctx context.Context, _ Caller, p protocol.DeviceRemoveParams) (protocol.OKResult, error) {
	if err := g.opts.Devices.Remove(ctx, p.DeviceID); err != nil {
		return protocol.OKResult{}, err
	}
	g.Disconnect(p.DeviceID)
	return protocol.OKResult{OK: true}, nil
}
