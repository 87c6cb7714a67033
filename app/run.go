package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	ossignal "os/signal"
	"runtime"
	"syscall"
	"time"

	"countersign/app/notify"
)

// How a second start waits for the first to show itself.
const (
	raisePatience = 10 * time.Second
	raiseOnce     = 2 * time.Second
	raiseAgain    = 250 * time.Millisecond
)

// Options are what the window needs.
type Options struct {
	// Home is the data directory; Page the built page; Icon a PNG.
	Home    string
	Page    fs.FS
	Icon    []byte
	Logger  *slog.Logger
	Version string
	// Hidden starts in the tray.
	Hidden bool
	// Open opens the host. show is what it calls when another start asks for the window. ErrAlreadyRunning ends this
	// start and raises the other one's window.
	Open func(ctx context.Context, show func()) (Host, error)
	// Raise asks a running instance to show its window. It fails at once when there is none.
	Raise func(ctx context.Context) error
}

// Outcome is how the window ended.
type Outcome int

// Outcomes. Restart asks the caller to start the program again in this one's place.
const (
	Done Outcome = iota
	Restart
)

// noDisplay reports a Linux session without any, where GTK would only panic.
func noDisplay() bool {
	return runtime.GOOS == "linux" && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == ""
}

// Run shows the window and returns when everything has ended. It must be called on the main goroutine.
func Run(o Options) (Outcome, error) {
	// A second start asks the first one before it makes a window of its own, which would only flash up.
	if raise(o, 0) == nil {
		return Done, nil
	}
	if noDisplay() {
		return Done, errors.New("there is no display here; start `countersign serve` and open the address it prints in a browser")
	}
	helper, err := trayProgram()
	if err != nil {
		return Done, err
	}
	s := newShell(o.Logger, helper, func(opened func(string)) notify.Notifier { return notify.New(o.Logger, opened) },
		newSaid(o.Home, o.Logger))
	opened := make(chan error, 1)
	stopSignals := s.quitOnSignals()
	defer stopSignals()
	err = openWindow(s, o.Page, o.Icon, o.Hidden, func() {
		err := open(s, o)
		if opened <- err; err != nil {
			s.quit()
		}
	})
	var failed error
	if s.window() != nil {
		// A window that is closed while the host still opens waits for it, for only an open host can be closed.
		failed = <-opened
	}
	s.end()
	switch {
	case err != nil:
		return Done, fmt.Errorf("open the window: %w", err)
	case s.restarting():
		return Restart, nil
	}
	return Done, failed
}

// open opens the host behind the window, or says why it cannot.
func open(s *shell, o Options) error {
	h, err := o.Open(s.ctx, s.show)
	if err == nil {
		s.serve(h)
		return nil
	}
	s.failed()
	if errors.Is(err, ErrAlreadyRunning) {
		if err = raise(o, raisePatience); err == nil {
			s.quit()
			return nil
		}
		s.window().Tell(saysName, saysTaken)
		return err
	}
	o.Logger.Error("open the host", "err", err)
	s.window().Tell(saysName, failure(err))
	return err
}

// raise asks the running instance for its window, again and again for some time, since it may only be starting.
func raise(o Options, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience+raiseOnce)
	defer cancel()
	until := time.Now().Add(patience)
	again := time.NewTicker(raiseAgain)
	defer again.Stop()
	for {
		err := o.Raise(ctx)
		if err == nil || !time.Now().Before(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-again.C:
		}
	}
}

// quitOnSignals ends the window when the system asks for it, at logout or shutdown. Wails alone would treat that like a
// closed window, which only hides it.
func (s *shell) quitOnSignals() (stop func()) {
	asked := make(chan os.Signal, 1)
	ossignal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	s.work.Go(func() {
		select {
		case <-asked:
			s.quit()
		case <-s.ctx.Done():
		}
	})
	return func() { ossignal.Stop(asked) }
}
