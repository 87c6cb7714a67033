//go:build !windows

package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

func isTransientRename(error) bool { return false }

func syncDir(dir string) (err error) {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Sync()
}

// secureDir refuses a directory that others own or can write, and closes one
// that others can only read.
func secureDir(dir string, info os.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("the data directory %s belongs to another user; choose a folder of your own with --home", dir)
	}
	perm := info.Mode().Perm()
	if perm&0o022 != 0 {
		return fmt.Errorf("other users can change the data directory %s; run: chmod 700 %s", dir, shellQuote(dir))
	}
	if perm != 0o700 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("close the data directory to other users: %w", err)
		}
	}
	return nil
}

func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
