package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Backup writes a whole, compact copy of what is committed to dest, mode 0600,
// while readers and writers go on. dest must not exist; it appears only once it
// is complete and on disk. Ends with ctx. Safe for concurrent use.
func (db *DB) Backup(ctx context.Context, dest string) error {
	if !db.enter() {
		return ErrClosed
	}
	defer db.users.Done()
	if err := vacuumInto(ctx, db.path, dest); err != nil {
		return fmt.Errorf("back up to %s: %w", dest, classify(dest, contextCause(ctx, err)))
	}
	return nil
}

func vacuumInto(ctx context.Context, path, dest string) (err error) {
	if _, err := os.Lstat(dest); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return err
	}
	// VACUUM INTO accepts an empty file, so the copy is never readable by others.
	part := dest + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, ownerOnlyFile)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(ownerOnlyFile), f.Close()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeIfThere(part))
		}
	}()
	pool, err := openPool(path, snapshot, SyncFull, 1)
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, "VACUUM INTO "+quoteText(part))
	if err := errors.Join(err, pool.Close()); err != nil {
		return err
	}
	if err := syncFile(part); err != nil {
		return err
	}
	if err := os.Rename(part, dest); err != nil {
		return err
	}
	return syncFile(dest)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
