package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"countersign/backend/protocol"
)

const (
	defaultMaxConns = 1024
	// flushTime is how long an ending connection may still take what is queued.
	flushTime = time.Second
	// ackGap lies between the answer to chat.send and the first event of its run,
	// where a transport has no echo: clients that read both in one go miss the
	// beginning of their own run. echoGap is how long an echo is awaited instead; a
	// client can be busy with itself for a second, and one that never answers a ping
	// loses its connection anyway.
	ackGap  = 10 * time.Millisecond
	echoGap = 5 * time.Second
	// healthEvery counts ticks between two health events.
	healthEvery = 2
	// presenceDelay gathers the comings and goings of a moment into one event.
	presenceDelay = 100 * time.Millisecond
)

// Devices keeps the paired devices; the registry implements it. All methods are
// safe for concurrent use.
type Devices interface {
	// Find returns a paired device; ok is false when there is none of that id.
	Find(ctx context.Context, id protocol.DeviceID) (d protocol.Device, ok bool, err error)
	// Add stores a device, or replaces the one with its id.
	Add(ctx context.Context, d protocol.Device) error
	// Touch notes when a device was last seen.
	Touch(ctx context.Context, id protocol.DeviceID, at time.Time) error
	// Remove ends a pairing; removing what is not there is fine.
	Remove(ctx context.Context, id protocol.DeviceID) error
	// List returns every device.
	List(ctx context.Context) ([]protocol.Device, error)
}

// ChangeLog is the durable, bounded log of changes; the store implements it.
type ChangeLog interface {
	// Last returns the newest sequence, 0 when nothing has changed yet.
	Last(ctx context.Context) (int64, error)
	// Since returns changes after a sequence in rising order, at most limit. Complete
	// is false when the log no longer reaches back to it.
	Since(ctx context.Context, after int64, limit int) (changes []protocol.ChangeEvent, complete bool, err error)
}

// Options is what a gateway needs. Logger, Version, Health and Defaults are
// required.
type Options struct {
	Logger  *slog.Logger
	Version string
	// BootID changes with each start.
	BootID string
	// Health is the short state of the host, for hello-ok and health events. It is
	// called often and must not block.
	Health func() protocol.Health
	// Defaults says where a bare message goes.
	Defaults func() protocol.SessionDefaults
	// Devices may be nil: then nothing can be paired.
	Devices Devices
	// Browsers may be nil: then no browser gets in.
	Browsers Browsers
	// Changes may be nil: then no client can resume.
	Changes ChangeLog
	// Token may be nil: then no token is accepted.
	Token *TokenFile
	// Errors maps what handlers return to what clients are told.
	Errors []ErrorRule
	// MaxConns bounds connections; 0 means 1024.
	MaxConns int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// NewID makes nonces and connection ids; nil means random UUIDs.
	NewID func() string
}

// Gateway serves connections. It is safe for concurrent use; methods are
// registered before the first connection.
type Gateway struct {
	opts    Options
	log     *slog.Logger
	now     func() time.Time
	started time.Time

	events   map[protocol.EventName]protocol.EventPayload
	methods  map[protocol.Method]protocol.Call
	connects shape

	tickets  *Tickets
	failures *lockout

	// ctx ends when handlers must give up; calls counts those that run.
	ctx    context.Context
	cancel context.CancelFunc
	calls  sync.WaitGroup
	serves sync.WaitGroup

	presenceVersion, healthVersion atomic.Int64

	mu       sync.RWMutex
	handlers map[protocol.Method]handler
	conns    map[*conn]struct{}
	servers  map[*Server]struct{}
	sockets  map[*Socket]struct{}
	stopping bool
	running  chan struct{} // closed by Stop; nil before Start
	ticked   sync.WaitGroup
	presence *time.Timer
}

// New builds a gateway with the methods that are its own: system-presence and
// the device methods.
func New(opts Options) (*Gateway, error) {
	if opts.Logger == nil || opts.Health == nil || opts.Defaults == nil || opts.Version == "" {
		return nil, errors.New("build gateway: logger, version, health and defaults are required")
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.NewID == nil {
		opts.NewID = uuid.NewString
	}
	if opts.MaxConns == 0 {
		opts.MaxConns = defaultMaxConns
	}
	g := &Gateway{
		opts: opts, log: opts.Logger, now: opts.Now, started: opts.Now(),
		events:   map[protocol.EventName]protocol.EventPayload{},
		methods:  map[protocol.Method]protocol.Call{},
		handlers: map[protocol.Method]handler{},
		conns:    map[*conn]struct{}{},
		servers:  map[*Server]struct{}{},
		sockets:  map[*Socket]struct{}{},
		tickets:  NewTickets(opts.Now),
		failures: newLockout(opts.Now),
	}
	for _, e := range protocol.EventPayloads() {
		g.events[e.Event] = e
	}
	for _, c := range protocol.Calls() {
		g.methods[c.Method] = c
	}
	g.connects = shapeOf(g.methods[protocol.MethodConnect].Params)
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.registerOwn()
	return g, nil
}

// Tickets makes and redeems the tickets of this gateway.
func (g *Gateway) Tickets() *Tickets { return g.tickets }

// Start begins the heartbeat of all connections: tick, and now and then health.
// Starting twice, or after Stop, does nothing.
func (g *Gateway) Start() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running != nil || g.stopping {
		return
	}
	g.running = make(chan struct{})
	g.ticked.Add(1)
	go g.beat(g.running)
}

func (g *Gateway) beat(stop <-chan struct{}) {
	defer g.ticked.Done()
	ticker := time.NewTicker(protocol.TickIntervalMs * time.Millisecond)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		g.Broadcast(protocol.EventTick, protocol.TickEvent{TsMs: g.now().UnixMilli()})
		if n%healthEvery == 0 {
			g.Broadcast(protocol.EventHealth, g.opts.Health())
		}
	}
}

// Stop tells every client, lets running calls finish until the context is done,
// closes all listeners and connections, and returns when nothing of the gateway
// runs. Stopping twice is fine; both wait.
func (g *Gateway) Stop(ctx context.Context) {
	g.mu.Lock()
	first := !g.stopping
	g.stopping = true
	if first && g.running != nil {
		close(g.running)
	}
	if g.presence != nil && g.presence.Stop() {
		g.presence = nil
		g.ticked.Done()
	}
	var doors []interface{ Close() }
	for s := range g.servers {
		doors = append(doors, s)
	}
	for s := range g.sockets {
		doors = append(doors, s)
	}
	g.mu.Unlock()

	if first {
		g.Broadcast(protocol.EventShutdown, protocol.ShutdownEvent{Reason: "stopping"})
	}
	done := make(chan struct{})
	go func() { g.calls.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	g.cancel()
	<-done
	for _, c := range g.snapshotConns() {
		c.end(protocol.CloseRestart, "service restart", true)
	}
	for _, d := range doors {
		d.Close()
	}
	g.serves.Wait()
	g.ticked.Wait()
}

// ServeConn serves one connection and returns when it has ended. The transport
// belongs to the gateway from here on. Ending the context ends the connection.
func (g *Gateway) ServeConn(ctx context.Context, t Transport, p Peer) error {
	g.mu.Lock()
	if g.stopping || len(g.conns) >= g.opts.MaxConns {
		stopping := g.stopping
		g.mu.Unlock()
		if stopping {
			return t.Close(protocol.CloseRestart, "service restart")
		}
		return t.Close(protocol.CloseStarting, "too many connections")
	}
	c := newConn(g, t, p)
	g.conns[c] = struct{}{}
	g.serves.Add(1)
	g.mu.Unlock()
	defer g.serves.Done()

	stop := context.AfterFunc(ctx, func() { c.end(protocol.CloseRestart, "service restart", true) })
	defer stop()
	err := c.serve()

	g.mu.Lock()
	delete(g.conns, c)
	g.mu.Unlock()
	if c.isReady() {
		g.presenceChanged()
		if p.Browser != "" {
			// A page may stay open for long: its time runs from now.
			g.renew(context.WithoutCancel(ctx), p.Browser)
		}
	}
	if err != nil && !errors.Is(err, errEnded) {
		return fmt.Errorf("serve connection: %w", err)
	}
	return nil
}

// Disconnect ends every connection of a device at once.
func (g *Gateway) Disconnect(id protocol.DeviceID) {
	for _, c := range g.snapshotConns() {
		if c.isReady() && c.device != nil && c.device.DeviceID == id {
			c.end(protocol.ClosePolicy, "device removed", false)
		}
	}
}

// Connected reports whether a device has a connection.
func (g *Gateway) Connected(id protocol.DeviceID) bool {
	for _, c := range g.snapshotConns() {
		if c.isReady() && c.device != nil && c.device.DeviceID == id {
			return true
		}
	}
	return false
}

func (g *Gateway) snapshotConns() []*conn {
	g.mu.RLock()
	defer g.mu.RUnlock()
	out := make([]*conn, 0, len(g.conns))
	for c := range g.conns {
		out = append(out, c)
	}
	return out
}

func (g *Gateway) isStopping() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.stopping
}
