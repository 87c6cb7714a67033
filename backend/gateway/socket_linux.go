package gateway

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// sameUser asks the kernel who is on the other side.
func sameUser(conn net.Conn) error {
	sock, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("check the caller: not a Unix socket")
	}
	raw, err := sock.SyscallConn()
	if err != nil {
		return fmt.Errorf("check the caller: %w", err)
	}
	var cred *unix.Ucred
	var asked error
	err = raw.Control(func(fd uintptr) {
		cred, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, asked); err != nil {
		return fmt.Errorf("check the caller: %w", err)
	}
	if int(cred.Uid) != os.Geteuid() {
		return fmt.Errorf("check the caller: user %d is not the owner", cred.Uid)
	}
	return nil
}

// socketName is how a socket's path is told to the kernel. A path that is too
// long goes by an open folder's number.
func socketName(path string) (name string, free func(), err error) {
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, fmt.Errorf("open the socket's folder: %w", err)
	}
	short := filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), filepath.Base(path))
	return short, func() { _ = dir.Close() }, nil
}
