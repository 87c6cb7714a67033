package gateway

import (
	"log/slog"
	"time"

	"countersign/backend/protocol"
)

// Methods of proof, as hello-ok names them.
const (
	authWindow  = "window"
	authCookie  = "cookie"
	authSocket  = "socket"
	authToken   = "token"
	authDevice  = "device"
	authPairing = "pairing"
)

// authenticate decides what a connection may be given: what its transport stands
// for, and what it proves on top. A wrong proof is refused even where none was
// needed, for the client believes in something that is not so.
func (c *conn) authenticate(p *protocol.ConnectParams) (scopeSet, string, *protocol.Error) {
	granted := c.peer.Kind.granted()
	switch c.peer.Kind {
	case PeerWindow:
		return granted, authWindow, nil
	case PeerBrowser:
		if bad := c.stillIn(); bad != nil {
			return nil, "", bad
		}
		return granted, authCookie, nil
	}
	auth := protocol.ConnectAuth{}
	if p.Auth != nil {
		auth = *p.Auth
	}
	method := ""
	if c.peer.Kind == PeerSocket {
		method = authSocket
	} else if auth.Token != "" {
		if bad := c.prove(authToken, func() *protocol.Error { return c.checkToken(auth.Token) }); bad != nil {
			return nil, "", bad
		}
		granted, method = granted.with(tokenScopes()), authToken
	}
	if p.Device != nil {
		scopes, how, bad := c.proveDevice(p, auth.BootstrapToken, method != "")
		if bad != nil {
			return nil, "", bad
		}
		if how != "" {
			granted, method = granted.with(scopes), how
		}
	}
	if method == "" && c.peer.Name == peerPage {
		return nil, "", openAnew()
	}
	if method == "" {
		return nil, "", protocol.NewError(protocol.CodeForbidden, protocol.DetailTokenMissing,
			"This connection proves nothing. Give a token, or pair this program with \"countersign device pair\".")
	}
	return granted, method, nil
}

// prove runs one check under the lockout of its kind.
func (c *conn) prove(kind string, check func() *protocol.Error) *protocol.Error {
	key := kind + "|" + string(c.peer.Kind) + "|" + c.peer.Remote
	if wait := c.g.failures.wait(key); wait > 0 {
		bad := protocol.NewError(protocol.CodeUnavailable, protocol.DetailRateLimited,
			"Too many wrong proofs from here. Wait a few minutes, then try again.")
		bad.Retryable, bad.RetryAfterMs = true, wait.Milliseconds()
		return bad
	}
	bad := check()
	if bad != nil && bad.Code == protocol.CodeForbidden {
		c.g.failures.failed(key)
		c.log.Warn("a proof was refused", slog.String("kind", kind), slog.String("why", string(bad.Details.Code)))
	}
	return bad
}

func (c *conn) checkToken(token string) *protocol.Error {
	if c.g.opts.Token == nil {
		return unproved(protocol.DetailTokenMismatch, "No token is accepted here. Start \"countersign serve\" with --token-file, or pair this program.")
	}
	ok, err := c.g.opts.Token.Matches(token)
	if err != nil {
		c.log.Error("the token file was not read", slog.Any("err", err))
		return unproved(protocol.DetailTokenMismatch, "The token file cannot be used right now. The log says why.")
	}
	if !ok {
		return unproved(protocol.DetailTokenMismatch, "The token is not right.")
	}
	return nil
}

// proveDevice checks a device's signature and finds or pairs the device. Proved
// says that the connection has shown enough already; then a device nobody paired
// is no reason to refuse, and adds nothing.
func (c *conn) proveDevice(p *protocol.ConnectParams, ticket string, proved bool) (scopeSet, string, *protocol.Error) {
	if c.g.opts.Devices == nil {
		if proved && ticket == "" {
			return nil, "", nil
		}
		return nil, "", protocol.NewError(protocol.CodeNotPaired, protocol.DetailPairingRequired, "Nothing can be paired here.")
	}
	now := c.g.now()
	if bad := c.prove(authDevice, func() *protocol.Error { return checkProof(p, c.nonce, now) }); bad != nil {
		return nil, "", bad
	}
	if ticket != "" {
		return c.pair(p, ticket, now)
	}
	found, ok, err := c.g.opts.Devices.Find(c.ctx, p.Device.ID)
	switch {
	case err != nil:
		return nil, "", c.g.answerFor(protocol.MethodConnect, err)
	case !ok && proved:
		return nil, "", nil
	case !ok:
		bad := protocol.NewError(protocol.CodeNotPaired, protocol.DetailPairingRequired,
			"This program is not paired. Make a ticket in the window, then run \"countersign device pair --ticket …\".")
		bad.Details.Reason = "not-paired"
		return nil, "", bad
	}
	c.device = &found
	c.touch(now)
	return newScopes(found.Scopes...), authDevice, nil
}

// pair turns a ticket into a paired device. The ticket's maker is the owner, so
// the device gets the scopes it asks for, and everything when it names none.
func (c *conn) pair(p *protocol.ConnectParams, ticket string, now time.Time) (scopeSet, string, *protocol.Error) {
	bad := c.prove(authPairing, func() *protocol.Error {
		if !c.g.tickets.Redeem(ticket, ForDevice) {
			return unproved(protocol.DetailBootstrapInvalid, "This ticket was used already or has ended. Make a new one in the window.")
		}
		return nil
	})
	if bad != nil {
		return nil, "", bad
	}
	scopes := newScopes(protocol.AllScopes()...)
	if len(p.Scopes) > 0 {
		scopes = newScopes(p.Scopes...)
	}
	name := p.Client.DisplayName
	if name == "" {
		name = p.Client.ID + " on " + p.Client.Platform
	}
	device := protocol.Device{
		DeviceID: p.Device.ID, Name: name, Platform: p.Client.Platform, Scopes: scopes.list(),
		PairedAtMs: now.UnixMilli(), LastSeenMs: now.UnixMilli(),
	}
	if err := c.g.opts.Devices.Add(c.ctx, device); err != nil {
		return nil, "", c.g.answerFor(protocol.MethodConnect, err)
	}
	c.device = &device
	c.log.Info("a device was paired", slog.String("device", string(device.DeviceID)))
	return scopes, authPairing, nil
}
