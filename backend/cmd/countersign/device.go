package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"countersign/backend/host"
	"countersign/backend/protocol"
)

func deviceCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "device", Short: "Pair this command line; list and log out devices and browsers"}
	cmd.AddCommand(pairCommand(g), deviceListCommand(g), deviceRevokeCommand(g))
	return cmd
}

func pairCommand(g *globals) *cobra.Command {
	var ticket string
	cmd := &cobra.Command{
		Use: "pair --ticket T", Short: "Pair with a ticket that the window shows or `countersign serve` printed", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, err := pairDevice(cmd.Context(), g, ticket)
			if err != nil {
				return err
			}
			return show(cmd, g, map[string]protocol.DeviceID{"deviceId": id}, func(w io.Writer) {
				fmt.Fprintln(w, "Paired. This command line may now decide, and let others in.")
			})
		},
	}
	cmd.Flags().StringVar(&ticket, "ticket", "", "single-use ticket")
	if err := cmd.MarkFlagRequired("ticket"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

// pairDevice makes a key, pairs it, and keeps it only once the host has agreed.
func pairDevice(ctx context.Context, g *globals, ticket string) (protocol.DeviceID, error) {
	key, err := g.deviceKey(ctx)
	if errors.Is(err, errNoKey) {
		_, key, err = ed25519.GenerateKey(rand.Reader)
	}
	if err != nil {
		return "", err
	}
	if err := g.canKeep(ctx); err != nil {
		return "", err
	}
	c, err := dial(ctx, g, access{scopes: protocol.AllScopes(), key: key, bootstrap: strings.TrimSpace(ticket)})
	if err != nil {
		return "", err
	}
	if err := errors.Join(c.Close(), g.keepKey(ctx, key)); err != nil {
		return "", err
	}
	return host.DeviceID(key), nil
}

// paired is the access of a paired command line. It may do everything that the
// owner may, and asks for what a command needs.
func (g *globals) paired(ctx context.Context, scopes ...protocol.Scope) (access, error) {
	key, err := g.deviceKey(ctx)
	if err != nil {
		return access{}, err
	}
	return access{scopes: scopes, key: key}, nil
}
