package gateway

import (
	"slices"

	"countersign/backend/protocol"
)

// PeerKind says how a connection reached us.
type PeerKind string

// Kinds of peers. The transport decides the kind; no frame can change it.
const (
	// PeerWindow is the page in our own window, over in-process calls.
	PeerWindow PeerKind = "window"
	// PeerBrowser is a page we served, with the cookie that a ticket became.
	PeerBrowser PeerKind = "browser"
	// PeerSocket is a program of the same user over the Unix socket.
	PeerSocket PeerKind = "socket"
	// PeerWeb is a WebSocket that has proved nothing yet.
	PeerWeb PeerKind = "web"
)

// peerPage names our own page whose cookie is not known, or no longer.
const peerPage = "page"

// Peer is the other side of a transport, as the transport knows it.
type Peer struct {
	Kind PeerKind
	// Name is shown to the owner, as in "approved in the window".
	Name string
	// Remote groups failed proofs for the lockout, such as an IP address.
	Remote string
	// Browser is the one that the cookie belongs to, for a PeerBrowser.
	Browser protocol.BrowserID
}

// granted are the scopes that a kind has before it proves anything more.
func (k PeerKind) granted() scopeSet {
	switch k {
	case PeerWindow, PeerBrowser:
		return newScopes(protocol.AllScopes()...)
	case PeerSocket:
		return newScopes(protocol.ScopeRead, protocol.ScopeWrite, protocol.ScopeModels)
	}
	return scopeSet{}
}

// tokenScopes are what a token file is good for; never approvals.
func tokenScopes() scopeSet { return newScopes(protocol.ScopeRead, protocol.ScopeWrite) }

// scopeSet is a set of scopes with what they imply. It is read-only once built.
type scopeSet map[protocol.Scope]bool

// newScopes closes the scopes over what they imply: write implies read; admin
// implies read, write and models, but neither deciding nor pairing.
func newScopes(scopes ...protocol.Scope) scopeSet {
	set := scopeSet{}
	for _, s := range scopes {
		if !slices.Contains(protocol.AllScopes(), s) {
			continue
		}
		set[s] = true
		switch s {
		case protocol.ScopeAdmin:
			set[protocol.ScopeRead], set[protocol.ScopeWrite], set[protocol.ScopeModels] = true, true, true
		case protocol.ScopeWrite:
			set[protocol.ScopeRead] = true
		}
	}
	return set
}

// narrow keeps what was asked for. A client that names no scope gets reading and
// writing as far as it may have them; what decides or administers must be asked
// for by name.
func (s scopeSet) narrow(asked []protocol.Scope) scopeSet {
	want := tokenScopes()
	if len(asked) > 0 {
		want = newScopes(asked...)
	}
	out := scopeSet{}
	for scope := range want {
		if s[scope] {
			out[scope] = true
		}
	}
	return out
}

func (s scopeSet) with(other scopeSet) scopeSet {
	out := scopeSet{}
	for scope := range s {
		out[scope] = true
	}
	for scope := range other {
		out[scope] = true
	}
	return out
}

// list returns the scopes in the order of protocol.
func (s scopeSet) list() []protocol.Scope {
	out := []protocol.Scope{}
	for _, scope := range protocol.AllScopes() {
		if s[scope] {
			out = append(out, scope)
		}
	}
	return out
}

// Caller is who makes a call, as far as it was proved.
type Caller struct {
	Conn   protocol.ConnID
	Client protocol.ClientInfo
	Peer   Peer
	// Scopes are what this connection may do.
	Scopes []protocol.Scope
	// Device is the paired device that signed the handshake, or nil.
	Device *protocol.Device
}

// Resolver names the caller for a decision's record.
func (c Caller) Resolver() protocol.Resolver {
	if c.Device != nil {
		return protocol.Resolver{Kind: "device", ID: string(c.Device.DeviceID), Name: c.Device.Name}
	}
	name := c.Peer.Name
	if name == "" {
		name = string(c.Peer.Kind)
	}
	return protocol.Resolver{Kind: string(c.Peer.Kind), ID: string(c.Conn), Name: name}
}
