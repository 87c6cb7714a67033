package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"countersign/backend/gateway"
	"countersign/backend/gateway/gatewaytest"
	"countersign/backend/host"
	"countersign/backend/protocol"
	"countersign/backend/secret"
	"countersign/backend/store"
)

// ring is a keychain in memory.
type ring struct {
	mu     sync.Mutex
	values map[string]string
}

func (r *ring) Get(service, user string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.values[service+"/"+user]
	if !ok {
		return "", secret.ErrNotFound
	}
	return v, nil
}

func (r *ring) Set(service, user, value string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values[service+"/"+user] = value
	return nil
}

func (r *ring) Delete(service, user string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.values, service+"/"+user)
	return nil
}

// rig is a whole host on a fresh data directory.
type rig struct {
	t    *testing.T
	h    *host.Host
	o    host.Options
	ring *ring
	log  *os.File
}

// newHome is a data directory as config.Dir makes one.
func newHome(t *testing.T) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	return home
}

func newRig(t *testing.T, change ...func(*host.Options)) *rig {
	t.Helper()
	home := newHome(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, ring: &ring{values: map[string]string{}}, log: log}
	r.o = host.Options{
		Home: home, Version: "test", Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Keyring: r.ring, Environ: []string{"PATH=" + os.Getenv("PATH")}, Frontend: fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}},
	}
	for _, c := range change {
		c(&r.o)
	}
	r.open()
	t.Cleanup(func() {
		r.close()
		_ = log.Close()
	})
	return r
}

func (r *rig) open() {
	r.t.Helper()
	h, err := host.Open(r.t.Context(), r.o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.h = h
}

func (r *rig) close() {
	if err := r.h.Close(context.Background()); err != nil {
		r.t.Error(err)
	}
}

// store writes into the data directory while no host runs on it.
func (r *rig) store(fn func(*store.Tx) error) {
	r.t.Helper()
	db, err := store.Open(r.t.Context(), store.Options{Path: filepath.Join(r.o.Home, "state.db"), Schemas: host.Schemas(), Format: host.SchemaFormat, Logger: r.o.Logger})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := errors.Join(db.Write(r.t.Context(), fn), db.Close()); err != nil {
		r.t.Fatal(err)
	}
}

// dial connects as a kind of peer, asking for everything.
func (r *rig) dial(kind gateway.PeerKind) *gatewaytest.Client {
	r.t.Helper()
	c := gatewaytest.DialBuffered(r.t, r.h.Gateway(), gateway.Peer{Kind: kind, Name: string(kind)}, 1<<16)
	c.Connect(gatewaytest.Params())
	return c
}

// dialFrom connects as the window and asks for the changes after a sequence.
func (r *rig) dialFrom(seq int64) *gatewaytest.Client {
	r.t.Helper()
	c := gatewaytest.DialBuffered(r.t, r.h.Gateway(), gateway.Peer{Kind: gateway.PeerWindow, Name: "window"}, 1<<16)
	p := gatewaytest.Params()
	p.Resume = &protocol.ResumeParams{AfterSeq: seq}
	c.Connect(p)
	return c
}

func (r *rig) window() *gatewaytest.Client { return r.dial(gateway.PeerWindow) }

// call makes a call that must succeed.
func call[R any](c *gatewaytest.Client, m protocol.Method, params any) R {
	c.T.Helper()
	res := c.Call(m, params)
	if !res.OK {
		c.T.Fatalf("%s: %s", m, res.Error.Message)
	}
	var out R
	if err := json.Unmarshal(res.Payload, &out); err != nil {
		c.T.Fatal(err)
	}
	return out
}

// refused makes a call that must not succeed and returns what it was told.
func refused(c *gatewaytest.Client, m protocol.Method, params any) *protocol.Error {
	c.T.Helper()
	res := c.Call(m, params)
	if res.OK {
		c.T.Fatalf("%s was answered with %s", m, res.Payload)
	}
	return res.Error
}

var keys = struct {
	sync.Mutex
	n int
}{}

func freshKey() string {
	keys.Lock()
	defer keys.Unlock()
	keys.n++
	return fmt.Sprintf("key-%d", keys.n)
}

// chat sends a message and waits until its run has ended or is parked.
func chat(c *gatewaytest.Client, text string) protocol.Run {
	c.T.Helper()
	ack := call[protocol.ChatSendResult](c, protocol.MethodChatSend, protocol.ChatSendParams{SessionKey: "main", Message: text, IdempotencyKey: freshKey()})
	return settled(c, ack.RunID)
}

// settled waits until a run has ended or is parked.
func settled(c *gatewaytest.Client, id protocol.RunID) protocol.Run {
	c.T.Helper()
	run := call[protocol.Run](c, protocol.MethodRunsGet, protocol.RunsGetParams{RunID: id})
	for run.State == protocol.RunQueued || run.State == protocol.RunRunning {
		e := next(c)
		var changed protocol.RunEvent
		if e.Event == protocol.EventRun && json.Unmarshal(e.Payload, &changed) == nil && changed.Run.RunID == id && changed.Run.Version > run.Version {
			run = changed.Run
		}
	}
	return run
}

func next(c *gatewaytest.Client) protocol.Event {
	c.T.Helper()
	if len(c.Events) > 0 {
		e := c.Events[0]
		c.Events = c.Events[1:]
		return e
	}
	return c.Event()
}

func allow(c *gatewaytest.Client, run protocol.Run) protocol.Run {
	c.T.Helper()
	if run.State != protocol.RunParked || len(run.ApprovalIDs) == 0 {
		c.T.Fatalf("the run is %s and waits for %v", run.State, run.ApprovalIDs)
	}
	call[protocol.ApprovalResolveResult](c, protocol.MethodApprovalResolve, protocol.ApprovalResolveParams{ID: run.ApprovalIDs[0], Decision: protocol.AllowOnce})
	return settled(c, run.RunID)
}

func lastText(c *gatewaytest.Client) string {
	c.T.Helper()
	h := call[protocol.ChatHistory](c, protocol.MethodChatHistory, protocol.ChatHistoryParams{SessionKey: "main"})
	return h.Messages[len(h.Messages)-1].Content.Text()
}

// everyFile reads all files below a folder.
func everyFile(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		out[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func mustNotHold(t *testing.T, files map[string]string, canaries ...string) {
	t.Helper()
	for path, content := range files {
		for _, canary := range canaries {
			if strings.Contains(content, canary) {
				t.Errorf("%s holds the secret %s…", path, canary[:12])
			}
		}
	}
}
