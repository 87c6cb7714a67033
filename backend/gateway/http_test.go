package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gorilla/websocket"

	"countersign/backend/gateway"
	"countersign/backend/gateway/gatewaytest"
	"countersign/backend/protocol"
)

// clock is a clock that a test moves, for what real sockets keep out of synctest.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.at }

func (c *clock) forward(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.at = c.at.Add(d) }

type port struct {
	*gateway.Server
	g        *gateway.Gateway
	browsers *gatewaytest.Browsers
	clock    *clock
	host     string
}

func openPort(t *testing.T) *port {
	t.Helper()
	p := newPort()
	p.listen(t, "127.0.0.1:0")
	return p
}

// newPort is a clock and a registry before any port is open.
func newPort() *port {
	return &port{clock: &clock{at: time.Unix(1_800_000_000, 0)}, browsers: gatewaytest.NewBrowsers()}
}

// listen starts a gateway on what p keeps, as each start of a host does.
func (p *port) listen(t *testing.T, addr string) {
	t.Helper()
	opts := gatewaytest.Options(t)
	opts.Now = p.clock.now
	opts.Token = tokenFile(t, "right-token")
	opts.Devices, opts.Browsers = gatewaytest.NewDevices(), p.browsers
	p.g = gatewaytest.New(t, opts)
	gateway.Handle(p.g, protocol.MethodHealth, func(context.Context, gateway.Caller, protocol.HealthParams) (protocol.Health, error) {
		return protocol.Health{OK: true}, nil
	})
	var err error
	p.Server, err = p.g.Listen(addr, gateway.HTTPOptions{Frontend: fstest.MapFS{
		"index.html":    {Data: []byte("<title>the page</title>")},
		"assets/app.js": {Data: []byte("script")},
		".hidden":       {Data: []byte("hidden")},
		"folder/x.txt":  {Data: []byte("x")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.host = p.Addr()
}

// ask sends a request with exactly these headers over a connection of its own.
func (p *port) ask(t *testing.T, method, path, host string, header http.Header) (*http.Response, string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nConnection: %s\r\n", method, path, "close")
	if host != "" {
		fmt.Fprintf(&b, "Host: %s\r\n", host)
	}
	for name, values := range header {
		for _, v := range values {
			fmt.Fprintf(&b, "%s: %s\r\n", name, v)
		}
	}
	return p.raw(t, b.String()+"\r\n")
}

func (p *port) raw(t *testing.T, request string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(newReader(conn), nil)
	if err != nil {
		t.Fatalf("%v after %q", err, request)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusSwitchingProtocols {
		return res, ""
	}
	body, _ := io.ReadAll(res.Body)
	return res, string(body)
}

func socketHeader(h http.Header) http.Header {
	out := h.Clone()
	out.Set("Connection", "Upgrade")
	out.Set("Upgrade", "websocket")
	out.Set("Sec-WebSocket-Version", "13")
	out.Set("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
	return out
}

// enterCookie lets a browser in and returns its cookie.
func (p *port) enterCookie(t *testing.T) string {
	t.Helper()
	secret, _ := p.g.Tickets().New(gateway.ForBrowser)
	res, _ := p.ask(t, "GET", "/enter?ticket="+secret, p.host, nil)
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/" {
		t.Fatalf("the ticket was answered %d to %q", res.StatusCode, res.Header.Get("Location"))
	}
	c := res.Cookies()
	if len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode || c[0].Path != "/" || c[0].Domain != "" {
		t.Fatalf("the cookies are %v", c)
	}
	return c[0].Name + "=" + c[0].Value
}

func hostileOrigins(host string) []string {
	portOnly := host[strings.LastIndexByte(host, ':'):]
	origins := []string{
		"null", "file://", "file:///", "", " ", "https://evil.example", "http://evil.example", "http://evil.example" + portOnly,
		"https://" + host, "ws://" + host, "wss://" + host, "HTTP://" + host, "http://" + host + "/", "http://" + host + "/x",
		"http://" + host + ".evil.example", "http://127.0.0.1.evil.example" + portOnly, "http://evil.example/?" + host,
		"http://evil@" + host, "http://" + host + "@evil.example", "http://127.0.0.1", "http://127.0.0.1:1", "http://127.0.0.1:80",
		"http://127.0.0.1" + portOnly + "0", "http://127.0.0.2" + portOnly, "http://127.1" + portOnly, "http://2130706433" + portOnly,
		"http://0x7f000001" + portOnly, "http://0177.0.0.1" + portOnly, "http://0.0.0.0" + portOnly, "http://[::]" + portOnly,
		"http://[::ffff:127.0.0.1]" + portOnly, "http://LOCALHOST" + portOnly, "http://Localhost" + portOnly, "http://localhost." + portOnly,
		"http://127.0.0.1." + portOnly, "http://localhost.evil.example" + portOnly, "http://evil-localhost" + portOnly,
		"http://sub.localhost" + portOnly, "http://wails.localhost" + portOnly, "wails://wails", "wails://wails.localhost:34115",
		"http://wails.localhost", "http://localhost:34115", "chrome-extension://abcdefghijklmnop", "moz-extension://x", "safari-web-extension://x",
		"app://local", "capacitor://localhost", "ionic://localhost", "tauri://localhost", "data:", "blob:http://" + host, "about:blank",
		"javascript:0", "http://", "//" + host, host, "127.0.0.1", "localhost", "http:/" + host, "http:\\\\" + host,
		"http://" + host + " http://evil.example", "http://evil.example http://" + host, "http://" + host + ",http://evil.example",
		"http://" + host + "#", "http://" + host + "?", " http://" + host + "\t\t,", "http://xn--localhost-", "http://lοcalhost" + portOnly,
		"http://" + strings.ToUpper("localhost") + portOnly, "http://%31%32%37.0.0.1" + portOnly, "*",
	}
	return origins
}

func hostileHosts(host string) []string {
	portOnly := host[strings.LastIndexByte(host, ':'):]
	return []string{
		"evil.example", "evil.example" + portOnly, "127.0.0.1", "localhost", "127.0.0.1:80", "127.0.0.1:1", "127.0.0.1" + portOnly + "0",
		"127.0.0.1.evil.example" + portOnly, "localhost.evil.example" + portOnly, "sub.localhost" + portOnly, "LOCALHOST" + portOnly,
		"Localhost" + portOnly, "localhost." + portOnly, "127.0.0.1." + portOnly, "127.1" + portOnly, "2130706433" + portOnly,
		"0x7f000001" + portOnly, "127.0.0.2" + portOnly, "0.0.0.0" + portOnly, "[::]" + portOnly, "[::ffff:127.0.0.1]" + portOnly,
		"[::1]", "::1" + portOnly, "wails.localhost" + portOnly, "rebind.network" + portOnly, "evil@" + host,
	}
}

// routes are what a stranger might reach, each with and without the cookie.
var routes = []struct {
	name, path string
	socket     bool
}{
	{"page", "/", false}, {"file", "/assets/app.js", false}, {"healthz", "/healthz", false}, {"readyz", "/readyz", false},
	{"enter", "/enter?ticket=", false}, {"enter", "/?ticket=", false}, {"ws", "/ws", true}, {"ws at /", "/", true},
}

func TestNoStrangerGetsIn(t *testing.T) {
	p := openPort(t)
	cookie := p.enterCookie(t)
	tried := 0
	try := func(host string, header http.Header, what string) {
		ours := header.Get("Origin") == "http://"+p.host && len(header.Values("Origin")) == 1 && host == p.host
		for _, route := range routes {
			if route.socket && ours {
				continue // a WebSocket is judged by its origin alone
			}
			path := route.path
			if route.name == "enter" {
				secret, _ := p.g.Tickets().New(gateway.ForBrowser)
				path += secret
			}
			h := header.Clone()
			h.Set("Cookie", cookie)
			h.Set("Authorization", "Bearer right-token")
			if route.socket {
				h = socketHeader(h)
			}
			tried++
			res, body := p.ask(t, "GET", path, host, h)
			if res.StatusCode < 400 {
				t.Errorf("%s: %s answered %d", what, route.name, res.StatusCode)
			}
			if len(res.Cookies()) > 0 || strings.Contains(body, "evil") || strings.Contains(body, "page") && strings.Contains(body, "title") {
				t.Errorf("%s: %s says %q", what, route.name, body)
			}
			for name, values := range res.Header {
				if strings.HasPrefix(name, "Access-Control") || strings.Contains(strings.Join(values, " "), "evil") {
					t.Errorf("%s: %s answered with %s: %v", what, route.name, name, values)
				}
			}
		}
	}
	for _, o := range hostileOrigins(p.host) {
		try(p.host, http.Header{"Origin": {o}}, "origin "+o)
	}
	for _, h := range hostileHosts(p.host) {
		try(h, http.Header{}, "host "+h)
		try(h, http.Header{"Origin": {"http://" + h}}, "host and origin "+h)
	}
	for _, site := range []string{"cross-site", "same-site", "", "SAME-ORIGIN", "none, same-origin"} {
		try(p.host, http.Header{"Sec-Fetch-Site": {site}}, "site "+site)
		try(p.host, http.Header{"Sec-Fetch-Site": {site}, "Origin": {"http://" + p.host}}, "site with our origin "+site)
	}
	try(p.host, http.Header{"Origin": {"http://" + p.host, "http://evil.example"}}, "two origins")
	try(p.host, http.Header{"Origin": {"http://" + p.host, "http://" + p.host}}, "our origin twice")
	// Another name of ours is another page: its cookies are not this one's.
	other := "localhost" + p.host[strings.LastIndexByte(p.host, ':'):]
	try(p.host, http.Header{"Origin": {"http://" + other}}, "origin localhost at 127.0.0.1")
	try(other, http.Header{"Origin": {"http://" + p.host}}, "origin 127.0.0.1 at localhost")
	if tried < 800 {
		t.Errorf("only %d combinations were tried", tried)
	}
	t.Logf("%d combinations", tried)
}

// Slow-loris: a request that never ends costs a socket for a few seconds.
func TestARequestThatDawdlesIsCutOff(t *testing.T) {
	t.Parallel()
	p := openPort(t)
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+p.host+"\r\nX-Slow: "); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("the end is %v", err)
	}
	large := "GET / HTTP/1.1\r\nHost: " + p.host + "\r\nX-Large: " + strings.Repeat("x", 64<<10) + "\r\n\r\n"
	if res, _ := p.raw(t, large); res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a large header was answered %d", res.StatusCode)
	}
}

func TestARequestForAnotherHostInItsLineIsRefused(t *testing.T) {
	p := openPort(t)
	for _, request := range []string{
		"GET http://evil.example/ HTTP/1.1\r\nHost: " + p.host + "\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: \r\n\r\n",
		"GET / HTTP/1.1\r\nHost: " + p.host + "\r\nHost: evil.example\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: " + p.host + "\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: GET\r\n\r\n",
	} {
		if res, body := p.raw(t, request); res.StatusCode < 400 || res.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%q was answered %d %s", request, res.StatusCode, body)
		}
	}
}

func TestOnlyReadingIsPossible(t *testing.T) {
	p := openPort(t)
	h := http.Header{"Cookie": {p.enterCookie(t)}}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "X"} {
		for _, path := range []string{"/", "/ws", "/enter", "/healthz", "/assets/app.js"} {
			if method == "CONNECT" {
				path = p.host
			}
			if res, _ := p.ask(t, method, path, p.host, h); res.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s %s was answered %d", method, path, res.StatusCode)
			}
		}
	}
	if res, _ := p.ask(t, "HEAD", "/?ticket=x", p.host, h); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("HEAD with a ticket: %d", res.StatusCode)
	}
	if res, _ := p.ask(t, "HEAD", "/enter?ticket=x", p.host, h); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("HEAD of a ticket's link was answered %d", res.StatusCode)
	}
}

func TestThePageNeedsTheCookieAndRunsStrictly(t *testing.T) {
	p := openPort(t)
	cookie := p.enterCookie(t)
	name, _, _ := strings.Cut(cookie, "=")
	rows := []struct {
		path, cookie string
		status       int
		kind         string
	}{
		{"/", cookie, 200, "text/html; charset=utf-8"},
		{"/assets/app.js", cookie, 200, "text/javascript; charset=utf-8"},
		{"/", "", 401, "text/html; charset=utf-8"},
		{"/assets/app.js", "", 401, "text/html; charset=utf-8"},
		{"/", name + "=wrong", 401, "text/html; charset=utf-8"},
		{"/", name + "=", 401, "text/html; charset=utf-8"},
		{"/", cookie + "; " + cookie, 401, "text/html; charset=utf-8"},
		{"/nothing", cookie, 404, "application/json"},
		{"/assets", cookie, 404, "application/json"},
		{"/assets/", cookie, 404, "application/json"},
		{"/.hidden", cookie, 404, "application/json"},
		{"/../etc/passwd", cookie, 404, "application/json"},
		{"/assets/../.hidden", cookie, 404, "application/json"},
		{"/assets/%2e%2e/.hidden", cookie, 404, "application/json"},
		{"//evil.example/", cookie, 404, "application/json"},
		{"/ws", cookie, 426, "application/json"},
		{"/healthz", "", 200, "application/json"},
		{"/readyz", "", 200, "application/json"},
	}
	for _, row := range rows {
		h := http.Header{}
		if row.cookie != "" {
			h.Set("Cookie", row.cookie)
		}
		res, _ := p.ask(t, "GET", row.path, p.host, h)
		if res.StatusCode != row.status || res.Header.Get("Content-Type") != row.kind {
			t.Errorf("%s with %q: %d %s, want %d %s", row.path, row.cookie, res.StatusCode, res.Header.Get("Content-Type"), row.status, row.kind)
		}
		csp := res.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "connect-src 'self' ws://" + p.host} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy %q lacks %q", row.path, csp, want)
			}
		}
		if res.Header.Get("Referrer-Policy") != "no-referrer" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers are %v", row.path, res.Header)
		}
	}
	p.clock.forward(30 * 24 * time.Hour)
	if res, _ := p.ask(t, "GET", "/", p.host, http.Header{"Cookie": {cookie}}); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a month later the cookie was answered %d", res.StatusCode)
	}
}

func TestATicketLetsABrowserInOnceWithinAMinute(t *testing.T) {
	p := openPort(t)
	use := func(query string, h http.Header) int {
		t.Helper()
		res, body := p.ask(t, "GET", "/enter"+query, p.host, h)
		if res.StatusCode != http.StatusSeeOther && len(res.Cookies()) > 0 {
			t.Errorf("%s: refused, yet with a cookie", query)
		}
		if secret := strings.TrimPrefix(query, "?ticket="); len(secret) > 20 && strings.Contains(body, secret) {
			t.Errorf("the answer repeats the ticket")
		}
		return res.StatusCode
	}
	secret, ends := p.g.Tickets().New(gateway.ForBrowser)
	if left := ends.Sub(p.clock.now()); left != time.Minute {
		t.Errorf("the ticket lasts %v", left)
	}
	if got := use("?ticket="+secret, http.Header{"Sec-Purpose": {"prefetch"}}); got != http.StatusServiceUnavailable {
		t.Errorf("looking ahead was answered %d", got)
	}
	if got := use("?ticket="+secret+"&next=http://evil.example", nil); got != http.StatusForbidden {
		t.Errorf("a link with more in it was answered %d", got)
	}
	if got := use("?ticket="+secret, http.Header{"Sec-Fetch-Site": {"none"}}); got != http.StatusSeeOther {
		t.Errorf("the ticket was answered %d", got)
	}
	if got := use("?ticket="+secret, nil); got != http.StatusForbidden {
		t.Errorf("the used ticket was answered %d", got)
	}
	secret, _ = p.g.Tickets().New(gateway.ForBrowser)
	p.clock.forward(time.Minute)
	if got := use("?ticket="+secret, nil); got != http.StatusForbidden {
		t.Errorf("the old ticket was answered %d", got)
	}
	secret, _ = p.g.Tickets().New(gateway.ForDevice)
	if got := use("?ticket="+secret, nil); got != http.StatusForbidden {
		t.Errorf("a device's ticket was answered %d", got)
	}
	for range 10 {
		use("?ticket=wrong", nil)
	}
	secret, _ = p.g.Tickets().New(gateway.ForBrowser)
	if got := use("?ticket="+secret, nil); got != http.StatusTooManyRequests {
		t.Errorf("after ten wrong tickets a right one was answered %d", got)
	}
}

func TestTwoBrowsersCannotUseOneTicket(t *testing.T) {
	p := openPort(t)
	secret, _ := p.g.Tickets().New(gateway.ForBrowser)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var got []int
	for range 8 {
		wg.Go(func() {
			res, _ := p.ask(t, "GET", "/enter?ticket="+secret, p.host, nil)
			mu.Lock()
			defer mu.Unlock()
			got = append(got, res.StatusCode)
		})
	}
	wg.Wait()
	in := 0
	for _, status := range got {
		if status == http.StatusSeeOther {
			in++
		}
	}
	if in != 1 {
		t.Errorf("%d of 8 got in: %v", in, got)
	}
}

// dialWS opens a WebSocket and does the handshake; the error is the refusal.
func (p *port) dialWS(t *testing.T, path string, h http.Header, params protocol.ConnectParams) (protocol.HelloOK, *websocket.Conn, error) {
	t.Helper()
	conn, res, err := websocket.DefaultDialer.Dial("ws://"+p.host+path, h)
	if err != nil {
		if res == nil {
			t.Fatal(err)
		}
		return protocol.HelloOK{}, nil, fmt.Errorf("status %d", res.StatusCode)
	}
	t.Cleanup(func() { _ = conn.Close() })
	var challenge protocol.Event
	if err := conn.ReadJSON(&challenge); err != nil || challenge.Event != protocol.EventChallenge {
		t.Fatalf("first came %+v, %v", challenge, err)
	}
	body, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.WriteJSON(protocol.Request{Type: protocol.FrameReq, ID: "1", Method: protocol.MethodConnect, Params: body}); err != nil {
		t.Fatal(err)
	}
	var answer protocol.Response
	if err := conn.ReadJSON(&answer); err != nil {
		t.Fatal(err)
	}
	if !answer.OK {
		_, _, err := conn.ReadMessage()
		var closed *websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != protocol.ClosePolicy {
			t.Errorf("after the refusal came %v", err)
		}
		return protocol.HelloOK{}, nil, errors.New(string(answer.Error.Details.Code))
	}
	var hello protocol.HelloOK
	if err := json.Unmarshal(answer.Payload, &hello); err != nil {
		t.Fatal(err)
	}
	return hello, conn, nil
}

func TestWhoComesThroughAWebSocket(t *testing.T) {
	p := openPort(t)
	cookie := p.enterCookie(t)
	ours := "http://" + p.host
	rows := []struct {
		name           string
		header         http.Header
		token          string
		method, refuse string
	}{
		{"our page with the cookie", http.Header{"Origin": {ours}, "Cookie": {cookie}, "Sec-Fetch-Site": {"same-origin"}}, "", "cookie", ""},
		{"our page without the cookie", http.Header{"Origin": {ours}}, "", "", "AUTH_TOKEN_MISSING"},
		{"the cookie without an origin", http.Header{"Cookie": {cookie}}, "", "", "AUTH_TOKEN_MISSING"},
		{"the cookie in a browser without an origin", http.Header{"Cookie": {cookie}, "Sec-Fetch-Site": {"same-origin"}}, "", "", "status 403"},
		{"a program with the token", nil, "right-token", "token", ""},
		{"a program with a wrong token", nil, "wrong", "", "AUTH_TOKEN_MISMATCH"},
		{"a program with nothing", nil, "", "", "AUTH_TOKEN_MISSING"},
		{"another page with the token", http.Header{"Origin": {"http://evil.example"}}, "right-token", "", "status 403"},
	}
	for _, row := range rows {
		for _, path := range []string{"/ws", "/"} {
			params := gatewaytest.Params()
			if row.token != "" {
				params.Auth = &protocol.ConnectAuth{Token: row.token}
			}
			hello, _, err := p.dialWS(t, path, row.header, params)
			if row.refuse != "" {
				if err == nil || err.Error() != row.refuse {
					t.Errorf("%s at %s: %v, want %s", row.name, path, err, row.refuse)
				}
				continue
			}
			if err != nil || hello.Auth.Method != row.method {
				t.Errorf("%s at %s: %q, %v", row.name, path, hello.Auth.Method, err)
			}
			if decides := slices.Contains(hello.Auth.Scopes, protocol.ScopeApprovals); decides != (row.method == "cookie") {
				t.Errorf("%s at %s: may approve is %v", row.name, path, decides)
			}
		}
	}
	if _, _, err := p.dialWS(t, "/other", nil, gatewaytest.Params()); err == nil || err.Error() != "status 404" {
		t.Errorf("a WebSocket elsewhere: %v", err)
	}
}

func TestFramesThatMayNotComeCloseTheWebSocket(t *testing.T) {
	p := openPort(t)
	params := gatewaytest.Params()
	params.Auth = &protocol.ConnectAuth{Token: "right-token"}
	closedWith := func(conn *websocket.Conn) int {
		for {
			_, _, err := conn.ReadMessage()
			var closed *websocket.CloseError
			if errors.As(err, &closed) {
				return closed.Code
			}
			if err != nil {
				t.Errorf("the end is %v", err)
				return 0
			}
		}
	}
	_, conn, err := p.dialWS(t, "/ws", nil, params)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.WriteMessage(websocket.BinaryMessage, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if code := closedWith(conn); code != 1003 {
		t.Errorf("a binary frame closed with %d", code)
	}
	conn, _, err = websocket.DefaultDialer.Dial("ws://"+p.host+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.WriteMessage(websocket.TextMessage, make([]byte, protocol.MaxFrameBeforeAuth+1)); err != nil {
		t.Fatal(err)
	}
	if code := closedWith(conn); code != 1009 {
		t.Errorf("a large first frame closed with %d", code)
	}
	_, conn, err = p.dialWS(t, "/ws", nil, params)
	if err != nil {
		t.Fatal(err)
	}
	// Large, but not too large, once it is known who sends.
	frame := fmt.Sprintf(`{"type":"req","id":"2","method":"health","params":{"%s":1}}`, strings.Repeat("k", 2*protocol.MaxFrameBeforeAuth))
	if err := conn.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
		t.Fatal(err)
	}
	var answer protocol.Response
	for answer.Type != protocol.FrameRes && err == nil {
		answer = protocol.Response{}
		err = conn.ReadJSON(&answer) // presence may come before
	}
	if err != nil || answer.Error == nil || len(answer.Error.Message) > 200 {
		t.Errorf("the answer is %+v, %v", answer, err)
	}
}

func TestTheEventsOfARunWaitUntilTheWebSocketHasReadItsAnswer(t *testing.T) {
	p := openPort(t)
	gateway.Handle(p.g, protocol.MethodChatSend, func(_ context.Context, _ gateway.Caller, params protocol.ChatSendParams) (protocol.ChatSendResult, error) {
		run := protocol.RunID(params.IdempotencyKey)
		p.g.Broadcast(protocol.EventChat, chat(run, protocol.ChatStateFinal, ""))
		return protocol.ChatSendResult{RunID: run, Status: protocol.ChatStarted}, nil
	})
	params := gatewaytest.Params()
	params.Auth = &protocol.ConnectAuth{Token: "right-token"}
	_, conn, err := p.dialWS(t, "/ws", nil, params)
	if err != nil {
		t.Fatal(err)
	}
	// A program that is busy: it has the ping, and gives the pong when we say so.
	var ping string
	conn.SetPingHandler(func(mark string) error { ping = mark; return nil })
	next := func() (id string, event protocol.EventName) {
		for {
			var frame struct {
				ID    string             `json:"id"`
				Event protocol.EventName `json:"event"`
			}
			if err := conn.ReadJSON(&frame); err != nil {
				t.Fatal(err)
			}
			if frame.Event != protocol.EventPresence {
				return frame.ID, frame.Event
			}
		}
	}
	for _, frame := range []string{
		`{"type":"req","id":"send","method":"chat.send","params":{"sessionKey":"main","message":"hi","idempotencyKey":"r1"}}`,
		`{"type":"req","id":"look","method":"health","params":{}}`,
	} {
		if err := conn.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
			t.Fatal(err)
		}
		if id, event := next(); !strings.Contains(frame, `"`+id+`"`) {
			t.Fatalf("instead of the answer to %s came %s%s", frame, id, event)
		}
	}
	if ping == "" {
		t.Fatal("no ping came behind the answer")
	}
	if err := conn.WriteControl(websocket.PongMessage, []byte(ping), time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, event := next(); event != protocol.EventChat {
		t.Errorf("after the pong came %s", event)
	}
}

func TestSwitchingThePortOffEndsItsConnections(t *testing.T) {
	p := openPort(t)
	params := gatewaytest.Params()
	params.Auth = &protocol.ConnectAuth{Token: "right-token"}
	_, conn, err := p.dialWS(t, "/ws", nil, params)
	if err != nil {
		t.Fatal(err)
	}
	if p.g.URL() != p.URL() {
		t.Errorf("the gateway's address is %q", p.g.URL())
	}
	p.Close()
	p.Close()
	var closed *websocket.CloseError
	for err == nil {
		_, _, err = conn.ReadMessage()
	}
	if !errors.As(err, &closed) || closed.Code != protocol.CloseRestart {
		t.Errorf("the connection ended with %v", err)
	}
	if _, err := net.DialTimeout("tcp", p.host, time.Second); err == nil {
		t.Error("the port is open still")
	}
	if p.g.URL() != "" {
		t.Error("the gateway still names an address")
	}
}

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	g := gatewaytest.New(t, gatewaytest.Options(t))
	for _, addr := range []string{
		"0.0.0.0:0", ":0", "[::]:0", "192.168.1.5:0", "example.com:0", "127.0.0.2:0", "", "127.0.0.1", "localhost", "10.0.0.1:0",
		"[::ffff:0.0.0.0]:0", "[::ffff:127.0.0.1]:0", "LOCALHOST.evil.example:0", "/tmp/x",
	} {
		if s, err := g.Listen(addr, gateway.HTTPOptions{}); !errors.Is(err, gateway.ErrNotLoopback) {
			t.Errorf("%q: %v, %v", addr, s, err)
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "localhost:0", "[::1]:0"} {
		s, err := g.Listen(addr, gateway.HTTPOptions{})
		if err != nil {
			if strings.HasPrefix(addr, "[") {
				t.Logf("no IPv6 here: %v", err)
				continue
			}
			t.Fatal(err)
		}
		res, err := http.Get(s.URL() + "healthz")
		if err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%s: %v, %v", addr, res, err)
			continue
		}
		_ = res.Body.Close()
		s.Close()
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestReadyzSaysWhenTheHostIsReady(t *testing.T) {
	g := gatewaytest.New(t, gatewaytest.Options(t))
	ready := errors.New("starting")
	s, err := g.Listen("127.0.0.1:0", gateway.HTTPOptions{Ready: func() error { return ready }})
	if err != nil {
		t.Fatal(err)
	}
	p := &port{Server: s, g: g, host: s.Addr()}
	if res, body := p.ask(t, "GET", "/readyz", p.host, nil); res.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, "starting") {
		t.Errorf("not ready was answered %d %s", res.StatusCode, body)
	}
	ready = nil
	if res, _ := p.ask(t, "GET", "/readyz", p.host, nil); res.StatusCode != http.StatusOK {
		t.Errorf("ready was answered %d", res.StatusCode)
	}
}

func TestATicketForABrowserNeedsAnOpenPort(t *testing.T) {
	p := openPort(t)
	ask := func() protocol.Response {
		c := gatewaytest.Dial(t, p.g, window)
		c.Connect(gatewaytest.Params())
		return c.Call(protocol.MethodTicketCreate, protocol.TicketParams{Kind: "browser"})
	}
	var ticket protocol.Ticket
	if err := json.Unmarshal(ask().Payload, &ticket); err != nil {
		t.Fatal(err)
	}
	path, ok := strings.CutPrefix(ticket.URL, "http://"+p.host)
	if !ok {
		t.Fatalf("the link is %q", ticket.URL)
	}
	if res, _ := p.ask(t, "GET", path, p.host, nil); res.StatusCode != http.StatusSeeOther {
		t.Errorf("the link was answered %d", res.StatusCode)
	}
	p.Close()
	if res := ask(); res.OK || res.Error.Code != protocol.CodeUnavailable {
		t.Errorf("without a port the answer is %+v", res)
	}
}
