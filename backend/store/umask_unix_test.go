//go:build unix

package store_test

import (
	"syscall"
	"testing"
)

// widenUmask makes new files readable by everyone unless their maker forbids it.
func widenUmask(t *testing.T) {
	old := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(old) })
}
