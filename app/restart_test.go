package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRestartsAreBounded(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	value := "nonsense"
	for i := range restartsMost {
		next, ok := nextRestart(value, now)
		if !ok {
			t.Fatalf("restart %d is refused", i+1)
		}
		value, now = next, now.Add(time.Minute)
	}
	if _, ok := nextRestart(value, now); ok {
		t.Errorf("more than %d restarts in %s", restartsMost, restartsWithin)
	}
	if _, ok := nextRestart(value, now.Add(restartsWithin)); !ok {
		t.Error("old restarts are held against it for ever")
	}
}

// script writes a program that notes each start and exits with the given codes in turn, then 0.
func script(t *testing.T, codes ...int) (program, starts string) {
	t.Helper()
	dir := t.TempDir()
	program, starts = filepath.Join(dir, "program"), filepath.Join(dir, "starts")
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\necho x >> '%s'\ncase $(wc -l < '%s') in\n", starts, starts)
	for i, code := range codes {
		fmt.Fprintf(&b, "%d) exit %d;;\n", i+1, code)
	}
	b.WriteString("esac\n")
	if err := os.WriteFile(program, []byte(b.String()), 0o700); err != nil {
		t.Fatal(err)
	}
	return program, starts
}

func TestGuardStartsAgainAfterAFaultOnly(t *testing.T) {
	program, starts := script(t, 3)
	if code := guard(t.Context(), slog.New(slog.DiscardHandler), []string{program}); code != 0 {
		t.Errorf("exit status %d", code)
	}
	noted, err := os.ReadFile(starts)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(noted), "x"); got != 2 {
		t.Errorf("started %d times, want 2: a fault, then a good end", got)
	}
}

func TestGuardEndsWithItsContext(t *testing.T) {
	program, starts := script(t, 1, 1, 1, 1, 1)
	ctx, cancel := context.WithTimeout(t.Context(), guardPause/2)
	defer cancel()
	if code := guard(ctx, slog.New(slog.DiscardHandler), []string{program}); code != 0 {
		t.Errorf("exit status %d", code)
	}
	noted, err := os.ReadFile(starts)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(noted), "x"); got != 1 {
		t.Errorf("started %d times, want 1", got)
	}
}
