// Package sessionbus finds the D-Bus session bus of the person at the screen.
//
// It promises never to start a bus: the D-Bus library, when it finds none, runs dbus-launch on each call, which leaves
// an orphan behind every time and may bring up a second keychain. Without a bus it answers ErrNone. Systems other than
// Linux have no session bus; there the package is empty.
package sessionbus
