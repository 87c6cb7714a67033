package main

import (
	"context"
	"errors"
	"fmt"

	"countersign/app/sessionbus"

	"github.com/godbus/dbus/v5"
)

// D-Bus menus mark shortcuts by an underscore.
const (
	iconExt  = ".png"
	mnemonic = "_"
)

const watcherName = "org.kde.StatusNotifierWatcher"

var errBusLost = errors.New("the session bus has gone")

// watch reports whether the desktop shows tray icons, now and whenever that changes, until ctx ends. It fails at once
// with sessionbus.ErrNone where there is no bus, and later with errBusLost when the bus ends.
func watch(ctx context.Context, report func(bool)) error {
	conn, err := sessionbus.Connect(ctx)
	if err != nil {
		return err
	}
	go follow(ctx, conn, report)
	return nil
}

// follow owns the connection until ctx ends or the bus does; the library closes signals with the connection.
func follow(ctx context.Context, conn *dbus.Conn, report func(bool)) {
	defer conn.Close()
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals)
	err := conn.AddMatchSignalContext(ctx,
		dbus.WithMatchInterface("org.freedesktop.DBus"),
		dbus.WithMatchMember("NameOwnerChanged"),
		dbus.WithMatchArg(0, watcherName),
	)
	if err != nil {
		end(fmt.Errorf("watch for the tray: %w", err))
	}
	// Asked after the match is in place, so that no change falls between.
	var has bool
	if err := conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, watcherName).Store(&has); err != nil {
		end(fmt.Errorf("ask for the tray: %w", err))
	}
	report(has)
	for {
		select {
		case <-ctx.Done():
			return
		case s, open := <-signals:
			if !open {
				// The tray library cannot reconnect; a fresh process can, and the window starts one.
				end(errBusLost)
			}
			if len(s.Body) == 3 && s.Body[0] == watcherName {
				owner, _ := s.Body[2].(string)
				report(owner != "")
			}
		}
	}
}
