//go:build !linux && !darwin

package gateway

import (
	"fmt"
	"net"
)

// sameUser cannot ask who is on the other side here: Windows does not tell it for
// Unix sockets. The data directory, which only its owner may enter, is the check.
func sameUser(net.Conn) error { return nil }

// socketName is how a socket's path is told to the system.
func socketName(path string) (name string, free func(), err error) {
	if len(path) > maxSocketPath {
		return "", nil, fmt.Errorf("open the socket: the path of the data folder is too long (%d bytes, at most %d); choose a shorter one", len(path), maxSocketPath)
	}
	return path, func() {}, nil
}
