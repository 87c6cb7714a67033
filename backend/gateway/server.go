package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"countersign/backend/protocol"
)

const (
	// maxSockets bounds the TCP connections of one port, whatever they do.
	maxSockets     = 2048
	headerTimeout  = 5 * time.Second
	requestTimeout = 30 * time.Second
	idleTimeout    = 60 * time.Second
	maxHeader      = 16 << 10
)

// ErrNotLoopback reports an address that other computers could reach; the program
// says so and does not listen.
var ErrNotLoopback = errors.New("other computers could reach this address; use one of this computer only, such as 127.0.0.1:18789")

// HTTPOptions is what a port serves beside the WebSocket.
type HTTPOptions struct {
	// Frontend is the built page, with index.html at its root.
	Frontend fs.FS
	// Ready says why the host is not ready yet; nil means it always is.
	Ready func() error
}

// Server is one open port. Close ends it.
type Server struct {
	g      *Gateway
	listen net.Listener
	http   *http.Server
	addr   string
	ctx    context.Context
	cancel context.CancelFunc
	served sync.WaitGroup
	once   sync.Once

	mu     sync.Mutex
	closed bool
}

// Listen opens a port on loopback and serves the page and the WebSocket. Port 0
// takes a free one. Any other address is refused with ErrNotLoopback.
func (g *Gateway) Listen(addr string, o HTTPOptions) (*Server, error) {
	literal, err := loopback(addr)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", literal)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	s := &Server{g: g, listen: l, addr: l.Addr().String()}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	s.http = &http.Server{
		Handler:           g.handler(newOrigin(port), o, s.serveConn),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
	}
	g.mu.Lock()
	if g.stopping {
		g.mu.Unlock()
		_ = l.Close()
		return nil, errors.New("listen: the gateway is stopping")
	}
	g.servers[s] = struct{}{}
	g.mu.Unlock()
	s.served.Add(1)
	go func() {
		defer s.served.Done()
		if err := s.http.Serve(newCappedListener(l, maxSockets)); !errors.Is(err, http.ErrServerClosed) {
			g.log.Error("the port stopped serving", slog.String("addr", s.addr), slog.Any("err", err))
		}
	}()
	return s, nil
}

// loopback turns an address into a literal one on loopback, or refuses it: a name
// is not looked up, for a resolver may answer anything.
func loopback(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("listen on %q: %w", addr, ErrNotLoopback)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || ip != netip.MustParseAddr("127.0.0.1") && ip != netip.IPv6Loopback() {
		return "", fmt.Errorf("listen on %q: %w", addr, ErrNotLoopback)
	}
	return net.JoinHostPort(host, port), nil
}

// Addr is the address with its port.
func (s *Server) Addr() string { return s.addr }

// URL is where a browser finds the page, with a slash at the end.
func (s *Server) URL() string { return "http://" + s.addr + "/" }

// WS is where a client connects.
func (s *Server) WS() string { return "ws://" + s.addr + "/ws" }

// EnterURL is the link that lets a browser in once.
func EnterURL(base, ticket string) string {
	return base + "enter?ticket=" + url.QueryEscape(ticket)
}

// URL is where a browser finds the page, "" while no port is open.
func (g *Gateway) URL() string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for s := range g.servers {
		return s.URL()
	}
	return ""
}

// Close ends the port and the connections that came through it. Closing twice is
// fine; both wait.
func (s *Server) Close() {
	s.once.Do(func() {
		s.g.mu.Lock()
		delete(s.g.servers, s)
		s.g.mu.Unlock()
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.cancel()
		// Requests that run may end; a reader that dawdles is cut off.
		ctx, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		err := s.http.Shutdown(ctx)
		if err != nil {
			err = s.http.Close()
		}
		if err != nil {
			s.g.log.Debug("the port did not close cleanly", slog.Any("err", err))
		}
	})
	s.served.Wait()
}

// serveConn serves a WebSocket until it, the port or the gateway ends.
func (s *Server) serveConn(t Transport, p Peer) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		_ = t.Close(protocol.CloseRestart, "service restart")
		return
	}
	s.served.Add(1)
	s.mu.Unlock()
	defer s.served.Done()
	if err := s.g.ServeConn(s.ctx, t, p); err != nil {
		s.g.log.Debug("a connection ended", slog.Any("err", err))
	}
}

// cappedListener turns away what is too many, so that open sockets cannot use up
// the process's files.
type cappedListener struct {
	net.Listener
	places chan struct{}
}

func newCappedListener(l net.Listener, most int) net.Listener {
	return &cappedListener{Listener: l, places: make(chan struct{}, most)}
}

func (l *cappedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.places <- struct{}{}:
			return &cappedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
		default:
			_ = c.Close()
		}
	}
}

type cappedConn struct {
	net.Conn
	leave func()
}

func (c *cappedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// remoteHost is the address of the other side without its port.
func remoteHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// beforeAuth is the read limit of a connection that has proved nothing.
const beforeAuth = int64(protocol.MaxFrameBeforeAuth)
