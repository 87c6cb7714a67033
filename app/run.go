package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	ossignal "os/signal"
	"syscall"
	"time"

	"countersign/app/notify"
)

// raiseTimeout is how long a second start waits for the first to show itself; the first may itself be starting.
const raiseTimeout = 10 * time.Second

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
	// Raise asks a running instance to show its window. It fails soon when there is none.
	Raise func(ctx context.Context) error
}

// Outcome is how the window ended.
type Outcome int

// Outcomes. Restart asks the caller to start the program again in this one's place.
const (
	Done Outcome = iota
	Failed
	Restart
)

// Run shows the window and returns when everything has ended. It must be called on the main goroutine.
func Run(o Options) (Outcome, error) {
	// A second start asks the first one before it makes a window of its own, which would only flash up.
	if raise(o, time.Second) == nil {
		return Done, nil
	}
	helper, err := trayProgram()
	if err != nil {
		return Failed, err
	}
	s := newShell(o.Logger, helper, func(opened func(string)) notify.Notifier { return notify.New(o.Logger, opened) },
		newSaid(o.Home, o.Logger))
	result := Done
	stopSignals := s.quitOnSignals()
	defer stopSignals()
	err = openWindow(s, o.Page, o.Icon, o.Hidden, func() {
		if err := open(s, o); err != nil {
			result = Failed
			s.quit()
		}
	})
	s.end()
	switch {
	case err != nil:
		return Failed, fmt.Errorf("open the window: %w", err)
	case s.restarting():
		return Restart, nil
	}
	return result, nil
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
		if err = raise(o, raiseTimeout); err == nil {
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

// raise asks the running instance for its window until one answers or the time is over.
func raise(o Options, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	again := time.NewTicker(250 * time.Millisecond)
	defer again.Stop()
	for {
		err := o.Raise(ctx)
		if err == nil || errors.Is(err, ErrNobody) {
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
