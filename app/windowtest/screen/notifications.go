//go:build linux

package screen

import (
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
)

const (
	notesName = "org.freedesktop.Notifications"
	notesPath = "/org/freedesktop/Notifications"
)

// Note is a notification as the desktop was given it.
type Note struct {
	ID          uint32
	Title, Body string
	Actions     []string
	Urgency     byte
	Expiry      int32
}

// Notes plays the notification service and remembers what is on screen. It is safe for concurrent use.
type Notes struct {
	conn *dbus.Conn
	t    testing.TB

	mu    sync.Mutex // guards the rest
	can   []string
	last  uint32
	shown map[uint32]Note
	ever  int
}

// StartNotes becomes the notification service at a bus, with the given capabilities.
func StartNotes(t testing.TB, bus string, capabilities ...string) *Notes {
	t.Helper()
	conn, err := dbus.Connect(bus)
	if err != nil {
		t.Fatalf("connect to the private bus: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	n := &Notes{conn: conn, t: t, can: capabilities, shown: map[uint32]Note{}}
	if err := conn.Export(notesService{n}, notesPath, notesName); err != nil {
		t.Fatal(err)
	}
	if reply, err := conn.RequestName(notesName, dbus.NameFlagDoNotQueue); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("become the notification service: %v, %v", reply, err)
	}
	return n
}

// Shown lists what is on screen.
func (n *Notes) Shown() []Note {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []Note
	for _, note := range n.shown {
		out = append(out, note)
	}
	return out
}

// Ever counts all notifications that came, replacements included.
func (n *Notes) Ever() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ever
}

// Invoke chooses an action of a notification.
func (n *Notes) Invoke(id uint32, action string) {
	n.t.Helper()
	if err := n.conn.Emit(notesPath, notesName+".ActionInvoked", id, action); err != nil {
		n.t.Fatal(err)
	}
}

// Dismiss puts a notification away, as its owner would.
func (n *Notes) Dismiss(id uint32) {
	n.t.Helper()
	n.mu.Lock()
	delete(n.shown, id)
	n.mu.Unlock()
	if err := n.conn.Emit(notesPath, notesName+".NotificationClosed", id, uint32(2)); err != nil {
		n.t.Fatal(err)
	}
}

// notesService has only the methods that programs call.
type notesService struct{ n *Notes }

// GetCapabilities tells what the service can show.
func (s notesService) GetCapabilities() ([]string, *dbus.Error) { return s.n.can, nil }

// Notify shows a notification, in the place of another if that one is still there.
func (s notesService) Notify(_ string, replaces uint32, _, title, body string, actions []string,
	hints map[string]dbus.Variant, expiry int32) (uint32, *dbus.Error) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	id := replaces
	if _, there := s.n.shown[replaces]; !there {
		s.n.last++
		id = s.n.last
	}
	urgency, _ := hints["urgency"].Value().(byte)
	s.n.shown[id] = Note{ID: id, Title: title, Body: body, Actions: actions, Urgency: urgency, Expiry: expiry}
	s.n.ever++
	return id, nil
}

// CloseNotification takes a notification away; one that is not there is an error.
func (s notesService) CloseNotification(id uint32) *dbus.Error {
	s.n.mu.Lock()
	_, there := s.n.shown[id]
	delete(s.n.shown, id)
	s.n.mu.Unlock()
	if !there {
		return dbus.NewError(notesName+".Error.InvalidId", nil)
	}
	if err := s.n.conn.Emit(notesPath, notesName+".NotificationClosed", id, uint32(3)); err != nil {
		return dbus.MakeFailedError(err)
	}
	return nil
}
