package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	ossignal "os/signal"
	"syscall"
	"time"
)

// How often a guarded program is started again.
const (
	guardMost   = 5
	guardWithin = 10 * time.Minute
	guardPause  = 2 * time.Second
)

// Guard runs a program and starts it again when it ends by a fault, for desktops that do not do so themselves. It
// returns the program's exit status once it ends well, this process is asked to end, or faults come too fast.
func Guard(log *slog.Logger, argv []string) int {
	ctx, stop := ossignal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return guard(ctx, log, argv)
}

func guard(ctx context.Context, log *slog.Logger, argv []string) int {
	var faults []time.Time
	for {
		code, err := guarded(ctx, argv)
		if err == nil || ctx.Err() != nil {
			return 0
		}
		now := time.Now()
		for len(faults) > 0 && now.Sub(faults[0]) > guardWithin {
			faults = faults[1:]
		}
		if faults = append(faults, now); len(faults) >= guardMost {
			log.Error("the program keeps failing and is not started again", "program", argv[0], "err", err)
			return code
		}
		log.Warn("the program ended by a fault and is started again", "program", argv[0], "err", err)
		select {
		case <-ctx.Done():
			return 0
		case <-time.After(guardPause):
		}
	}
}

func guarded(ctx context.Context, argv []string) (int, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = closeTimeout
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), err
	}
	return 1, err
}
