package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"countersign/backend/client"
	"countersign/backend/host"
	"countersign/backend/protocol"
)

// comers are all who may come to the host from outside its window.
type comers struct {
	Devices  []protocol.Device  `json:"devices"`
	Browsers []protocol.Browser `json:"browsers"`
}

func deviceListCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the devices that are paired and the browsers that were let in", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.dialPairing(cmd.Context())
			if err != nil {
				return err
			}
			all, err := everyComer(cmd.Context(), c)
			if err := errors.Join(err, c.Close()); err != nil {
				return err
			}
			return show(cmd, g, all, func(w io.Writer) { comerTable(w, all) })
		},
	}
}

func deviceRevokeCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Log out a device or a browser, at once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := g.dialPairing(cmd.Context())
			if err != nil {
				return err
			}
			all, err := everyComer(cmd.Context(), c)
			if err == nil {
				err = revoke(cmd.Context(), g, c, all, args[0])
			}
			if err := errors.Join(err, c.Close()); err != nil {
				return err
			}
			return show(cmd, g, map[string]string{"revoked": args[0]}, func(w io.Writer) { fmt.Fprintln(w, "Logged out. It needs a new ticket to come back.") })
		},
	}
}

func (g *globals) dialPairing(ctx context.Context) (*client.Conn, error) {
	a, err := g.paired(ctx, protocol.ScopePairing)
	if err != nil {
		return nil, err
	}
	return dial(ctx, g, a)
}

func everyComer(ctx context.Context, c *client.Conn) (comers, error) {
	var devices protocol.DeviceList
	var browsers protocol.BrowserList
	err := call(ctx, c, protocol.MethodDeviceList, protocol.Empty{}, &devices)
	if err == nil {
		err = call(ctx, c, protocol.MethodBrowserList, protocol.Empty{}, &browsers)
	}
	return comers{Devices: devices.Paired, Browsers: browsers.Browsers}, err
}

func revoke(ctx context.Context, g *globals, c *client.Conn, all comers, id string) error {
	for _, d := range all.Devices {
		if string(d.DeviceID) != id {
			continue
		}
		err := call(ctx, c, protocol.MethodDeviceRemove, protocol.DeviceRemoveParams{DeviceID: d.DeviceID}, &protocol.OKResult{})
		if key, _ := g.deviceKey(ctx); key != nil && host.DeviceID(key) == d.DeviceID && errors.Is(err, client.ErrEnded) {
			return nil // it was this command line, whose connection is ended at once
		}
		return err
	}
	for _, b := range all.Browsers {
		if string(b.BrowserID) == id {
			return call(ctx, c, protocol.MethodBrowserRemove, protocol.BrowserRemoveParams{BrowserID: b.BrowserID}, &protocol.OKResult{})
		}
	}
	return fmt.Errorf("no device and no browser has the id %s; list them with `countersign device list`", id)
}

func comerTable(w io.Writer, all comers) {
	if len(all.Devices)+len(all.Browsers) == 0 {
		fmt.Fprintln(w, "No device is paired and no browser was let in.")
		return
	}
	var rows [][]string
	add := func(id, kind, name string, since, last int64, connected bool) {
		state := ""
		if connected {
			state = "connected"
		}
		rows = append(rows, []string{id, kind, printable(name), when(since), when(last), state})
	}
	for _, d := range all.Devices {
		add(string(d.DeviceID), "device", d.Name, d.PairedAtMs, d.LastSeenMs, d.Connected)
	}
	for _, b := range all.Browsers {
		add(string(b.BrowserID), "browser", b.Name, b.CreatedAtMs, b.LastUsedMs, b.Connected)
	}
	table(w, []string{"ID", "KIND", "NAME", "SINCE", "LAST", "STATE"}, rows)
}

func ticketCommand(g *globals) *cobra.Command {
	var device bool
	cmd := &cobra.Command{
		Use: "ticket", Short: "Print a link that lets a browser in once, or a ticket that pairs a device", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Whoever lets others in must be able to do all that they may.
			a, err := g.paired(cmd.Context(), protocol.AllScopes()...)
			if err != nil {
				return err
			}
			kind := "browser"
			if device {
				kind = "device"
			}
			out, err := ask[protocol.Ticket](cmd.Context(), g, a, protocol.MethodTicketCreate, protocol.TicketParams{Kind: kind})
			if err != nil {
				return err
			}
			return show(cmd, g, out, func(w io.Writer) {
				if device {
					fmt.Fprintln(w, out.Ticket)
				} else {
					fmt.Fprintln(w, out.URL)
				}
			})
		},
	}
	cmd.Flags().BoolVar(&device, "device", false, "for `countersign device pair`, good for ten minutes, instead of a link, good for one")
	return cmd
}
