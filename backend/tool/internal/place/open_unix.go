//go:build unix

package place

import "syscall"

const noWait = syscall.O_NONBLOCK
