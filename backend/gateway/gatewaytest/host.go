package gatewaytest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/backend/gateway"
	"countersign/backend/protocol"
)

// Options are those of a small healthy host: no devices, no change log, ids that
// count up. The log goes to the test.
func Options(t testing.TB) gateway.Options {
	var mu sync.Mutex
	n := 0
	return gateway.Options{
		Logger: slog.New(slog.NewTextHandler(testLog{t}, nil)), Version: "0.0.0-test", BootID: "boot",
		Health: func() protocol.Health {
			return protocol.Health{OK: true, DefaultAgentID: protocol.MainAgent, Channels: map[string]any{}}
		},
		Defaults: func() protocol.SessionDefaults {
			return protocol.SessionDefaults{
				DefaultAgentID: protocol.MainAgent, MainKey: "main", MainSessionKey: "agent:main:main", Scope: "per-sender",
			}
		},
		NewID: func() string {
			mu.Lock()
			defer mu.Unlock()
			n++
			return fmt.Sprintf("id-%d", n)
		},
	}
}

// New starts a gateway that stops with the test.
func New(t testing.TB, opts gateway.Options) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	g.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		g.Stop(ctx)
	})
	return g
}

// testLog drops what is logged after the test; Log of a finished test panics.
type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	if l.t.Context().Err() != nil {
		return io.Discard.Write(p)
	}
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// Devices keeps devices in memory. Fail, when set, is returned by every method.
type Devices struct {
	mu   sync.Mutex
	all  map[protocol.DeviceID]protocol.Device
	Fail error
}

// NewDevices makes a registry with some devices.
func NewDevices(devices ...protocol.Device) *Devices {
	d := &Devices{all: map[protocol.DeviceID]protocol.Device{}}
	for _, dev := range devices {
		d.all[dev.DeviceID] = dev
	}
	return d
}

// Find implements gateway.Devices.
func (d *Devices) Find(_ context.Context, id protocol.DeviceID) (protocol.Device, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dev, ok := d.all[id]
	return dev, ok, d.Fail
}

// Add implements gateway.Devices.
func (d *Devices) Add(_ context.Context, dev protocol.Device) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Fail == nil {
		d.all[dev.DeviceID] = dev
	}
	return d.Fail
}

// Touch implements gateway.Devices.
func (d *Devices) Touch(_ context.Context, id protocol.DeviceID, at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if dev, ok := d.all[id]; ok && d.Fail == nil {
		dev.LastSeenMs = at.UnixMilli()
		d.all[id] = dev
	}
	return d.Fail
}

// Remove implements gateway.Devices.
func (d *Devices) Remove(_ context.Context, id protocol.DeviceID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Fail == nil {
		delete(d.all, id)
	}
	return d.Fail
}

// List implements gateway.Devices.
func (d *Devices) List(context.Context) ([]protocol.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.all)), d.Fail
}

// Browsers keeps browsers in memory. Fail, when set, is returned by every method.
type Browsers struct {
	mu   sync.Mutex
	all  map[string]protocol.Browser // by the cookie's hash
	Fail error
}

// NewBrowsers makes an empty registry.
func NewBrowsers() *Browsers { return &Browsers{all: map[string]protocol.Browser{}} }

// Find implements gateway.Browsers.
func (b *Browsers) Find(_ context.Context, cookieHash string) (protocol.Browser, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, ok := b.all[cookieHash]
	return found, ok, b.Fail
}

// Add implements gateway.Browsers.
func (b *Browsers) Add(_ context.Context, add protocol.Browser, cookieHash string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Fail == nil {
		b.all[cookieHash] = add
	}
	return b.Fail
}

// Renew implements gateway.Browsers.
func (b *Browsers) Renew(_ context.Context, id protocol.BrowserID, at, until time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for hash, have := range b.all {
		if have.BrowserID == id && b.Fail == nil {
			have.LastUsedMs, have.ExpiresAtMs = at.UnixMilli(), until.UnixMilli()
			b.all[hash] = have
		}
	}
	return b.Fail
}

// Remove implements gateway.Browsers.
func (b *Browsers) Remove(_ context.Context, id protocol.BrowserID) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Fail == nil {
		maps.DeleteFunc(b.all, func(_ string, have protocol.Browser) bool { return have.BrowserID == id })
	}
	return b.Fail
}

// List implements gateway.Browsers.
func (b *Browsers) List(context.Context) ([]protocol.Browser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.all)), b.Fail
}

// ChangeLog is a bounded log in memory. Reading, when set, is called in Since
// before it reads, so that a test can commit in between.
type ChangeLog struct {
	Reading func()

	mu      sync.Mutex
	changes []protocol.ChangeEvent
	last    int64
}

// Append commits a change and returns it.
func (l *ChangeLog) Append(kind, key string) protocol.ChangeEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	c := protocol.ChangeEvent{Seq: l.last, Kind: kind, Key: key, Version: 1}
	l.changes = append(l.changes, c)
	return c
}

// Forget drops all but the newest changes.
func (l *ChangeLog) Forget(keep int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes = l.changes[max(0, len(l.changes)-keep):]
}

// Last implements gateway.ChangeLog.
func (l *ChangeLog) Last(context.Context) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, nil
}

// Since implements gateway.ChangeLog.
func (l *ChangeLog) Since(_ context.Context, after int64, limit int) ([]protocol.ChangeEvent, bool, error) {
	if l.Reading != nil {
		l.Reading()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if after < l.last-int64(len(l.changes)) {
		return nil, false, nil
	}
	var out []protocol.ChangeEvent
	for _, c := range l.changes {
		if c.Seq > after && len(out) < limit {
			out = append(out, c)
		}
	}
	return out, true, nil
}
