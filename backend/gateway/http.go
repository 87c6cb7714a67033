package gateway

import (
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"

	"countersign/backend/protocol"
)

// page serves the routes of one port.
type page struct {
	g      *Gateway
	origin origin
	opts   HTTPOptions
	serve  func(Transport, Peer)
}

// handler serves a port: every route is judged before anything else is looked at.
func (g *Gateway) handler(o origin, opts HTTPOptions, serve func(Transport, Peer)) http.Handler {
	return &page{g: g, origin: o, opts: opts, serve: serve}
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := p.origin.judge(r)
	if v.refusal != "" {
		// Nothing of the request comes back, its host neither.
		secure(w.Header(), "")
		refuse(w, http.StatusForbidden, protocol.NewError(protocol.CodeForbidden, protocol.DetailOriginNotAllowed, v.refusal))
		return
	}
	secure(w.Header(), r.Host)
	switch {
	case isUpgrade(r):
		p.webSocket(w, r, v)
	case r.Method != http.MethodGet && (r.Method != http.MethodHead || enters(r)):
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, invalid("", "This address can only be read."))
	case r.URL.Path == "/healthz":
		writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
	case r.URL.Path == "/readyz":
		p.ready(w)
	case enters(r):
		p.enter(w, r)
	case r.URL.Path == socketPath:
		w.Header().Set("Upgrade", "websocket")
		refuse(w, http.StatusUpgradeRequired, invalid("", "This address takes WebSocket connections."))
	default:
		p.inside(w, r)
	}
}

// inside serves the page to a browser that a ticket has let in.
func (p *page) inside(w http.ResponseWriter, r *http.Request) {
	_, known, err := p.g.knownBrowser(r.Context(), p.cookie(r))
	switch {
	case err != nil:
		p.g.log.Error("a browser was not looked up", slog.Any("err", err))
		sentence(w, http.StatusServiceUnavailable, "Countersign cannot look up this browser right now. Load the page again; the log says more.")
	case !known:
		p.locked(w)
	default:
		p.file(w, r)
	}
}

const (
	enterPath  = "/enter"
	socketPath = "/ws"
)

// enters reports a request that brings a ticket: at its own address, or at the
// page's, where somebody joins address and ticket by hand.
func enters(r *http.Request) bool {
	return r.URL.Path == enterPath || r.URL.Path == "/" && strings.HasPrefix(r.URL.RawQuery, "ticket=")
}

// secure sets the headers of every answer. The page runs its own scripts only,
// talks to its own host only, and stands in no frame.
func secure(h http.Header, host string) {
	connect := "connect-src 'self'"
	if host != "" {
		// Some engines do not count a WebSocket as 'self'.
		connect += " ws://" + host
	}
	h.Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "style-src-attr 'unsafe-inline'",
		"img-src 'self' data: blob:", "font-src 'self'", "manifest-src 'self'", connect,
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
	}, "; "))
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), usb=()")
	h.Set("Cache-Control", "no-store")
}

// webSocket opens a connection at /ws, and at / where clients of protocol v4
// knock. Our page with its cookie is the owner; anyone else must prove themselves
// in the handshake.
func (p *page) webSocket(w http.ResponseWriter, r *http.Request, v verdict) {
	if r.URL.Path != socketPath && r.URL.Path != "/" {
		refuse(w, http.StatusNotFound, invalid("", "There is nothing at this address."))
		return
	}
	peer := Peer{Kind: PeerWeb, Name: "web", Remote: remoteHost(r)}
	if v.samePage {
		peer.Name = peerPage
	}
	if v.samePage {
		id, known, err := p.g.knownBrowser(r.Context(), p.cookie(r))
		switch {
		case err != nil:
			p.g.log.Error("a browser was not looked up", slog.Any("err", err))
			refuse(w, http.StatusServiceUnavailable, internal())
			return
		case known:
			peer.Kind, peer.Name, peer.Browser = PeerBrowser, "browser", id
		}
	}
	t, err := upgrade(w, r, beforeAuth)
	if err != nil {
		p.g.log.Debug("a WebSocket did not open", slog.Any("err", err))
		return
	}
	p.serve(t, peer)
}

// enter turns a ticket into a cookie. The ticket leaves the address at once, and
// no log of ours holds a query.
func (p *page) enter(w http.ResponseWriter, r *http.Request) {
	if purpose := r.Header.Get("Sec-Purpose"); strings.HasPrefix(purpose, "prefetch") {
		// A browser that looks ahead must not use the ticket up.
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	key := "ticket|" + remoteHost(r)
	if p.g.failures.wait(key) > 0 {
		sentence(w, http.StatusTooManyRequests, "Too many wrong tickets from here. Wait a few minutes, then try again.")
		return
	}
	// Anything beside the ticket is somebody else's idea of this address.
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || p.g.opts.Browsers == nil || len(query) != 1 || len(query["ticket"]) != 1 || !p.g.tickets.Redeem(query.Get("ticket"), ForBrowser) {
		p.g.failures.failed(key)
		sentence(w, http.StatusForbidden, "This link was used already or has ended. Make a new one: "+
			"with \"countersign ticket\", or in the window under Settings.")
		return
	}
	cookie, err := p.g.letIn(r.Context(), r.UserAgent())
	if err != nil {
		p.g.log.Error("a browser was not let in", slog.Any("err", err))
		sentence(w, http.StatusServiceUnavailable, "Countersign cannot keep this browser right now, and the link is used up. Make a new one; the log says more.")
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: p.cookieName(), Value: cookie, Path: "/", MaxAge: int(cookieTime.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	w.Header().Set("Location", "/")
	w.WriteHeader(http.StatusSeeOther)
}

// cookieName carries the port, for browsers keep one jar for all ports of a host
// and two programs must not take each other's cookie away.
func (p *page) cookieName() string {
	host := p.origin.hosts[0]
	return "countersign_" + host[strings.LastIndexByte(host, ':')+1:]
}

// cookie is the session of a request, "" when there is none or more than one.
func (p *page) cookie(r *http.Request) string {
	found := r.CookiesNamed(p.cookieName())
	if len(found) != 1 {
		return ""
	}
	return found[0].Value
}

func (p *page) ready(w http.ResponseWriter) {
	if p.opts.Ready != nil {
		if err := p.opts.Ready(); err != nil {
			p.g.log.Debug("not ready", slog.Any("err", err))
			writeJSON(w, http.StatusServiceUnavailable, map[string]bool{"ready": false})
			return
		}
	}
	writeJSON(w, http.StatusOK, map[string]bool{"ready": true})
}

func (p *page) locked(w http.ResponseWriter) {
	sentence(w, http.StatusUnauthorized, "This is Countersign. To use it in this browser, open a link of your own: "+
		"\"countersign ticket\" prints one, and the window makes one under Settings.")
}

// file serves one file of the built page.
func (p *page) file(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	if p.opts.Frontend == nil || !fs.ValidPath(name) || strings.HasPrefix(path.Base(name), ".") {
		refuse(w, http.StatusNotFound, invalid("", "There is nothing at this address."))
		return
	}
	info, err := fs.Stat(p.opts.Frontend, name)
	if err != nil || !info.Mode().IsRegular() {
		if name == "index.html" {
			sentence(w, http.StatusServiceUnavailable, "The page was not built into this program. Build it with \"make build\", then start again.")
			return
		}
		refuse(w, http.StatusNotFound, invalid("", "There is nothing at this address."))
		return
	}
	file, err := p.opts.Frontend.Open(name)
	if err != nil {
		refuse(w, http.StatusNotFound, invalid("", "There is nothing at this address."))
		return
	}
	defer func() { _ = file.Close() }()
	w.Header().Set("Content-Type", contentType(name))
	if strings.HasPrefix(name, "assets/") {
		// Their names change with their content.
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	if r.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(w, file); err != nil {
		p.g.log.Debug("a file did not arrive", slog.Any("err", err))
	}
}

// contentType goes by our own table: the system's may say anything, and on
// Windows programs change it.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".json", ".map":
		return "application/json"
	case ".webmanifest":
		return "application/manifest+json"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".ico":
		return "image/x-icon"
	case ".woff2":
		return "font/woff2"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// sentence answers a person in a browser.
func sentence(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Countersign</title><p>"+
		html.EscapeString(text)+"</p></html>\n")
}

func refuse(w http.ResponseWriter, status int, e *protocol.Error) {
	writeJSON(w, status, map[string]*protocol.Error{"error": e})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The status is out; an error here means that nobody listens.
	_ = json.NewEncoder(w).Encode(body)
}
