package config

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const oldText, newText = "{\"firstRunDone\": false}\n", "{\"firstRunDone\": true}\n"

// crash is thrown through the save like the end of the process: no code of the
// save runs after it.
type crash struct{}

func saveInterrupted(t *testing.T, dir string, interrupt func(step string) error) (err error) {
	t.Helper()
	s := newSaver()
	s.before = interrupt
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(crash); !ok {
				panic(r)
			}
			err = errors.New("crashed")
		}
	}()
	return s.save(context.Background(), filepath.Join(dir, FileName), []byte(newText))
}

func TestASaveThatEndsAnywhereLeavesTheOldOrTheNewFile(t *testing.T) {
	var steps []string
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	reset := func() {
		for _, name := range []string{path, backupName(path, 1), backupName(path, 2)} {
			if err := os.WriteFile(name, []byte(oldText), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	reset()
	if err := saveInterrupted(t, dir, func(step string) error { steps = append(steps, step); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(steps) < 7 {
		t.Fatalf("only %v", steps)
	}
	for _, how := range []string{"fail", "crash"} {
		for _, at := range steps {
			reset()
			err := saveInterrupted(t, dir, func(step string) error {
				if step != at {
					return nil
				}
				if how == "crash" {
					panic(crash{})
				}
				return errors.New("disk full")
			})
			if err == nil {
				t.Errorf("%s at %s was not reported", how, at)
			}
			b, readErr := os.ReadFile(path)
			if readErr != nil || (string(b) != oldText && string(b) != newText) {
				t.Errorf("%s at %s left %q (%v)", how, at, b, readErr)
			}
			if at != "sync-dir" && string(b) != oldText {
				t.Errorf("%s at %s reports an error but changed the file", how, at)
			}
			if err := saveInterrupted(t, dir, func(string) error { return nil }); err != nil {
				t.Errorf("the save after %s at %s: %v", how, at, err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, tempPattern+"*")); len(left) != 0 {
				t.Errorf("%s at %s left %v for ever", how, at, left)
			}
		}
	}
}

func TestRenameIsRetriedWhileAnotherProgramHoldsTheFile(t *testing.T) {
	busy := errors.New("sharing violation")
	for _, c := range []struct {
		name   string
		fails  int
		wantOK bool
	}{{"two seconds", 7, true}, {"for ever", 1 << 30, false}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, FileName)
			if err := os.WriteFile(path, []byte(oldText), 0o600); err != nil {
				t.Fatal(err)
			}
			s := newSaver()
			var waited time.Duration
			fails := c.fails
			s.transient = func(err error) bool { return errors.Is(err, busy) }
			s.wait = func(_ context.Context, d time.Duration) error { waited += d; return nil }
			s.rename = func(from, to string) error {
				if strings.Contains(from, tempPattern) && fails > 0 {
					fails--
					return busy
				}
				return os.Rename(from, to)
			}
			err := s.save(context.Background(), path, []byte(newText))
			b, readErr := os.ReadFile(path)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if (err == nil) != c.wantOK || (string(b) == newText) != c.wantOK {
				t.Fatalf("err %v, content %q", err, b)
			}
			if waited == 0 || waited > renameWait+maxBackoff {
				t.Errorf("waited %v", waited)
			}
		})
	}
}

func TestAPermanentRenameErrorIsNotRetried(t *testing.T) {
	s := newSaver()
	s.rename = func(string, string) error { return fs.ErrPermission }
	s.wait = func(context.Context, time.Duration) error { t.Error("waited"); return nil }
	if err := s.save(context.Background(), filepath.Join(t.TempDir(), FileName), []byte(newText)); !errors.Is(err, fs.ErrPermission) {
		t.Fatal(err)
	}
}
