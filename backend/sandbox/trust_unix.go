//go:build !windows

package sandbox

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// isTrusted is true when nobody but the system's administrator can change what
// lies at path: the file and every folder above it belong to root and are closed
// to others. For a process that is root itself, only the system's folders count.
func isTrusted(path string) bool {
	if os.Geteuid() == 0 && !isSystemPath(path) {
		return false
	}
	for {
		info, err := os.Lstat(path)
		if err != nil {
			return false
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != 0 {
			return false
		}
		if info.Mode()&os.ModeSymlink == 0 && info.Mode().Perm()&0o022 != 0 {
			return false
		}
		parent := filepath.Dir(path)
		if parent == path {
			return true
		}
		path = parent
	}
}

// openNonblocking returns at once for a pipe without a writer.
func openNonblocking(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

// holdsInPlace is false: an open file can be changed here, so it is copied.
const holdsInPlace = false

func openHeld(path string) (*os.File, error) { return os.Open(path) }
