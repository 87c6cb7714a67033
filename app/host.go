package app

import (
	"context"
	"errors"

	"countersign/app/traymsg"
)

// Host is the running system as the window needs it. All methods are safe for concurrent use.
type Host interface {
	// Serve speaks with one client over the transport until either side ends it.
	Serve(ctx context.Context, t Transport) error
	// Views delivers what the tray shows: the newest at once, then each change, until the host closes. A slow
	// reader gets the newest only.
	Views() <-chan View
	// Decide answers an approval as the owner at the tray. The nonce is that of the question that was shown; another
	// one is an error.
	Decide(ctx context.Context, id, nonce string, allow bool) error
	// SetPaused starts or ends the pause: no new calls, no new sends.
	SetPaused(ctx context.Context, paused bool) error
	// Close ends everything cleanly, or as far as ctx allows.
	Close(ctx context.Context) error
}

// View is what the tray shows.
type View struct {
	State traymsg.State
	Menu  traymsg.Menu
}

// Transport carries whole text frames between the page and the gateway.
type Transport interface {
	// Read returns the next frame, in the order the page sent them. It ends with io.EOF when the page has gone.
	Read(ctx context.Context) ([]byte, error)
	// Write sends a frame. It waits while the page has too many frames that it has not acknowledged.
	Write(ctx context.Context, frame []byte) error
	// Close ends the line with a WebSocket close code. Closing twice is fine.
	Close(code int, reason string) error
}

// ErrAlreadyRunning means that another process holds the data directory: raise its window and end.
var ErrAlreadyRunning = errors.New("countersign already runs on this data directory")

// ErrNobody means that no instance answers on the data directory.
var ErrNobody = errors.New("no instance answers on this data directory")

// desktop is what the shell asks of the window system, so that the shell can be tested without one.
type desktop interface {
	Show()
	Hide()
	Minimise()
	// Emit sends an event to the page.
	Emit(name string, data ...any)
	// Exec runs a script in the page.
	Exec(script string)
	// Ask shows a question and reports whether the owner chose Yes.
	Ask(title, message string) bool
	// Tell shows a message and waits until it is closed.
	Tell(title, message string)
	// ChooseFolder shows the system's own folder chooser and returns the whole path; empty when the owner chose none.
	ChooseFolder(title string) (string, error)
	// Quit ends the window's loop. It may be called from any goroutine.
	Quit()
}
