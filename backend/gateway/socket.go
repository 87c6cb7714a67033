package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
)

// maxSocketPath is the longest path of a Unix socket on every system we know.
const maxSocketPath = 100

// Socket is the open Unix socket of the command line. Close ends it.
type Socket struct {
	g      *Gateway
	listen net.Listener
	path   string
	free   func()
	ctx    context.Context
	cancel context.CancelFunc
	served sync.WaitGroup
	once   sync.Once
}

// ListenSocket opens the Unix socket at a path inside the data directory, which
// is private. Each peer's user is checked where the system tells it (Linux,
// macOS); on Windows the directory's permissions are the check. A socket left
// there by a killed process is replaced; the data directory's lock makes sure
// that nobody still uses it.
func (g *Gateway) ListenSocket(path string) (*Socket, error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode().Type()&(fs.ModeSocket|fs.ModeIrregular) == 0:
		return nil, fmt.Errorf("open the socket: %s is in the way and is no socket; move it away, then start again", path)
	case err == nil:
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("open the socket: %w", err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open the socket: %w", err)
	}
	name, free, err := socketName(path)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", name)
	if err != nil {
		free()
		return nil, fmt.Errorf("open the socket: %w", err)
	}
	if unix, ok := l.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		free()
		return nil, fmt.Errorf("open the socket: %w", err)
	}
	s := &Socket{g: g, listen: l, path: path, free: free}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.served.Add(1)
	g.mu.Lock()
	stopping := g.stopping
	g.sockets[s] = struct{}{}
	g.mu.Unlock()
	go s.accept()
	if stopping {
		s.Close()
		return nil, errors.New("open the socket: the gateway is stopping")
	}
	return s, nil
}

// DialSocket opens a transport to a running host, for clients written in Go.
func DialSocket(ctx context.Context, path string) (Transport, error) {
	name, free, err := socketName(path)
	if err != nil {
		return nil, err
	}
	defer free()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", name)
	if err != nil {
		return nil, fmt.Errorf("reach the host: %w", err)
	}
	return NewStream(conn), nil
}

func (s *Socket) accept() {
	defer s.served.Done()
	for {
		conn, err := s.listen.Accept()
		if err != nil {
			if s.ctx.Err() == nil {
				s.g.log.Error("the socket stopped listening", slog.Any("err", err))
			}
			return
		}
		s.served.Add(1)
		go s.serve(conn)
	}
}

func (s *Socket) serve(conn net.Conn) {
	defer s.served.Done()
	if err := sameUser(conn); err != nil {
		s.g.log.Warn("a caller on the socket was refused", slog.Any("err", err))
		_ = conn.Close()
		return
	}
	peer := Peer{Kind: PeerSocket, Name: "command line", Remote: "socket"}
	if err := s.g.ServeConn(s.ctx, NewStream(conn), peer); err != nil {
		s.g.log.Debug("a connection ended", slog.Any("err", err))
	}
}

// Close ends the socket and the connections that came through it, and removes
// its file. Closing twice is fine; both wait.
func (s *Socket) Close() {
	s.once.Do(func() {
		s.g.mu.Lock()
		delete(s.g.sockets, s)
		s.g.mu.Unlock()
		s.cancel()
		if err := s.listen.Close(); err != nil {
			s.g.log.Debug("the socket did not close cleanly", slog.Any("err", err))
		}
		s.free()
		if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.g.log.Debug("the socket's file stayed", slog.Any("err", err))
		}
	})
	s.served.Wait()
}
