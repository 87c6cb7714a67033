package host_test

import (
	"net/http"
	"testing"

	"countersign/backend/gateway"
	"countersign/backend/protocol"
)

func TestABrowserStaysInOverARestartAndItsCookieIsNotOnTheDisk(t *testing.T) {
	r := newRig(t)
	listen := func(addr string) {
		t.Helper()
		if err := r.h.Listen(addr); err != nil {
			t.Fatal(err)
		}
	}
	listen("127.0.0.1:0")
	base, addr := r.h.Server().URL(), r.h.Server().Addr()
	ask := func(url string, cookie *http.Cookie) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if cookie != nil {
			req.AddCookie(cookie)
		}
		req.Close = true
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res
	}
	ticket, _ := r.h.Gateway().Tickets().New(gateway.ForBrowser)
	cookies := ask(gateway.EnterURL(base, ticket), nil).Cookies()
	if len(cookies) != 1 || cookies[0].MaxAge <= 0 {
		t.Fatalf("the cookies are %v", cookies)
	}
	r.close()
	mustNotHold(t, everyFile(t, r.o.Home), cookies[0].Value)
	r.open()
	listen(addr)
	if res := ask(base, cookies[0]); res.StatusCode != http.StatusOK {
		t.Errorf("after a restart the page was answered %d", res.StatusCode)
	}
	c := r.window()
	list := call[protocol.BrowserList](c, protocol.MethodBrowserList, protocol.Empty{})
	if len(list.Browsers) != 1 {
		t.Fatalf("listed are %+v", list)
	}
	for range 2 { // what is not there is removed all the same
		call[protocol.OKResult](c, protocol.MethodBrowserRemove, protocol.BrowserRemoveParams{BrowserID: list.Browsers[0].BrowserID})
	}
	if res := ask(base, cookies[0]); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("after the removal the page was answered %d", res.StatusCode)
	}
}
