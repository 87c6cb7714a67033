package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"countersign/backend/approval"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/secret"
	"countersign/backend/store"
)

// settle gathers the changes of a moment into one look.
const settle = 50 * time.Millisecond

// askVault is how long an answer about the keychain is believed.
const askVault = 30 * time.Second

// maxWaiting bounds the approvals a small surface lists; the count is exact.
const maxWaiting = 12

// Overview is what a small surface such as the tray shows.
type Overview struct {
	// State is idle, working, needs-you, paused, degraded or offline.
	State string
	// NeedsYou counts what waits for the owner; Title says it in words.
	NeedsYou int
	Title    string
	Waiting  []protocol.Approval
	Running  []protocol.Run
	Paused   bool
}

// state keeps the short state of the host ready, so that asking never blocks,
// and hands each new one to whoever watches.
type state struct {
	h     *Host
	wake  chan struct{}
	ended chan struct{}
	stop  context.CancelFunc
	ctx   context.Context

	mu       sync.Mutex // guards all below
	current  protocol.Health
	overview Overview
	watchers []chan Overview
	closed   bool
	kept     secret.Status // of the keychain, as of asked
	asked    time.Time
}

func newState(h *Host) *state {
	ctx, stop := context.WithCancel(context.Background())
	s := &state{h: h, wake: make(chan struct{}, 1), ended: make(chan struct{}), ctx: ctx, stop: stop}
	s.current = protocol.Health{OK: true, DefaultAgentID: protocol.MainAgent, Channels: map[string]any{}, ChannelOrder: []string{}, Problems: []protocol.Problem{}}
	go s.follow()
	return s
}

// follow looks again after each burst of changes, until close.
func (s *state) follow() {
	defer close(s.ended)
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.wake:
		}
		timer := time.NewTimer(settle)
		select {
		case <-s.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if err := s.refresh(s.ctx); err != nil && s.ctx.Err() == nil {
			s.h.log.Warn("look at own state", "cause", err)
		}
	}
}

func (s *state) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *state) close() {
	s.stop()
	<-s.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, w := range s.watchers {
		close(w)
	}
	s.watchers = nil
}

// refresh reads the state anew and tells clients and watchers where it changed.
func (s *state) refresh(ctx context.Context) error {
	o, err := s.look(ctx)
	if err != nil {
		return err
	}
	health := s.build(ctx, o)
	s.mu.Lock()
	changed := health.NeedsYou != s.current.NeedsYou || health.Working != s.current.Working || health.Paused != s.current.Paused ||
		len(health.Problems) != len(s.current.Problems) || health.Keychain != s.current.Keychain
	s.current, s.overview = health, o
	for _, w := range s.watchers {
		select {
		case <-w: // a slow watcher gets the newest only
		default:
		}
		w <- o
	}
	s.mu.Unlock()
	if changed {
		s.h.gateway.Broadcast(protocol.EventHealth, health)
	}
	return nil
}

func (s *state) look(ctx context.Context) (Overview, error) {
	var o Overview
	err := s.h.db.Read(ctx, func(tx *store.ReadTx) (err error) {
		if o.Paused, err = queue.Paused(tx); err != nil {
			return err
		}
		if o.Waiting, err = approval.Pending(tx, ""); err != nil {
			return err
		}
		open, err := queue.List(tx, queue.Filter{OpenOnly: true, Limit: 500})
		if err != nil {
			return err
		}
		for _, r := range open {
			switch {
			case r.State == protocol.RunRunning:
				o.Running = append(o.Running, protocol.Run{RunID: r.ID, SessionKey: r.SessionKey, Title: r.Title, Step: r.Step, State: r.State})
			case r.State == protocol.RunParked && r.ParkReason != protocol.ParkApproval:
				o.NeedsYou++
			}
		}
		o.NeedsYou += len(o.Waiting)
		return nil
	})
	if len(o.Waiting) > maxWaiting {
		o.Waiting = o.Waiting[:maxWaiting]
	}
	o.State, o.Title = words(o)
	return o, err
}

// words says the state in one word and one title, the most pressing first.
func words(o Overview) (state, title string) {
	switch {
	case o.NeedsYou == 1:
		return "needs-you", "Countersign — one thing needs you"
	case o.NeedsYou > 1:
		return "needs-you", fmt.Sprintf("Countersign — %d things need you", o.NeedsYou)
	case o.Paused:
		return "paused", "Countersign — paused"
	case len(o.Running) > 0:
		return "working", "Countersign — working"
	}
	return "idle", "Countersign — idle"
}

func (s *state) build(ctx context.Context, o Overview) protocol.Health {
	begun := time.Now()
	vault, box := s.vault(ctx), s.h.sandbox.Status()
	h := protocol.Health{
		OK: true, TsMs: s.h.nowMs(), DefaultAgentID: protocol.MainAgent, Channels: map[string]any{}, ChannelOrder: []string{},
		Problems: s.h.known(), Paused: o.Paused, NeedsYou: o.NeedsYou, Working: len(o.Running),
		Sandbox:  protocol.SandboxStatus{Mechanism: string(box.Mechanism), Reason: box.Reason, Remedy: box.Remedy},
		Keychain: protocol.SecretStatus{State: string(vault.State), Sentence: vault.Sentence, Remedy: vault.Remedy},
	}
	if size, err := s.h.db.WALSize(); err == nil {
		h.WALBytes = size
	}
	h.DurationMs = time.Since(begun).Milliseconds()
	return h
}

// vault asks the keychain for its state, which goes over a bus, only now and
// then.
func (s *state) vault(ctx context.Context) secret.Status {
	s.mu.Lock()
	kept, fresh := s.kept, time.Since(s.asked) < askVault
	s.mu.Unlock()
	if fresh {
		return kept
	}
	now := s.h.vault.Status(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept, s.asked = now, time.Now()
	return now
}

// forget makes the next look ask the keychain again.
func (s *state) forget() {
	s.mu.Lock()
	s.asked = time.Time{}
	s.mu.Unlock()
	s.poke()
}

// health returns the newest state without looking.
func (s *state) health() protocol.Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// known lists what the owner should know now.
func (h *Host) known() []protocol.Problem {
	out := []protocol.Problem{}
	for _, p := range h.problems {
		out = append(out, protocol.Problem{ID: "settings:" + p.Path, Severity: "warning", Sentence: p.Sentence, Remedy: p.Remedy})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.notice {
		out = append(out, p)
	}
	return out
}

// Overviews delivers the newest overview at once and then each change, until
// the host closes. A slow reader gets the newest only.
func (h *Host) Overviews() <-chan Overview {
	s := h.state
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := make(chan Overview, 1)
	if s.closed {
		close(ch)
		return ch
	}
	ch <- s.overview
	s.watchers = append(s.watchers, ch)
	return ch
}

// Decide answers an approval as the owner at a small surface of this host, such
// as the tray. planHash is that of the plan that was shown. A plan of high risk
// can only be refused there.
func (h *Host) Decide(ctx context.Context, id protocol.ApprovalID, planHash string, allow bool, where string) error {
	v := approval.Verdict{Decision: protocol.Deny, PlanHash: planHash, Resolver: protocol.Resolver{Kind: where, Name: "you, in the " + where}}
	if allow {
		v.Decision = protocol.AllowOnce
		var highRisk bool
		err := h.db.Read(ctx, func(tx *store.ReadTx) error {
			a, err := approval.Get(tx, id)
			highRisk = a.Request.HighRisk
			return err
		})
		if err != nil {
			return fmt.Errorf("look at the question: %w", err)
		}
		if highRisk {
			return invalid("This carries much risk; decide it in the window.")
		}
	}
	_, err := h.runs.Resolve(ctx, id, v)
	return err
}

// SetPaused pauses or resumes all work.
func (h *Host) SetPaused(ctx context.Context, paused bool) error {
	return h.runs.SetPaused(ctx, paused)
}
