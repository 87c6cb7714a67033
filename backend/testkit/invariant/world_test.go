package invariant_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"countersign/backend/client"
	"countersign/backend/gateway"
	"countersign/backend/host"
	"countersign/backend/protocol"
	"countersign/backend/secret"
	"countersign/backend/testkit/invariant"
)

// keyring is a keychain in memory.
type keyring struct {
	mu   sync.Mutex
	kept map[string]string
}

func (k *keyring) Get(service, user string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.kept[service+"/"+user]
	if !ok {
		return "", secret.ErrNotFound
	}
	return v, nil
}

func (k *keyring) Set(service, user, value string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept[service+"/"+user] = value
	return nil
}

func (k *keyring) Delete(service, user string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.kept, service+"/"+user)
	return nil
}

// world is what a healthy host did and left: a message answered, a file written
// after a yes and read again, one not written after a no, and one that waits.
type world struct {
	t       *testing.T
	conn    *client.Conn
	account invariant.Account
	place   invariant.Place
}

const (
	written = protocol.RunID("written")
	waits   = protocol.RunID("waits")
	refused = protocol.RunID("refused")
	heard   = protocol.RunID("heard")
)

func newWorld(t *testing.T) *world {
	t.Helper()
	home := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), host.Options{
		Home: home, Version: "test", Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Keyring: &keyring{kept: map[string]string{}}, Environ: []string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	ticket, _ := h.Gateway().Tickets().New(gateway.ForDevice)
	w := &world{t: t, place: invariant.Place{Home: home, Workspace: filepath.Join(home, "workspace")}}
	w.conn, err = client.Socket(t.Context(), filepath.Join(home, host.SocketName), client.Options{
		Key: key, Bootstrap: ticket, Caps: []string{protocol.CapChanges},
		Scopes: []protocol.Scope{protocol.ScopeRead, protocol.ScopeWrite, protocol.ScopeApprovals},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.say("agent:main:main", heard, "say hello", protocol.RunDone)
	w.say("agent:main:main", written, "write trace.txt: `line one`", protocol.RunParked)
	w.decide(written, protocol.AllowOnce)
	w.say("agent:main:main", "reads", "read trace.txt", protocol.RunDone)
	w.say("agent:main:other", refused, "write never.txt: `line two`", protocol.RunParked)
	w.decide(refused, protocol.Deny)
	w.say("agent:main:other", waits, "write later.txt: `line three`", protocol.RunParked)
	w.account.Commands = []invariant.Command{
		{Run: written, Line: "line one", File: "trace.txt"}, {Run: refused, Line: "line two", File: "never.txt"}, {Run: waits, Line: "line three", File: "later.txt"},
	}
	if err := w.conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) say(session protocol.SessionKey, key protocol.RunID, text string, until protocol.RunState) {
	w.t.Helper()
	var ack protocol.ChatSendResult
	w.call(protocol.MethodChatSend, protocol.ChatSendParams{SessionKey: string(session), Message: text, IdempotencyKey: string(key)}, &ack)
	w.account.Messages = append(w.account.Messages, invariant.Message{Key: key, Session: session, Text: text, Acked: true})
	w.reach(key, until)
}

func (w *world) decide(run protocol.RunID, d protocol.Decision) {
	w.t.Helper()
	var list []protocol.Approval
	w.call(protocol.MethodApprovalList, protocol.ApprovalListParams{}, &list)
	for _, a := range list {
		if a.Request.RunID == run {
			w.call(protocol.MethodApprovalResolve, protocol.ApprovalResolveParams{ID: a.ID, Decision: d}, &protocol.ApprovalResolveResult{})
			w.account.Decided = append(w.account.Decided, invariant.Decided{Approval: a.ID, Decision: d})
		}
	}
	w.reach(run, protocol.RunDone)
}

func (w *world) call(m protocol.Method, params, result any) {
	w.t.Helper()
	if err := w.conn.Call(w.t.Context(), m, params, result); err != nil {
		w.t.Fatalf("%s: %v", m, err)
	}
}

// reach waits until a run is in a state.
func (w *world) reach(key protocol.RunID, state protocol.RunState) {
	w.t.Helper()
	var r protocol.Run
	w.call(protocol.MethodRunsGet, protocol.RunsGetParams{RunID: key}, &r)
	for r.State != state {
		e, err := w.conn.Event(w.t.Context())
		if err != nil {
			w.t.Fatalf("run %s stays %s: %v", key, r.State, err)
		}
		var changed protocol.RunEvent
		if e.Event != protocol.EventRun || json.Unmarshal(e.Payload, &changed) != nil || changed.Run.RunID != key {
			continue
		}
		r = changed.Run
	}
}

// scene copies everything, so that a test may spoil it.
func (w *world) scene(t *testing.T, account invariant.Account) *invariant.Scene {
	t.Helper()
	dir := t.TempDir()
	p := invariant.Place{Home: filepath.Join(dir, "data"), Workspace: filepath.Join(dir, "data", "workspace")}
	if err := os.CopyFS(p.Home, os.DirFS(w.place.Home)); err != nil {
		t.Fatal(err)
	}
	// CopyFS leaves out the modes.
	err := filepath.WalkDir(w.place.Home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(filepath.Join(p.Home, strings.TrimPrefix(path, w.place.Home)), info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := invariant.Capture(t.Context(), account, p, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.Settled = true
	return s
}
