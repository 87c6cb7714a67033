package sessionbus_test

import (
	"errors"
	"net"
	"path/filepath"
	"testing"

	"countersign/app/sessionbus"
)

func TestAddressNeverAutolaunches(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	for _, value := range []string{"", "autolaunch:"} {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", value)
		if got, err := sessionbus.Address(); !errors.Is(err, sessionbus.ErrNone) {
			t.Errorf("with %q: %q, %v; want ErrNone", value, got, err)
		}
	}
	socket := filepath.Join(dir, "bus")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := sessionbus.Address()
	if want := "unix:path=" + socket; err != nil || got != want {
		t.Errorf("address %q, %v; want %q", got, err, want)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/elsewhere")
	if got, err := sessionbus.Address(); err != nil || got != "unix:path=/elsewhere" {
		t.Errorf("address %q, %v; want the one of the environment", got, err)
	}
}

func TestConnectToADeadBusIsNone(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "gone"))
	if _, err := sessionbus.Connect(t.Context()); !errors.Is(err, sessionbus.ErrNone) {
		t.Errorf("%v, want ErrNone", err)
	}
}
