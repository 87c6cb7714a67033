package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"countersign/backend/gateway"
	"countersign/backend/gateway/gatewaytest"
	"countersign/backend/protocol"
)

// fromOurs are the headers of a page that this port served.
func (p *port) fromOurs(cookie string) http.Header {
	return http.Header{"Origin": {"http://" + p.host}, "Cookie": {cookie}}
}

// pageStatus is how the page's own address answers a cookie.
func (p *port) pageStatus(t *testing.T, cookie string) int {
	t.Helper()
	res, _ := p.ask(t, "GET", "/", p.host, http.Header{"Cookie": {cookie}})
	return res.StatusCode
}

// owner is a connection that may list and remove.
func (p *port) owner(t *testing.T) *gatewaytest.Client {
	c := gatewaytest.Dial(t, p.g, window)
	c.Connect(gatewaytest.Params())
	return c
}

func browsersOf(c *gatewaytest.Client) []protocol.Browser {
	c.T.Helper()
	res := c.Call(protocol.MethodBrowserList, protocol.Empty{})
	var list protocol.BrowserList
	if !res.OK || json.Unmarshal(res.Payload, &list) != nil {
		c.T.Fatalf("the list is %s, %+v", res.Payload, res.Error)
	}
	return list.Browsers
}

func TestABrowserComesBackAfterTheHostWasStartedAgain(t *testing.T) {
	p := openPort(t)
	cookie, addr := p.enterCookie(t), p.host
	_, line, err := p.dialWS(t, "/ws", p.fromOurs(cookie), gatewaytest.Params())
	if err != nil {
		t.Fatal(err)
	}
	p.g.Stop(context.Background())
	var closed *websocket.CloseError
	for err == nil {
		_, _, err = line.ReadMessage()
	}
	if !errors.As(err, &closed) || closed.Code != protocol.CloseRestart {
		t.Errorf("the line ended with %v", err)
	}
	p.listen(t, addr)
	if got := p.pageStatus(t, cookie); got != http.StatusOK {
		t.Errorf("after the restart the page was answered %d", got)
	}
	hello, _, err := p.dialWS(t, "/ws", p.fromOurs(cookie), gatewaytest.Params())
	if err != nil || hello.Auth.Method != "cookie" {
		t.Errorf("after the restart the line is %q, %v", hello.Auth.Method, err)
	}
}

func TestBrowsersAreListedAndLoggedOut(t *testing.T) {
	p := openPort(t)
	kept, gone := p.enterCookie(t), p.enterCookie(t)
	_, stays, err := p.dialWS(t, "/ws", p.fromOurs(kept), gatewaytest.Params())
	if err != nil {
		t.Fatal(err)
	}
	owner := p.owner(t)
	connected := func() (id, other protocol.BrowserID) {
		list := browsersOf(owner)
		if len(list) != 2 {
			t.Fatalf("the list is %+v", list)
		}
		for _, b := range list {
			if b.This || b.CreatedAtMs != p.clock.now().UnixMilli() || b.ExpiresAtMs-b.LastUsedMs != gateway.BrowserTime.Milliseconds() {
				t.Errorf("a browser is listed as %+v", b)
			}
			if b.Connected {
				id = b.BrowserID
			} else {
				other = b.BrowserID
			}
		}
		return id, other
	}
	keptID, goneID := connected()
	if keptID == "" || goneID == "" {
		t.Fatalf("connected are %q and not %q", keptID, goneID)
	}
	_, line, err := p.dialWS(t, "/ws", p.fromOurs(gone), gatewaytest.Params())
	if err != nil {
		t.Fatal(err)
	}
	if res := owner.Call(protocol.MethodBrowserRemove, protocol.BrowserRemoveParams{BrowserID: goneID}); !res.OK {
		t.Fatal(res.Error.Message)
	}
	var closed *websocket.CloseError
	for err == nil {
		_, _, err = line.ReadMessage()
	}
	if !errors.As(err, &closed) || closed.Code != protocol.ClosePolicy {
		t.Errorf("the line of the removed ended with %v", err)
	}
	if got := p.pageStatus(t, gone); got != http.StatusUnauthorized {
		t.Errorf("the removed was answered %d", got)
	}
	if _, _, err := p.dialWS(t, "/ws", p.fromOurs(gone), gatewaytest.Params()); err == nil || err.Error() != "AUTH_TOKEN_MISSING" {
		t.Errorf("the removed came in: %v", err)
	}
	if got := p.pageStatus(t, kept); got != http.StatusOK {
		t.Errorf("the other was answered %d", got)
	}
	if err := stays.WriteJSON(protocol.Request{Type: protocol.FrameReq, ID: "mine", Method: protocol.MethodBrowserList, Params: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	var answer protocol.Response
	for answer.ID != "mine" {
		answer = protocol.Response{}
		if err := stays.ReadJSON(&answer); err != nil {
			t.Fatal(err)
		}
	}
	var list protocol.BrowserList
	if err := json.Unmarshal(answer.Payload, &list); err != nil || len(list.Browsers) != 1 || !list.Browsers[0].This {
		t.Errorf("the other sees %s, %v", answer.Payload, err)
	}
	if res := owner.Call(protocol.MethodBrowserRemove, protocol.BrowserRemoveParams{}); res.OK {
		t.Error("a browser without an id was removed")
	}
}

// A removal can come between the upgrade, which found the cookie, and the end of
// the handshake.
func TestABrowserThatIsRemovedDuringItsHandshakeStaysOut(t *testing.T) {
	p := openPort(t)
	p.enterCookie(t)
	owner := p.owner(t)
	peer := page
	peer.Browser = browsersOf(owner)[0].BrowserID
	early := gatewaytest.Dial(t, p.g, peer)
	if err := p.browsers.Remove(t.Context(), peer.Browser); err != nil {
		t.Fatal(err)
	}
	if res := early.Call(protocol.MethodConnect, gatewaytest.Params()); res.OK || res.Error.Details.Code != protocol.DetailTokenMissing {
		t.Errorf("the answer is %+v", res)
	}
}

func TestABrowsersTimeMovesOnWhileItIsUsed(t *testing.T) {
	p := openPort(t)
	cookie := p.enterCookie(t)
	for range 3 {
		p.clock.forward(gateway.BrowserTime - time.Minute)
		if got := p.pageStatus(t, cookie); got != http.StatusOK {
			t.Fatalf("within its time it was answered %d", got)
		}
	}
	_, line, err := p.dialWS(t, "/ws", p.fromOurs(cookie), gatewaytest.Params())
	if err != nil {
		t.Fatal(err)
	}
	// A line that stays open counts as use until it ends.
	p.clock.forward(gateway.BrowserTime - time.Minute)
	if err := line.Close(); err != nil {
		t.Fatal(err)
	}
	p.Close() // returns when the connection has ended
	p.listen(t, p.host)
	p.clock.forward(gateway.BrowserTime - time.Minute)
	if got := p.pageStatus(t, cookie); got != http.StatusOK {
		t.Errorf("after a long line it was answered %d", got)
	}
	p.clock.forward(gateway.BrowserTime)
	if got := p.pageStatus(t, cookie); got != http.StatusUnauthorized {
		t.Errorf("when its time was over it was answered %d", got)
	}
	if list := browsersOf(p.owner(t)); len(list) != 0 {
		t.Errorf("listed are still %+v", list)
	}
}

func TestWhoCannotBeLookedUpIsNotLetIn(t *testing.T) {
	p := openPort(t)
	cookie := p.enterCookie(t)
	p.browsers.Fail = errors.New("disk")
	if got := p.pageStatus(t, cookie); got != http.StatusServiceUnavailable {
		t.Errorf("the page was answered %d", got)
	}
	if _, _, err := p.dialWS(t, "/ws", p.fromOurs(cookie), gatewaytest.Params()); err == nil || err.Error() != "status 503" {
		t.Errorf("the line: %v", err)
	}
	secret, _ := p.g.Tickets().New(gateway.ForBrowser)
	res, body := p.ask(t, "GET", "/enter?ticket="+secret, p.host, nil)
	if res.StatusCode != http.StatusServiceUnavailable || len(res.Cookies()) > 0 || strings.Contains(body, "disk") {
		t.Errorf("the ticket was answered %d %v %s", res.StatusCode, res.Cookies(), body)
	}
	p.browsers.Fail = nil
	if got := p.pageStatus(t, cookie); got != http.StatusOK {
		t.Errorf("once it works again the page was answered %d", got)
	}
}

func TestBrowsersAreNamedForTheOwner(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                           "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36 Edg/138.0":        "Edge on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15":            "Safari on macOS",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36":                  "Chrome on Android",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile Safari/604.1": "Safari on iPhone",
		"":              "a browser",
		"<b>curl</b>/8": "a browser",
	} {
		p := openPort(t)
		secret, _ := p.g.Tickets().New(gateway.ForBrowser)
		p.ask(t, "GET", "/enter?ticket="+secret, p.host, http.Header{"User-Agent": {agent}})
		if list := browsersOf(p.owner(t)); len(list) != 1 || list[0].Name != want {
			t.Errorf("%q is listed as %+v, want %s", agent, list, want)
		}
	}
}
