package gateway_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/backend/gateway"
	"countersign/backend/gateway/gatewaytest"
	"countersign/backend/protocol"
)

var (
	web    = gateway.Peer{Kind: gateway.PeerWeb, Name: "web", Remote: "127.0.0.1"}
	socket = gateway.Peer{Kind: gateway.PeerSocket, Name: "command line", Remote: "socket"}
	window = gateway.Peer{Kind: gateway.PeerWindow, Name: "window"}
	page   = gateway.Peer{Kind: gateway.PeerBrowser, Name: "browser"}
)

func key(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(slices.Repeat([]byte{seed}, ed25519.SeedSize))
}

func idOf(k ed25519.PrivateKey) protocol.DeviceID {
	return gateway.DeviceID(k.Public().(ed25519.PublicKey))
}

func paired(k ed25519.PrivateKey, scopes ...protocol.Scope) protocol.Device {
	return protocol.Device{DeviceID: idOf(k), Name: "laptop", Scopes: scopes}
}

// scopesWanted says by hand what each way in is good for, apart from the code.
var scopesWanted = map[string][]protocol.Scope{
	"window":               {"operator.read", "operator.write", "operator.admin", "operator.approvals", "operator.questions", "operator.pairing", "operator.models"},
	"browser":              {"operator.read", "operator.write", "operator.admin", "operator.approvals", "operator.questions", "operator.pairing", "operator.models"},
	"socket":               {"operator.read", "operator.write", "operator.models"},
	"token":                {"operator.read", "operator.write"},
	"device-approvals":     {"operator.approvals"},
	"device-admin":         {"operator.read", "operator.write", "operator.admin", "operator.models"},
	"device-read":          {"operator.read"},
	"socket+device-decide": {"operator.read", "operator.write", "operator.models", "operator.approvals", "operator.questions"},
	"token+unknown-device": {"operator.read", "operator.write"},
}

func TestEveryMethodForEveryPeerNeedsItsScope(t *testing.T) {
	for name, scopes := range scopesWanted {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := matrixGateway(t)
				for _, call := range protocol.Calls() {
					if call.Method == protocol.MethodConnect {
						continue
					}
					c := enter(t, g, name)
					res := c.Call(call.Method, map[string]any{})
					allowed := res.OK || res.Error.Code != protocol.CodeForbidden
					if want := slices.Contains(scopes, call.Scope); allowed != want {
						t.Errorf("%s: %s answered %+v, allowed should be %v", name, call.Method, res.Error, want)
					}
					c.Close()
				}
			})
		})
	}
}

func matrixGateway(t *testing.T) *gateway.Gateway {
	opts := gatewaytest.Options(t)
	opts.Devices = gatewaytest.NewDevices(
		paired(key(1), protocol.ScopeApprovals), paired(key(2), protocol.ScopeAdmin),
		paired(key(3), protocol.ScopeRead), paired(key(4), protocol.ScopeApprovals, protocol.ScopeQuestions),
	)
	opts.Token, opts.Browsers = tokenFile(t, "right-token"), gatewaytest.NewBrowsers()
	g := gatewaytest.New(t, opts)
	own := []protocol.Method{
		protocol.MethodConnect, protocol.MethodPresence, protocol.MethodTicketCreate, protocol.MethodDeviceList, protocol.MethodDeviceRemove,
		protocol.MethodBrowserList, protocol.MethodBrowserRemove,
	}
	for _, call := range protocol.Calls() {
		if !slices.Contains(own, call.Method) {
			g.Handle(call.Method, func(context.Context, gateway.Caller, json.RawMessage) (any, error) { return protocol.Empty{}, nil })
		}
	}
	return g
}

func enter(t *testing.T, g *gateway.Gateway, how string) *gatewaytest.Client {
	t.Helper()
	peers := map[string]gateway.Peer{"window": window, "browser": page, "socket": socket, "socket+device-decide": socket}
	peer, ok := peers[how]
	if !ok {
		peer = web
	}
	c := gatewaytest.Dial(t, g, peer)
	p := gatewaytest.Params()
	if strings.HasPrefix(how, "token") {
		p.Auth = &protocol.ConnectAuth{Token: "right-token"}
	}
	devices := map[string]byte{
		"device-approvals": 1, "device-admin": 2, "device-read": 3, "socket+device-decide": 4, "token+unknown-device": 9,
	}
	if seed, ok := devices[how]; ok {
		gateway.SignConnect(&p, key(seed), c.Nonce, time.Now())
	}
	hello := c.Connect(p)
	slices.Sort(hello.Auth.Scopes)
	want := slices.Sorted(slices.Values(scopesWanted[how]))
	if !slices.Equal(hello.Auth.Scopes, want) {
		t.Errorf("%s was given %v, should be %v", how, hello.Auth.Scopes, want)
	}
	return c
}

func TestScopesNotAskedForAreNotGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := matrixGateway(t)
		for _, row := range []struct{ ask, want []protocol.Scope }{
			{nil, []protocol.Scope{protocol.ScopeRead, protocol.ScopeWrite}},
			{[]protocol.Scope{protocol.ScopeRead}, []protocol.Scope{protocol.ScopeRead}},
			{[]protocol.Scope{protocol.ScopeWrite}, []protocol.Scope{protocol.ScopeRead, protocol.ScopeWrite}},
			{[]protocol.Scope{protocol.ScopeApprovals}, []protocol.Scope{protocol.ScopeApprovals}},
			{[]protocol.Scope{"operator.everything"}, nil},
		} {
			c := gatewaytest.Dial(t, g, window)
			p := gatewaytest.Params()
			p.Scopes = row.ask
			if got := c.Connect(p).Auth.Scopes; !slices.Equal(got, row.want) {
				t.Errorf("asked for %v, got %v, want %v", row.ask, got, row.want)
			}
		}
	})
}

func TestDeviceProofs(t *testing.T) {
	k := key(1)
	sign := func(p *protocol.ConnectParams, text string) {
		p.Device.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(k, []byte(text)))
	}
	rows := []struct {
		name   string
		spoil  func(p *protocol.ConnectParams)
		detail protocol.Detail
	}{
		{"right", func(*protocol.ConnectParams) {}, ""},
		{"padded base64", func(p *protocol.ConnectParams) { p.Device.PublicKey += "="; p.Device.Signature += "==" }, ""},
		{"no nonce", func(p *protocol.ConnectParams) { p.Device.Nonce = "" }, protocol.DetailNonceRequired},
		{"another nonce", func(p *protocol.ConnectParams) { p.Device.Nonce = "id-99" }, protocol.DetailNonceMismatch},
		{"another id", func(p *protocol.ConnectParams) { p.Device.ID = idOf(key(2)) }, protocol.DetailDeviceIDMismatch},
		{"short key", func(p *protocol.ConnectParams) { p.Device.PublicKey = "AAAA" }, protocol.DetailPublicKeyInvalid},
		{"no base64", func(p *protocol.ConnectParams) { p.Device.PublicKey = "*" }, protocol.DetailPublicKeyInvalid},
		{"short signature", func(p *protocol.ConnectParams) { p.Device.Signature = "AAAA" }, protocol.DetailSignatureInvalid},
		{"scopes added after signing", func(p *protocol.ConnectParams) { p.Scopes = append(p.Scopes, "x") }, protocol.DetailSignatureInvalid},
		{"another client", func(p *protocol.ConnectParams) { p.Client.ID = "gateway-client" }, protocol.DetailSignatureInvalid},
		{"another platform", func(p *protocol.ConnectParams) { p.Client.Platform = "darwin" }, protocol.DetailSignatureInvalid},
		{"platform in capitals", func(p *protocol.ConnectParams) { p.Client.Platform = "LINUX" }, ""},
		{"time changed", func(p *protocol.ConnectParams) { p.Device.SignedAtMs++ }, protocol.DetailSignatureInvalid},
		{"token added", func(p *protocol.ConnectParams) { p.Auth = &protocol.ConnectAuth{DeviceToken: "x"} }, protocol.DetailSignatureInvalid},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := deviceClient(t, k)
				gateway.SignConnect(&p, k, c.Nonce, time.Now())
				row.spoil(&p)
				checkDetail(t, c.Call(protocol.MethodConnect, p), row.detail)
			})
		})
	}
	t.Run("version 2", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, p := deviceClient(t, k)
			gateway.SignConnect(&p, k, c.Nonce, time.UnixMilli(time.Now().UnixMilli()))
			sign(&p, "v2|"+string(p.Device.ID)+"|cli|cli|operator|operator.approvals|946684800000||"+c.Nonce)
			checkDetail(t, c.Call(protocol.MethodConnect, p), "")
		})
	})
	t.Run("version 3 as documented", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, p := deviceClient(t, k)
			gateway.SignConnect(&p, k, c.Nonce, time.UnixMilli(time.Now().UnixMilli()))
			sign(&p, "v3|"+string(p.Device.ID)+"|cli|cli|operator|operator.approvals|946684800000||"+c.Nonce+"|linux|linux")
			checkDetail(t, c.Call(protocol.MethodConnect, p), "")
		})
	})
	for name, skew := range map[string]time.Duration{"120 s late": -120 * time.Second, "120 s early": 120 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := deviceClient(t, k)
				gateway.SignConnect(&p, k, c.Nonce, time.Now().Add(skew))
				checkDetail(t, c.Call(protocol.MethodConnect, p), "")
			})
		})
		t.Run(name+" and more", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := deviceClient(t, k)
				gateway.SignConnect(&p, k, c.Nonce, time.Now().Add(skew+skew/120000))
				checkDetail(t, c.Call(protocol.MethodConnect, p), protocol.DetailSignatureExpired)
			})
		})
	}
}

func deviceClient(t *testing.T, k ed25519.PrivateKey) (*gatewaytest.Client, protocol.ConnectParams) {
	opts := gatewaytest.Options(t)
	opts.Devices = gatewaytest.NewDevices(paired(k, protocol.ScopeApprovals))
	p := gatewaytest.Params()
	p.Scopes = []protocol.Scope{protocol.ScopeApprovals}
	return gatewaytest.Dial(t, gatewaytest.New(t, opts), web), p
}

func checkDetail(t *testing.T, res protocol.Response, want protocol.Detail) {
	t.Helper()
	switch {
	case want == "" && !res.OK:
		t.Errorf("refused: %+v", res.Error.Details)
	case want != "" && (res.OK || res.Error.Details == nil || res.Error.Details.Code != want):
		t.Errorf("the answer is not %s: %+v", want, res.Error)
	}
}

func TestAReplayedProofIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := gatewaytest.Options(t)
		opts.Devices = gatewaytest.NewDevices(paired(key(1), protocol.ScopeApprovals))
		g := gatewaytest.New(t, opts)
		first := gatewaytest.Dial(t, g, web)
		p := gatewaytest.Params()
		gateway.SignConnect(&p, key(1), first.Nonce, time.Now())
		first.Connect(p)
		checkDetail(t, gatewaytest.Dial(t, g, web).Call(protocol.MethodConnect, p), protocol.DetailNonceMismatch)
	})
}

func TestATicketPairsADeviceOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		devices := gatewaytest.NewDevices()
		opts := gatewaytest.Options(t)
		opts.Devices = devices
		g := gatewaytest.New(t, opts)
		owner := gatewaytest.Dial(t, g, window)
		owner.Connect(gatewaytest.Params())
		var ticket protocol.Ticket
		res := owner.Call(protocol.MethodTicketCreate, protocol.TicketParams{Kind: "device"})
		if err := json.Unmarshal(res.Payload, &ticket); err != nil {
			t.Fatal(err)
		}
		pair := func(k ed25519.PrivateKey) protocol.Response {
			c := gatewaytest.Dial(t, g, socket)
			p := gatewaytest.Params()
			p.Scopes = []protocol.Scope{protocol.ScopeRead, protocol.ScopeApprovals}
			p.Auth = &protocol.ConnectAuth{BootstrapToken: ticket.Ticket}
			gateway.SignConnect(&p, k, c.Nonce, time.Now())
			return c.Call(protocol.MethodConnect, p)
		}
		checkDetail(t, pair(key(1)), "")
		checkDetail(t, pair(key(2)), protocol.DetailBootstrapInvalid)

		back := gatewaytest.Dial(t, g, web)
		p := gatewaytest.Params()
		gateway.SignConnect(&p, key(1), back.Nonce, time.Now())
		hello := back.Connect(p)
		if want := []protocol.Scope{protocol.ScopeRead, protocol.ScopeApprovals}; !slices.Equal(hello.Auth.Scopes, want) {
			t.Errorf("the device came back with %v, was paired for %v", hello.Auth.Scopes, want)
		}
		if !g.Connected(idOf(key(1))) || g.Connected(idOf(key(2))) {
			t.Error("Connected does not tell who is here")
		}
		if !owner.Call(protocol.MethodDeviceRemove, protocol.DeviceRemoveParams{DeviceID: idOf(key(1))}).OK {
			t.Fatal("the device was not removed")
		}
		synctest.Wait()
		if code, _, ended := back.Pipe.Ended(); !ended || code != protocol.ClosePolicy {
			t.Error("a removed device stays connected")
		}
		again := gatewaytest.Dial(t, g, web)
		p = gatewaytest.Params()
		gateway.SignConnect(&p, key(1), again.Nonce, time.Now())
		checkDetail(t, again.Call(protocol.MethodConnect, p), protocol.DetailPairingRequired)
	})
}

func TestADeviceCannotLetOthersInUnlessItMayDoEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := gatewaytest.Options(t)
		opts.Devices = gatewaytest.NewDevices(paired(key(1), protocol.ScopePairing))
		g := gatewaytest.New(t, opts)
		c := gatewaytest.Dial(t, g, web)
		p := gatewaytest.Params()
		gateway.SignConnect(&p, key(1), c.Nonce, time.Now())
		c.Connect(p)
		if res := c.Call(protocol.MethodTicketCreate, protocol.TicketParams{Kind: "device"}); res.OK || res.Error.Code != protocol.CodeForbidden {
			t.Error("a device that may only pair made a ticket that may do everything")
		}
	})
}

func TestTicketsEnd(t *testing.T) {
	rows := []struct {
		made, used gateway.Purpose
		after      time.Duration
		want       bool
	}{
		{gateway.ForBrowser, gateway.ForBrowser, 0, true},
		{gateway.ForBrowser, gateway.ForBrowser, 59 * time.Second, true},
		{gateway.ForBrowser, gateway.ForBrowser, 60 * time.Second, false},
		{gateway.ForBrowser, gateway.ForDevice, 0, false},
		{gateway.ForDevice, gateway.ForDevice, 599 * time.Second, true},
		{gateway.ForDevice, gateway.ForDevice, 600 * time.Second, false},
		{gateway.ForDevice, gateway.ForBrowser, 0, false},
		{gateway.ForEither, gateway.ForBrowser, 59 * time.Second, true},
		{gateway.ForEither, gateway.ForBrowser, 61 * time.Second, false},
		{gateway.ForEither, gateway.ForDevice, 61 * time.Second, true},
		{gateway.ForEither, gateway.ForDevice, 601 * time.Second, false},
	}
	for _, row := range rows {
		synctest.Test(t, func(t *testing.T) {
			tickets := gateway.NewTickets(time.Now)
			secret, _ := tickets.New(row.made)
			<-time.After(row.after)
			if got := tickets.Redeem(secret, row.used); got != row.want {
				t.Errorf("%+v: redeemed is %v", row, got)
			}
			if tickets.Redeem(secret, row.used) {
				t.Errorf("%+v: redeemed twice", row)
			}
		})
	}
	tickets := gateway.NewTickets(time.Now)
	first, _ := tickets.New(gateway.ForDevice)
	for range 32 {
		tickets.New(gateway.ForDevice)
	}
	if tickets.Redeem(first, gateway.ForDevice) || tickets.Redeem("", gateway.ForDevice) {
		t.Error("the oldest of too many tickets, or none, was taken")
	}
}

func TestTenWrongProofsLockTheirKindForFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := gatewaytest.Options(t)
		opts.Token = tokenFile(t, "right-token")
		opts.Devices = gatewaytest.NewDevices(paired(key(1), protocol.ScopeRead))
		g := gatewaytest.New(t, opts)
		try := func(token string, remote string) protocol.Response {
			peer := web
			peer.Remote = remote
			p := gatewaytest.Params()
			p.Auth = &protocol.ConnectAuth{Token: token}
			return gatewaytest.Dial(t, g, peer).Call(protocol.MethodConnect, p)
		}
		for range 9 {
			checkDetail(t, try("wrong", "127.0.0.1"), protocol.DetailTokenMismatch)
		}
		checkDetail(t, try("right-token", "127.0.0.1"), "")
		checkDetail(t, try("wrong", "127.0.0.1"), protocol.DetailTokenMismatch)
		checkDetail(t, try("right-token", "127.0.0.1"), protocol.DetailRateLimited)
		checkDetail(t, try("right-token", "::1"), "")

		c := gatewaytest.Dial(t, g, web)
		p := gatewaytest.Params()
		gateway.SignConnect(&p, key(1), c.Nonce, time.Now())
		c.Connect(p)

		<-time.After(5*time.Minute - time.Second)
		checkDetail(t, try("right-token", "127.0.0.1"), protocol.DetailRateLimited)
		<-time.After(time.Second)
		checkDetail(t, try("right-token", "127.0.0.1"), "")
		for range 9 {
			checkDetail(t, try("wrong", "127.0.0.1"), protocol.DetailTokenMismatch)
		}
		<-time.After(time.Minute)
		checkDetail(t, try("wrong", "127.0.0.1"), protocol.DetailTokenMismatch)
		checkDetail(t, try("right-token", "127.0.0.1"), "")
	})
}

func TestAStoreThatFailsLetsNobodyIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		devices := gatewaytest.NewDevices(paired(key(1), protocol.ScopeRead))
		devices.Fail = errors.New("disk full")
		opts := gatewaytest.Options(t)
		opts.Devices = devices
		c := gatewaytest.Dial(t, gatewaytest.New(t, opts), web)
		p := gatewaytest.Params()
		gateway.SignConnect(&p, key(1), c.Nonce, time.Now())
		if res := c.Call(protocol.MethodConnect, p); res.OK || res.Error.Code != protocol.CodeInternal {
			t.Errorf("the answer is %+v", res)
		}
	})
}

func TestTokenFilesMustBePrivate(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good", " secret \n", 0o600)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	bad := map[string]string{
		"missing": filepath.Join(dir, "nothing"), "empty": write("empty", "\n", 0o600), "folder": dir, "link": link,
		"large": write("large", strings.Repeat("x", 5000), 0o600),
	}
	if runtime.GOOS != "windows" {
		bad["group"], bad["others"] = write("group", "x", 0o640), write("others", "x", 0o604)
	}
	for name, path := range bad {
		if _, err := gateway.OpenTokenFile(path); err == nil {
			t.Errorf("%s: the token file was taken", name)
		}
	}
	f, err := gateway.OpenTokenFile(good)
	if err != nil {
		t.Fatal(err)
	}
	matches := func(token string) bool {
		ok, err := f.Matches(token)
		return ok && err == nil
	}
	if !matches("secret") || matches("secre") || matches("") {
		t.Error("the token is not compared rightly")
	}
	write("good", "changed", 0o600)
	if matches("secret") || !matches("changed") {
		t.Error("a changed file does not count")
	}
	if err := os.Chmod(good, 0o644); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && matches("changed") {
		t.Error("a file that others may read by now still counts")
	}
}
