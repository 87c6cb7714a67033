//go:build unix

package workspace

import "syscall"

const noWait = syscall.O_NONBLOCK
