//go:build unix

package tooltest

import "syscall"

func makeFifo(path string) error { return syscall.Mkfifo(path, 0o644) }
