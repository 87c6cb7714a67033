package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gofrs/flock"
)

const lockName = "countersign.lock"

// DirLock is an exclusive claim on a data folder. The operating system holds it
// and drops it when the process dies, so a stale file never blocks a start.
// The process id beside it is only a hint. Safe for concurrent use.
type DirLock struct {
	os      *flock.Flock
	hint    string
	unclean bool
}

// Lock claims dir for this process without waiting, and makes dir (0700) if it
// is not there. A folder that is already claimed gives a [LockedError].
func Lock(dir string) (*DirLock, error) {
	if err := prepareDir(dir); err != nil {
		return nil, err
	}
	return acquire(filepath.Join(dir, lockName))
}

func acquire(path string) (*DirLock, error) {
	l := &DirLock{
		os:   flock.New(path, flock.SetPermissions(0o600)),
		hint: path + ".pid",
	}
	ok, err := l.os.TryLock()
	if err != nil {
		return nil, classify(path, fmt.Errorf("lock %s: %w", path, err))
	}
	if !ok {
		return nil, &LockedError{Path: path, PID: readPID(l.hint)}
	}
	// A holder empties the hint when it lets go, so a hint that is still there
	// was left by one that did not come so far.
	l.unclean = readPID(l.hint) != 0
	if err := writeHint(l.hint, strconv.Itoa(os.Getpid())); err != nil {
		return nil, classify(path, errors.Join(fmt.Errorf("write lock hint: %w", err), l.os.Unlock()))
	}
	return l, nil
}

// Release lets the next process in. Calling it twice is fine.
func (l *DirLock) Release() error {
	if l == nil || !l.os.Locked() {
		return nil
	}
	if err := writeHint(l.hint, ""); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("clear lock hint: %w", err), l.os.Unlock())
	}
	return l.os.Unlock()
}

// abandon lets go but leaves the hint, so that the next holder knows of an
// unclean end.
func (l *DirLock) abandon() error { return l.os.Unlock() }

// letGo ends a claim under which nothing was done: the mark of an unclean end
// stays if it was there.
func (l *DirLock) letGo() error {
	if l.unclean {
		return l.abandon()
	}
	return l.Release()
}

// The hint has a file of its own because on Windows the locked file cannot be
// read by anyone else.
func readPID(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil {
		return 0
	}
	return pid
}

func writeHint(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}
