package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Bounds of a connection. How long an answer may be silent is the config's.
const (
	connectTimeout = 15 * time.Second
	defaultIdle    = 2 * time.Minute
	maxRedirects   = 3
	maxRefusal     = 1 << 20
	// MaxJSON bounds a body that is not a stream.
	MaxJSON = 32 << 20
)

var (
	errIdle = errors.New("nothing came for too long")
	errMove = errors.New("the server sends us to another address")
)

// Idle is the time a stream may be silent.
func Idle(configured time.Duration) time.Duration {
	if configured <= 0 {
		return defaultIdle
	}
	return configured
}

// NewClient makes the HTTP client of one provider. Its requests must carry the
// context of Watch, else nothing ends a silent one.
func NewClient() *http.Client {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   2,
		IdleConnTimeout:       time.Minute,
		TLSHandshakeTimeout:   connectTimeout,
		ExpectContinueTimeout: time.Second,
		// A compressed stream arrives in blocks, and its cut end cannot be told
		// from its end.
		DisableCompression: true,
	}
	return &http.Client{Transport: watched{t}, CheckRedirect: stayHome}
}

// stayHome follows a redirect only within the scheme and host that the owner
// configured: a library would carry the key's header to wherever it is sent.
func stayHome(req *http.Request, via []*http.Request) error {
	home := via[0].URL
	if req.URL.Scheme != home.Scheme || req.URL.Host != home.Host {
		return fmt.Errorf("%w: %s", errMove, req.URL.Host)
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("%w in a circle", errMove)
	}
	return nil
}

// watchKey finds the watch of a request in its context.
type watchKey struct{}

// watch ends a request when no byte has moved for a while.
type watch struct {
	timer *time.Timer
	idle  time.Duration
	mu    sync.Mutex
	over  bool
}

// Watch returns a context that ends when a request under it is silent for idle,
// in either direction. stop must be called when the request is over.
func Watch(ctx context.Context, idle time.Duration) (watched context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{idle: idle}
	w.timer = time.AfterFunc(idle, func() { cancel(errIdle) })
	return context.WithValue(ctx, watchKey{}, w), func() {
		w.mu.Lock()
		w.over = true
		w.mu.Unlock()
		w.timer.Stop()
		cancel(context.Canceled)
	}
}

func (w *watch) moved() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.timer.Reset(w.idle)
	}
}

// watched tells the watch of each request when bytes move.
type watched struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t watched) RoundTrip(req *http.Request) (*http.Response, error) {
	w, ok := req.Context().Value(watchKey{}).(*watch)
	if !ok {
		return t.next.RoundTrip(req)
	}
	if req.Body != nil && req.Body != http.NoBody {
		sent := *req
		sent.Body = counted{req.Body, w}
		req = &sent
	}
	res, err := t.next.RoundTrip(req)
	if err == nil {
		w.moved()
		res.Body = counted{res.Body, w}
		if res.StatusCode >= http.StatusBadRequest {
			// Libraries read a refusal whole.
			res.Body = bounded{io.LimitReader(res.Body, maxRefusal), res.Body}
		}
	}
	return res, err
}

type bounded struct {
	io.Reader
	io.Closer
}

type counted struct {
	io.ReadCloser
	watch *watch
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if n > 0 {
		c.watch.moved()
	}
	return n, err
}

// BaseURL checks an address that a person typed and ends it with a slash.
// standard is used when there is none. root is put behind an address that has no
// path, as people tend to leave it out.
func BaseURL(typed, standard, root string) (string, error) {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		return standard, nil
	}
	u, err := url.Parse(typed)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("the address of a model must begin with http:// or https:// and name a host")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the address of a model must hold no name, password or question mark; a key goes into the key field")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if u.Path == "" {
		u.Path = root
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	return u.String(), nil
}

// Local reports whether an address is of this computer.
func Local(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
