package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"strings"
	"time"

	"countersign/backend/protocol"
)

const (
	// BrowserTime is how long a browser may stay away before it needs a new ticket.
	BrowserTime = 30 * 24 * time.Hour
	// renewEvery spares a write for each file of the page.
	renewEvery = 5 * time.Minute
	// cookieTime is the longest that browsers keep a cookie. When a browser must
	// show a new ticket is decided here, not there.
	cookieTime = 400 * 24 * time.Hour
)

// Browsers keeps the browsers that tickets let in; the registry implements it.
// It is given hashes of cookies and never a cookie. All methods are safe for
// concurrent use.
type Browsers interface {
	// Find returns the browser whose cookie has this hash, as lower-case hex; ok is
	// false when there is none.
	Find(ctx context.Context, cookieHash string) (b protocol.Browser, ok bool, err error)
	// Add stores a browser with its cookie's hash. It may end those that are over,
	// and of too many the one longest away.
	Add(ctx context.Context, b protocol.Browser, cookieHash string) error
	// Renew notes when a browser was last seen and until when it may come back.
	// A browser that is gone stays gone.
	Renew(ctx context.Context, id protocol.BrowserID, at, until time.Time) error
	// Remove ends a browser's way in; removing what is not there is fine.
	Remove(ctx context.Context, id protocol.BrowserID) error
	// List returns every browser, also those whose time is over.
	List(ctx context.Context) ([]protocol.Browser, error)
}

// hashOf is what is kept of a cookie. A cookie is 256 random bits, so its hash
// needs no salt and comparing it tells nothing.
func hashOf(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return hex.EncodeToString(sum[:])
}

// letIn makes a browser out of a redeemed ticket and returns its cookie's value.
func (g *Gateway) letIn(ctx context.Context, userAgent string) (string, error) {
	secret, now := newSecret(), g.now()
	b := protocol.Browser{
		BrowserID: protocol.BrowserID(g.opts.NewID()), Name: browserName(userAgent),
		CreatedAtMs: now.UnixMilli(), LastUsedMs: now.UnixMilli(), ExpiresAtMs: now.Add(BrowserTime).UnixMilli(),
	}
	if err := g.opts.Browsers.Add(ctx, b, hashOf(secret)); err != nil {
		return "", err
	}
	return secret, nil
}

// knownBrowser finds the browser of a cookie and notes that it was here.
func (g *Gateway) knownBrowser(ctx context.Context, cookie string) (protocol.BrowserID, bool, error) {
	if cookie == "" || g.opts.Browsers == nil {
		return "", false, nil
	}
	b, ok, err := g.opts.Browsers.Find(ctx, hashOf(cookie))
	if err != nil || !ok || g.isOver(b) {
		return "", false, err
	}
	if g.now().Sub(time.UnixMilli(b.LastUsedMs)) >= renewEvery {
		g.renew(ctx, b.BrowserID)
	}
	return b.BrowserID, true, nil
}

func (g *Gateway) isOver(b protocol.Browser) bool { return b.ExpiresAtMs <= g.now().UnixMilli() }

// renew notes a visit; a failure costs a date, not the visit.
func (g *Gateway) renew(ctx context.Context, id protocol.BrowserID) {
	now := g.now()
	if err := g.opts.Browsers.Renew(ctx, id, now, now.Add(BrowserTime)); err != nil {
		g.log.Warn("the browser's last visit was not noted", slog.Any("err", err))
	}
}

// stillIn asks again for the browser of a connection that is in the gateway's
// list already: a removal that came between the upgrade and now is seen here,
// and a later one ends the connection.
func (c *conn) stillIn() *protocol.Error {
	if c.peer.Browser == "" {
		return nil
	}
	all, err := c.g.opts.Browsers.List(c.ctx)
	if err != nil {
		return c.g.answerFor(protocol.MethodConnect, err)
	}
	if slices.ContainsFunc(all, func(b protocol.Browser) bool { return b.BrowserID == c.peer.Browser && !c.g.isOver(b) }) {
		return nil
	}
	return openAnew()
}

func openAnew() *protocol.Error {
	return protocol.NewError(protocol.CodeForbidden, protocol.DetailTokenMissing,
		"This browser is not let in, or no longer. Open a new link: \"countersign ticket\" prints one, and the window makes one under Settings.")
}

func (g *Gateway) listBrowsers(ctx context.Context, c Caller, _ protocol.Empty) (protocol.BrowserList, error) {
	all, err := g.opts.Browsers.List(ctx)
	if err != nil {
		return protocol.BrowserList{}, err
	}
	here := map[protocol.BrowserID]bool{}
	for _, conn := range g.snapshotConns() {
		if conn.isReady() {
			here[conn.peer.Browser] = true
		}
	}
	list := protocol.BrowserList{}
	for _, b := range all {
		b.Connected, b.This = here[b.BrowserID], b.BrowserID == c.Peer.Browser
		if !g.isOver(b) {
			list.Browsers = append(list.Browsers, b)
		}
	}
	return list, nil
}

func (g *Gateway) removeBrowser(ctx context.Context, _ Caller, p protocol.BrowserRemoveParams) (protocol.OKResult, error) {
	if p.BrowserID == "" {
		return protocol.OKResult{}, invalid("", "\"browserId\" is empty.")
	}
	if err := g.opts.Browsers.Remove(ctx, p.BrowserID); err != nil {
		return protocol.OKResult{}, err
	}
	for _, c := range g.snapshotConns() {
		if c.peer.Browser == p.BrowserID {
			c.end(protocol.ClosePolicy, "browser removed", false)
		}
	}
	return protocol.OKResult{OK: true}, nil
}

// browserName says in two words what a User-Agent claims, for the owner to tell
// browsers apart; nothing is decided by it.
func browserName(userAgent string) string {
	// The order counts: each claims to be those after it.
	program := firstOf(userAgent, "a browser", [][2]string{
		{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
	})
	system := firstOf(userAgent, "", [][2]string{
		{"Android", " on Android"}, {"iPhone", " on iPhone"}, {"iPad", " on iPad"}, {"Windows", " on Windows"},
		{"Mac OS X", " on macOS"}, {"Linux", " on Linux"},
	})
	return program + system
}

func firstOf(text, otherwise string, marks [][2]string) string {
	for _, mark := range marks {
		if strings.Contains(text, mark[0]) {
			return mark[1]
		}
	}
	return otherwise
}
