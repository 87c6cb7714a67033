package config

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	backups      = 5
	renameWait   = 10 * time.Second
	tempPattern  = FileName + ".tmp-"
	firstBackoff = 10 * time.Millisecond
	maxBackoff   = 500 * time.Millisecond
)

// saver replaces a file in one step. Its functions are fields so that tests can
// fail any of them.
type saver struct {
	// before is called with the name of each step; an error ends the save there.
	before    func(step string) error
	rename    func(from, to string) error
	transient func(error) bool
	wait      func(context.Context, time.Duration) error
}

func newSaver() saver {
	return saver{
		before:    func(string) error { return nil },
		rename:    os.Rename,
		transient: isTransientRename,
		wait:      wait,
	}
}

func backupName(path string, n int) string { return fmt.Sprintf("%s.%d", path, n) }

// save writes data beside path, keeps the present file as backup 1 and renames.
func (s saver) save(ctx context.Context, path string, data []byte) error {
	// A link, as kept by people who version their settings, stays a link.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	s.removeLeftovers(path)
	temp := filepath.Join(filepath.Dir(path), tempPattern+rand.Text())
	if err := s.writeTemp(temp, data); err != nil {
		_ = os.Remove(temp) // it holds nothing that is not in memory
		return fmt.Errorf("write configuration: %w", err)
	}
	if err := s.rotate(path); err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("keep earlier configuration: %w", err)
	}
	if err := s.replace(ctx, temp, path); err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("replace configuration: %w", err)
	}
	if err := s.before("sync-dir"); err != nil {
		return fmt.Errorf("sync directory of configuration: %w", err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("sync directory of configuration: %w", err)
	}
	return nil
}

func (s saver) writeTemp(temp string, data []byte) (err error) {
	if err := s.before("create"); err != nil {
		return err
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	half := len(data) / 2
	if _, err := f.Write(data[:half]); err != nil {
		return err
	}
	if err := s.before("write"); err != nil {
		return err
	}
	if _, err := f.Write(data[half:]); err != nil {
		return err
	}
	if err := s.before("sync"); err != nil {
		return err
	}
	return f.Sync()
}

// rotate copies the present file to backup 1. The copy is made before any
// rename of it, so path exists at every moment.
func (s saver) rotate(path string) error {
	present, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.before("rotate"); err != nil {
		return err
	}
	for n := backups - 1; n >= 1; n-- {
		if err := s.rename(backupName(path, n), backupName(path, n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := s.before("backup"); err != nil {
		return err
	}
	return os.WriteFile(backupName(path, 1), present, 0o600)
}

// replace renames, and on Windows waits for a scanner that holds the file open.
func (s saver) replace(ctx context.Context, temp, path string) error {
	if err := s.before("rename"); err != nil {
		return err
	}
	var waited time.Duration
	for pause := firstBackoff; ; pause = min(2*pause, maxBackoff) {
		err := s.rename(temp, path)
		if err == nil || !s.transient(err) || waited >= renameWait {
			return err
		}
		if waitErr := s.wait(ctx, pause); waitErr != nil {
			return errors.Join(err, waitErr)
		}
		waited += pause
	}
}

// removeLeftovers deletes what a save left behind that was killed. The caller
// holds the only right to write, so no living save owns these.
func (s saver) removeLeftovers(path string) {
	found, err := filepath.Glob(filepath.Join(filepath.Dir(path), tempPattern+"*"))
	if err != nil {
		return
	}
	for _, f := range found {
		_ = os.Remove(f) // tried again at the next save
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
