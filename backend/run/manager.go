package run

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"countersign/backend/blob"
	"countersign/backend/model"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/registry"
	"countersign/backend/store"
	"countersign/backend/tool"
)

// Selected is a model ready to be called. Name is its name in settings, Model
// what the provider calls it.
type Selected struct {
	Name     string
	Model    string
	Kind     protocol.ModelProvider
	Provider model.Provider
}

// Models finds the model of a run: the first of names that is not empty, else
// the default. An error is a *protocol.Error or *model.Error with a sentence.
type Models interface {
	Select(ctx context.Context, names ...string) (Selected, error)
}

// Places tells where an agent works: its folders and limits, and the part of
// the prompt that its workspace gives.
type Places interface {
	Env(ctx context.Context, a registry.Agent, folders []registry.Folder) (tool.Env, error)
	Prompt(ctx context.Context, a registry.Agent, env tool.Env) (string, error)
}

// Events receives what is shown while a run works. Calls do not block.
type Events interface {
	Chat(protocol.ChatEvent)
	Agent(protocol.AgentEvent)
}

// Undoer puts back what a file held.
type Undoer func(ctx context.Context, env tool.Env, before tool.FileState, afterSHA256 string) (tool.Result, error)

// Options are what a Manager needs.
type Options struct {
	DB     *store.DB
	Blobs  *blob.Store
	Tools  *tool.Registry
	Models Models
	Places Places
	Events Events
	Undo   Undoer
	// Limits gives the ceilings of a run that is admitted now.
	Limits func() queue.Limits
	// Sandboxed says whether commands run in a sandbox on this machine.
	Sandboxed func() bool
	// Mask hides secrets in what is kept for people and models.
	Mask func(string) string
	// MaskMark is how every mask begins; text that carries it back into a file
	// would lose what was masked. Empty means none.
	MaskMark string
	// Owner is how receipts call the owner.
	Owner  string
	Logger *slog.Logger
	Now    func() time.Time
	NewID  func() string
	// Width is how many runs work at once; 0 means 8. Recoveries is how often a
	// run is continued after unclean ends; 0 means 3.
	Width      int
	Recoveries int
}

// Manager conducts all runs of one host. It is safe for concurrent use.
type Manager struct {
	o     Options
	epoch int64

	wake    chan struct{}
	stop    context.CancelCauseFunc
	ctx     context.Context
	workers sync.WaitGroup

	mu     sync.Mutex // guards active
	active map[protocol.RunID]*active
}

// active is a run that works right now.
type active struct {
	session protocol.SessionKey
	cancel  context.CancelCauseFunc
	done    chan struct{}
	live    *live
}

// New makes a Manager; nothing works before Start.
func New(o Options) *Manager {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	if o.Recoveries == 0 {
		o.Recoveries = defaultRecoveries
	}
	if o.Mask == nil {
		o.Mask = func(s string) string { return s }
	}
	ctx, stop := context.WithCancelCause(context.Background())
	return &Manager{o: o, wake: make(chan struct{}, 1), ctx: ctx, stop: stop, active: make(map[protocol.RunID]*active)}
}

// Epoch is the number of this boot.
func (m *Manager) Epoch() int64 { return m.epoch }

// Start raises the boot epoch, recovers what an older boot left, and starts the
// dispatcher.
func (m *Manager) Start(ctx context.Context) error {
	if err := m.recover(ctx); err != nil {
		return fmt.Errorf("recover runs: %w", err)
	}
	m.workers.Go(m.dispatch)
	m.poke()
	return nil
}

// Stop ends every working run cleanly, back into its queue, and waits until none
// works, or as long as ctx allows. It is safe to call it twice.
func (m *Manager) Stop(ctx context.Context) error {
	m.stop(errShutdown)
	ended := make(chan struct{})
	go func() { m.workers.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		return fmt.Errorf("stop runs: some still work: %w", ctx.Err())
	}
	if m.epoch == 0 {
		return nil
	}
	return m.o.DB.Write(ctx, func(tx *store.Tx) error { return queue.EndBoot(tx, m.epoch, m.nowMs()) })
}

func (m *Manager) nowMs() int64 { return m.o.Now().UnixMilli() }

// poke tells the dispatcher to look; it never blocks.
func (m *Manager) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// dispatch claims runs while there is room. It ends with the Manager.
func (m *Manager) dispatch() {
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-m.wake:
		}
		for m.room() {
			claimed, err := m.claimNext(m.ctx)
			if err != nil && m.ctx.Err() == nil {
				m.o.Logger.Error("claim run", "cause", err)
			}
			if !claimed {
				break
			}
		}
	}
}

func (m *Manager) room() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.active) < m.o.Width
}

// SetPaused pauses or resumes all work: while paused nothing is claimed, and
// what works goes back to its queue before its next call.
func (m *Manager) SetPaused(ctx context.Context, paused bool) error {
	return m.o.DB.Write(ctx, func(tx *store.Tx) error {
		tx.OnCommit(m.poke)
		return queue.SetPaused(tx, paused, m.nowMs())
	})
}

// Lanes says which run holds which lane.
func (m *Manager) Lanes(ctx context.Context) ([]protocol.LaneStatus, error) {
	var out []protocol.LaneStatus
	err := m.o.DB.Read(ctx, func(tx *store.ReadTx) error {
		open, err := queue.List(tx, queue.Filter{OpenOnly: true, Limit: 500})
		if err != nil {
			return err
		}
		out = lanes(open)
		return nil
	})
	return out, err
}

// lanes turns open runs, newest first, into one row for each session lane.
func lanes(open []queue.Run) []protocol.LaneStatus {
	holders := make(map[protocol.SessionKey]*protocol.LaneStatus)
	order := []protocol.SessionKey{}
	for i := len(open) - 1; i >= 0; i-- {
		r := open[i]
		if l, ok := holders[r.SessionKey]; ok {
			l.Waiting++
			continue
		}
		since, step := r.StartedAtMs, r.Step
		if r.State == protocol.RunParked {
			since, step = r.ParkedAtMs, "Waits for you: "+string(r.ParkReason)
		}
		if since == 0 {
			since = r.AcceptedAtMs
		}
		holders[r.SessionKey] = &protocol.LaneStatus{Lane: string(r.SessionKey), RunID: r.ID, Session: r.SessionKey, SinceMs: since, Step: step}
		order = append(order, r.SessionKey)
	}
	out := make([]protocol.LaneStatus, 0, len(order))
	for _, k := range order {
		out = append(out, *holders[k])
	}
	return out
}
