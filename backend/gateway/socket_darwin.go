package gateway

import (
	"errors"
	"fmt"
	"net"
	"os"

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
	var cred *unix.Xucred
	var asked error
	err = raw.Control(func(fd uintptr) {
		cred, asked = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	})
	if err := errors.Join(err, asked); err != nil {
		return fmt.Errorf("check the caller: %w", err)
	}
	if int(cred.Uid) != os.Geteuid() {
		return fmt.Errorf("check the caller: user %d is not the owner", cred.Uid)
	}
	return nil
}

// socketName is how a socket's path is told to the kernel.
func socketName(path string) (name string, free func(), err error) {
	if len(path) > maxSocketPath {
		return "", nil, fmt.Errorf("open the socket: the path of the data folder is too long (%d bytes, at most %d); choose a shorter one", len(path), maxSocketPath)
	}
	return path, func() {}, nil
}
