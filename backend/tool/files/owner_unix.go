//go:build unix

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives the new file the owner and group of the one it replaces. One
// that would change hands is refused: its owner could lose it.
func keepOwner(f *os.File, old fs.FileInfo) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("keep the owner of %s: %w", old.Name(), err)
	}
	was, ok1 := old.Sys().(*syscall.Stat_t)
	now, ok2 := info.Sys().(*syscall.Stat_t)
	if !ok1 || !ok2 || was.Uid == now.Uid && was.Gid == now.Gid {
		return nil
	}
	err = f.Chown(int(was.Uid), int(was.Gid))
	if errors.Is(err, fs.ErrPermission) {
		return argument("%s belongs to another user and would change hands.", old.Name())
	}
	return err
}

// hasOtherNames reports a file with more than one name.
func hasOtherNames(info fs.FileInfo) bool {
	if info == nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}

// syncDir makes a renaming durable.
func syncDir(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}
