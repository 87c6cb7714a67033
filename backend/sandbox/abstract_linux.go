package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Numbers of the kernel's interface that the library does not name yet; they
// follow linux/landlock.h and linux/seccomp.h.
const (
	landlockScopeAbstractUnix = 1 << 0
	landlockABIWithScopes     = 6
	landlockVersionFlag       = 1
	seccompModeFilter         = 2
)

type landlockAttr struct {
	handledFS, handledNet, scoped uint64
}

// denyAbstractSockets keeps this thread, and what it starts, from sockets that
// live in the network namespace instead of the file system. A kernel without
// that choice (before 6.12) loses all Unix sockets but unnamed pairs.
func denyAbstractSockets() error {
	if err := setNoNewPrivileges(); err != nil {
		return err
	}
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, landlockVersionFlag)
	if errno == 0 && version >= landlockABIWithScopes {
		return restrictScope()
	}
	return denyUnixSockets()
}

// setNoNewPrivileges is what the kernel asks of a thread that restricts itself.
func setNoNewPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	return nil
}

func restrictScope() error {
	attr := landlockAttr{scoped: landlockScopeAbstractUnix}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("make a rule against abstract sockets: %w", errno)
	}
	_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
	_ = unix.Close(int(fd)) // the rule stays with the thread
	if errno != 0 {
		return fmt.Errorf("apply the rule against abstract sockets: %w", errno)
	}
	return nil
}

// denyUnixSockets installs a filter in which socket(AF_UNIX, …) fails. Calls of
// another architecture's numbering fail too, for they would pass it by.
func denyUnixSockets() error {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("the network cannot be given to commands on %s with this kernel; update it to 6.12 or later", runtime.GOARCH)
	}
	const (
		load      = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal     = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		atLeast   = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		end       = unix.BPF_RET | unix.BPF_K
		allow     = 0x7fff0000
		refuse    = 0x00050000
		x32Number = 0x40000000
	)
	filter := []unix.SockFilter{
		{Code: load, K: 4}, // architecture
		{Code: equal, K: arch, Jt: 1},
		{Code: end, K: refuse | uint32(unix.ENOSYS)},
		{Code: load, K: 0}, // number of the call
		{Code: atLeast, K: x32Number, Jt: 3},
		{Code: equal, K: unix.SYS_SOCKET, Jf: 4},
		{Code: load, K: 16}, // first argument
		{Code: equal, K: unix.AF_UNIX, Jt: 1, Jf: 2},
		{Code: end, K: refuse | uint32(unix.ENOSYS)},
		{Code: end, K: refuse | uint32(unix.EACCES)},
		{Code: end, K: allow},
	}
	if runtime.GOARCH != "amd64" {
		filter[4] = unix.SockFilter{Code: atLeast, K: 0xffffffff, Jt: 3}
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, seccompModeFilter, uintptr(unsafe.Pointer(&program)), 0, 0)
	runtime.KeepAlive(filter)
	if err != nil {
		return fmt.Errorf("apply the filter against Unix sockets: %w", err)
	}
	return nil
}
