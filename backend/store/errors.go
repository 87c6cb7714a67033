package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	lib "modernc.org/sqlite/lib"
)

var (
	// ErrClosed is returned by every verb of a nil or closed DB. The caller
	// stops; nothing was saved.
	ErrClosed = errors.New("the store is closed: not saved")

	// ErrDiskFull means that nothing of the transaction was saved because no
	// space is left. The caller says so and may try again once there is space;
	// the store needs no restart.
	ErrDiskFull = errors.New("the disk is full: not saved. Free some space and try again")

	// ErrReadOnly means that the file or its folder may not be written. The
	// caller asks its owner to correct the permissions.
	ErrReadOnly = errors.New("the data file cannot be written: not saved. Check the permissions of the data folder")

	// ErrSyncFailed means that the disk refused to confirm a commit. The outcome
	// of the transactions in it is unknown, and the store takes no more writes
	// until the process starts again, for a later fsync would not tell.
	ErrSyncFailed = errors.New("the disk did not confirm that the data was saved. Check the disk, then restart")

	// ErrReadTooLong ends a read transaction that passed the age limit: an old
	// snapshot keeps the log file growing. The caller reads in smaller pieces.
	ErrReadTooLong = errors.New("the read took too long and was ended")

	// ErrLocked is what every [LockedError] is. The caller brings the running
	// instance to the front instead of starting a second one.
	ErrLocked = errors.New("another process uses this data folder")

	// ErrTxDone is returned by a transaction used after its function returned.
	ErrTxDone = errors.New("the transaction has ended")
)

// errRolledBack is what a function's later statements get once SQLite has
// rolled the transaction back under it.
var errRolledBack = errors.New("SQLite rolled the transaction back: not saved")

// NewerFormatError refuses a file that a newer version wrote. Nothing was
// changed; the caller shows the sentence and ends.
type NewerFormatError struct {
	Path         string
	Found, Known int // format of the file, newest format this program knows
}

// Error is a sentence for the person.
func (e *NewerFormatError) Error() string {
	return fmt.Sprintf("%s was written by a newer version: it has format %d, this version knows formats up to %d. "+
		"Nothing was changed. Install a version that knows format %d or newer, "+
		"or put back the snapshot that was made beside the file before it was upgraded.",
		e.Path, e.Found, e.Known, e.Found)
}

// CorruptError refuses a file that fails its integrity check or is no database.
// Nothing was changed by us; the caller offers the last backup.
type CorruptError struct {
	Path   string
	Detail string // what SQLite found, for the log
}

// Error is a sentence for the person, with SQLite's finding at its end.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged. Your file was not changed. "+
		"Keep a copy of it, then put back the newest backup. (%s)", e.Path, e.Detail)
}

// SchemaError says that the declared DDL and the file differ in a way that
// cannot be added: a numbered migration is missing. Nothing was changed.
type SchemaError struct {
	Object string // table, or table.column
	Detail string
}

// Error names the object and what must be written.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("schema of %s: %s; this needs a numbered migration. Nothing was changed", e.Object, e.Detail)
}

// PanicError is the error of the caller whose transaction function panicked.
// Its changes were rolled back; its neighbours were not harmed.
type PanicError struct {
	Value any
	Stack []byte
}

// Error gives the panic's value; the stack is for the log.
func (e *PanicError) Error() string { return fmt.Sprintf("transaction function panicked: %v", e.Value) }

// LockedError says who seems to hold a lock. It is [ErrLocked].
type LockedError struct {
	Path string
	PID  int // a hint, 0 when unknown; never a reason to break the lock
}

// Error is a sentence for the person.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%v (%s)", ErrLocked, e.Path)
	}
	return fmt.Sprintf("%v (%s, process %d)", ErrLocked, e.Path, e.PID)
}

// Is makes errors.Is(err, ErrLocked) true.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// code returns the extended SQLite result code in err, or 0.
func code(err error) int {
	var se interface {
		error
		Code() int
	}
	if errors.As(err, &se) {
		return se.Code()
	}
	return 0
}

// classify puts the sentinel a caller branches on around what SQLite or the
// operating system said, and keeps the cause.
func classify(path string, err error) error {
	if err == nil {
		return nil
	}
	for _, known := range []error{ErrDiskFull, ErrReadOnly, ErrSyncFailed, ErrClosed, ErrLocked} {
		if errors.Is(err, known) {
			return err
		}
	}
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		return err
	}
	c := code(err)
	switch {
	case isSyncFailure(err):
		return fmt.Errorf("%w: %w", ErrSyncFailed, err)
	case c&0xff == lib.SQLITE_FULL, c == lib.SQLITE_IOERR_SHMSIZE, errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	case c&0xff == lib.SQLITE_READONLY, c&0xff == lib.SQLITE_PERM, c&0xff == lib.SQLITE_CANTOPEN,
		errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	case c&0xff == lib.SQLITE_CORRUPT, c&0xff == lib.SQLITE_NOTADB:
		return fmt.Errorf("%w", &CorruptError{Path: path, Detail: err.Error()})
	}
	return err
}

func isSyncFailure(err error) bool {
	c := code(err)
	return c == lib.SQLITE_IOERR_FSYNC || c == lib.SQLITE_IOERR_DIR_FSYNC
}

// contextCause prefers the reason a context ended over SQLite's "interrupted".
func contextCause(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if code(err)&0xff == lib.SQLITE_INTERRUPT || errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}
