package sessionbus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/godbus/dbus/v5"
)

// ErrNone means that this session has no bus: do without tray, notifications and keychain, and say so.
var ErrNone = errors.New("no session bus")

// Address tells where the bus listens, or ErrNone.
func Address() (string, error) {
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return address, nil
	}
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = fmt.Sprintf("/run/user/%d", os.Getuid())
	}
	socket := filepath.Join(dir, "bus")
	if info, err := os.Stat(socket); err == nil && info.Mode()&os.ModeSocket != 0 {
		return "unix:path=" + socket, nil
	}
	return "", ErrNone
}

// Connect opens a connection of its own, which the caller closes. A bus that does not answer is ErrNone as well.
func Connect(ctx context.Context) (*dbus.Conn, error) {
	address, err := Address()
	if err != nil {
		return nil, err
	}
	conn, err := dbus.Connect(address, dbus.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return conn, nil
}
