// Package notify shows native notifications that stay until the app closes them, for questions that wait for the owner.
//
// It owns the conversation with the desktop's notification service and nothing about what is asked. It promises that a
// notification is shown at most once for a key, that closing one that is gone is fine, and that text is never read as
// markup or as a command. It never decides anything: its one action opens the window, for an approval needs everything
// the window shows.
//
// Linux speaks to org.freedesktop.Notifications. macOS and Windows go through osascript and PowerShell; there a
// notification may disappear by itself, and on macOS it has no button.
package notify

import (
	"context"
	"errors"
)

// ErrUnavailable means that this desktop shows no notifications. The window and the tray still say what waits.
var ErrUnavailable = errors.New("this desktop shows no notifications")

// Notification is one message. Title and Body are plain text.
type Notification struct {
	// Key names it for Close and Shown; showing a key that is on screen replaces it.
	Key   string
	Title string
	Body  string
	// Stay keeps it on screen until it is closed; otherwise the desktop decides.
	Stay bool
}

// Notifier shows notifications. It is safe for concurrent use.
type Notifier interface {
	// Show fails with ErrUnavailable where nothing can be shown.
	Show(ctx context.Context, n Notification) error
	// Close takes the notification of that key away, if it is there.
	Close(ctx context.Context, key string) error
	// Stop closes what is still shown and returns when nothing of the notifier runs.
	Stop()
}
