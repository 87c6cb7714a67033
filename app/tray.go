package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"countersign/app/traymsg"
)

// Pauses between the starts of a helper that keeps dying, and how long one must live to count as healthy.
const (
	trayPauseFirst = 250 * time.Millisecond
	trayPauseMost  = 30 * time.Second
	trayHealthy    = time.Minute
	trayGrace      = 2 * time.Second
)

// tray starts the helper, starts it again when it dies, and keeps it told of the newest view. Its methods are safe for
// concurrent use; run is called once.
type tray struct {
	program string
	log     *slog.Logger
	// clicked gets each choice; watching whether the desktop shows trays, false whenever the helper is down. Both are
	// called from one goroutine, in order.
	clicked  func(traymsg.Click)
	watching func(bool)

	mu      sync.Mutex // guards view
	view    View
	changed chan struct{} // one token: view changed
}

func newTray(program string, log *slog.Logger, clicked func(traymsg.Click), watching func(bool)) *tray {
	return &tray{
		program: program, log: log, clicked: clicked, watching: watching,
		view:    View{State: traymsg.State{State: traymsg.Offline, Title: "Countersign is starting"}},
		changed: make(chan struct{}, 1),
	}
}

// trayProgram is the helper beside this program.
func trayProgram() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	name := "countersign-tray"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(filepath.Dir(self), name), nil
}

// update makes v what the tray shows, at once or as soon as there is one.
func (t *tray) update(v View) {
	t.mu.Lock()
	t.view = v
	t.mu.Unlock()
	signal(t.changed)
}

func (t *tray) latest() View {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view
}

// run keeps a helper alive until ctx ends, then ends it and returns.
func (t *tray) run(ctx context.Context) {
	pause := trayPauseFirst
	for ctx.Err() == nil {
		began := time.Now()
		err := t.once(ctx)
		t.watching(false)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= trayHealthy {
			pause = trayPauseFirst
		}
		if errors.Is(err, os.ErrNotExist) {
			pause = trayPauseMost
		}
		t.log.Warn("the tray ended and is started again", "err", err, "in", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, trayPauseMost)
	}
}

// once runs one helper to its end.
func (t *tray) once(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.program)
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("open the tray's input: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("open the tray's output: %w", err)
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("open the tray's messages: %w", err)
	}
	// The end of its input is what tells the helper to go; only one that hangs is killed.
	cmd.Cancel = in.Close
	cmd.WaitDelay = trayGrace
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the tray: %w", err)
	}
	var pipes sync.WaitGroup
	down := make(chan struct{})
	pipes.Go(func() { t.hear(said) })
	pipes.Go(func() { t.tell(traymsg.NewWriter(in), down) })
	err = t.listen(traymsg.NewReader(out))
	close(down)
	// A helper that stopped making sense must not stay.
	cancel()
	waited := cmd.Wait()
	pipes.Wait()
	return errors.Join(err, waited)
}

// tell sends the newest view, first at once, until the helper is down.
func (t *tray) tell(w *traymsg.Writer, down <-chan struct{}) {
	for {
		v := t.latest()
		err := errors.Join(w.Write(traymsg.Line{Menu: &v.Menu}), w.Write(traymsg.Line{State: &v.State}))
		if errors.Is(err, traymsg.ErrMalformed) {
			t.log.Error("the tray cannot be told", "err", err)
		} else if err != nil {
			return // the reader of the same helper sees its end and says why
		}
		select {
		case <-t.changed:
		case <-down:
			return
		}
	}
}

// listen handles the helper's lines until its output ends.
func (t *tray) listen(r *traymsg.Reader) error {
	for {
		line, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case line.Ready != nil:
			t.watching(line.Ready.Watcher)
		case line.Click != nil:
			t.clicked(*line.Click)
		default:
			return fmt.Errorf("%w: not for the window", traymsg.ErrMalformed)
		}
	}
}

// hear passes what the helper complains of to the log.
func (t *tray) hear(r io.Reader) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		t.log.Debug("tray", "says", lines.Text())
	}
}
