//go:build unix

package app

import "syscall"

// replace keeps the process id, so that whoever started us goes on watching the right process.
func replace(program string, argv, env []string) error { return syscall.Exec(program, argv, env) }
