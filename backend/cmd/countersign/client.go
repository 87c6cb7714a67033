package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"countersign/backend/client"
	"countersign/backend/host"
	"countersign/backend/protocol"
)

// access says what a connection asks for.
type access struct {
	scopes []protocol.Scope
	// key signs as a device; bootstrap pairs it.
	key       ed25519.PrivateKey
	bootstrap string
}

// errNoHost: nobody has the data directory open, so a command may change it itself.
var errNoHost = errors.New("no Countersign runs")

// dial connects to the host of the data directory.
func dial(ctx context.Context, g *globals, a access) (*client.Conn, error) {
	dir, err := g.dir()
	if err != nil {
		return nil, err
	}
	c, err := client.Socket(ctx, filepath.Join(dir, host.SocketName), client.Options{
		Name: "countersign", Version: version, Scopes: a.scopes, Caps: []string{protocol.CapToolEvents, protocol.CapChanges},
		Key: a.key, Bootstrap: a.bootstrap,
	})
	var absent *net.OpError
	if errors.As(err, &absent) && absent.Op == "dial" {
		return nil, fmt.Errorf("%w on %s; start it with `countersign serve` or open the app", errNoHost, dir)
	}
	return c, explain(err)
}

// call makes one call and explains a refusal.
func call(ctx context.Context, c *client.Conn, m protocol.Method, params, result any) error {
	return explain(c.Call(ctx, m, params, result))
}

// explain adds to a refusal what to do about it from the command line.
func explain(err error) error {
	var e *protocol.Error
	if errors.As(err, &e) && e.Details != nil && e.Details.Code == protocol.DetailMissingScope {
		return errors.New("this needs a command line that is paired for it; pair it, again if it was paired before, with `countersign device pair --ticket T`, with a ticket that the window shows or `countersign serve` printed")
	}
	return err
}

// ask dials, makes one call and hangs up.
func ask[R any](ctx context.Context, g *globals, a access, m protocol.Method, params any) (R, error) {
	var out R
	c, err := dial(ctx, g, a)
	if err != nil {
		return out, err
	}
	err = call(ctx, c, m, params, &out)
	return out, errors.Join(err, c.Close())
}

// reading is what every command may ask for without a paired device.
func reading() access {
	return access{scopes: []protocol.Scope{protocol.ScopeRead, protocol.ScopeWrite, protocol.ScopeModels}}
}
