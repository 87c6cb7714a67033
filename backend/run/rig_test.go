package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/backend/approval"
	"countersign/backend/blob"
	"countersign/backend/effect"
	"countersign/backend/model"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/registry"
	"countersign/backend/run"
	"countersign/backend/session"
	"countersign/backend/store"
	"countersign/backend/tool"
	"countersign/backend/tool/ask"
	"countersign/backend/tool/files"
)

const patience = 20 * time.Second

// rig is a real store with a conductor, a scripted model and tools that tests
// hold in their hands.
type rig struct {
	t         *testing.T
	db        *store.DB
	blobs     *blob.Store
	m         *run.Manager
	model     *scripted
	act       *act
	workspace string
	limits    queue.Limits
	changed   chan struct{}
	ids       atomic.Int64
	events    *recorder
	keys      atomic.Int64
}

func newRig(t *testing.T) *rig {
	t.Helper()
	home := t.TempDir()
	r := &rig{
		t: t, model: &scripted{}, act: newAct(), workspace: t.TempDir(), changed: make(chan struct{}, 1), events: &recorder{},
		limits: queue.Limits{ModelCalls: 20, ToolCalls: 20, WallMs: 60_000},
	}
	var err error
	r.db, err = store.Open(t.Context(), store.Options{
		Path: filepath.Join(home, "data", "state.db"), Format: 1, Logger: slog.New(slog.DiscardHandler),
		Schemas: []store.Schema{registry.Schema(), blob.Schema(), session.Schema(), queue.Schema(), effect.Schema(), approval.Schema()},
	})
	must(t, err)
	r.blobs, err = blob.Open(filepath.Join(home, "data", "blobs"))
	must(t, err)
	r.write(func(tx *store.Tx) error {
		return registry.PutAgent(tx, registry.Agent{ID: "main", Name: "Ada", Workspace: r.workspace}, 1)
	})
	r.db.Subscribe(func([]store.Change) {
		select {
		case r.changed <- struct{}{}:
		default:
		}
	})
	r.m = r.boot()
	t.Cleanup(func() {
		r.act.releaseAll()
		must(t, r.m.Stop(context.Background()))
		must(t, r.db.Close())
	})
	return r
}

// boot starts a conductor on the store, as a host does after a start. Booting
// again without stopping the one before is what a crash leaves behind.
func (r *rig) boot() *run.Manager {
	r.t.Helper()
	tools, err := tool.NewRegistry(append(files.New(), ask.New(), r.act, r.act.peek())...)
	must(r.t, err)
	m := run.New(run.Options{
		DB: r.db, Blobs: r.blobs, Tools: tools, Models: r.model, Places: place{r}, Events: r.events, Undo: files.Undo,
		Limits: func() queue.Limits { return r.limits }, Sandboxed: func() bool { return true }, Owner: "you", Logger: slog.New(slog.DiscardHandler),
		Now: time.Now, NewID: func() string { return fmt.Sprintf("id%06d", r.ids.Add(1)) },
	})
	must(r.t, m.Start(r.t.Context()))
	return m
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *rig) write(fn func(*store.Tx) error) {
	r.t.Helper()
	must(r.t, r.db.Write(r.t.Context(), fn))
}

func (r *rig) read(fn func(*store.ReadTx) error) {
	r.t.Helper()
	must(r.t, r.db.Read(context.Background(), fn))
}

// say admits a message in a session and returns its run.
func (r *rig) say(key protocol.SessionKey, text string) protocol.RunID {
	r.t.Helper()
	id := protocol.RunID(fmt.Sprintf("run-%d", r.keys.Add(1)))
	res, err := r.m.Admit(r.t.Context(), run.Admission{SessionKey: key, Key: id, Text: text, Origin: protocol.OriginOwner, Channel: "window", Sender: "you"})
	must(r.t, err)
	if res.Status != protocol.ChatStarted {
		r.t.Fatalf("admitted as %s", res.Status)
	}
	return id
}

func (r *rig) run(id protocol.RunID) (out queue.Run) {
	r.t.Helper()
	r.read(func(tx *store.ReadTx) (err error) { out, err = queue.Get(tx, id); return err })
	return out
}

// until waits for a condition on committed state.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for !ok() {
		select {
		case <-r.changed:
		case <-timer.C:
			r.t.Fatalf("still waiting: %s", what)
		}
	}
}

func (r *rig) reach(id protocol.RunID, state protocol.RunState) queue.Run {
	r.t.Helper()
	var last queue.Run
	r.until(fmt.Sprintf("%s to be %s", id, state), func() bool { last = r.run(id); return last.State == state })
	return last
}

func (r *rig) history(key protocol.SessionKey) (out []protocol.Message) {
	r.t.Helper()
	r.read(func(tx *store.ReadTx) error {
		s, err := session.Get(tx, key)
		if err != nil {
			return err
		}
		out, err = session.History(tx, s.ID)
		return err
	})
	return out
}

func (r *rig) receipts() (out []protocol.Receipt) {
	r.t.Helper()
	r.read(func(tx *store.ReadTx) error {
		page, err := effect.ListReceipts(tx, protocol.ReceiptsListParams{Limit: 500})
		out = page.Receipts
		return err
	})
	return out
}

func (r *rig) pending() (out []protocol.Approval) {
	r.t.Helper()
	r.read(func(tx *store.ReadTx) (err error) { out, err = approval.Pending(tx, ""); return err })
	return out
}

func (r *rig) onePending() protocol.Approval {
	r.t.Helper()
	p := r.pending()
	if len(p) != 1 {
		r.t.Fatalf("%d approvals wait, want 1", len(p))
	}
	return p[0]
}

func (r *rig) decide(id protocol.ApprovalID, d protocol.Decision, reason string) {
	r.t.Helper()
	_, err := r.m.Resolve(r.t.Context(), id, approval.Verdict{Decision: d, Reason: reason, Resolver: protocol.Resolver{Kind: "window", Name: "you, in the window"}})
	must(r.t, err)
}

// place puts every agent into the rig's workspace.
type place struct{ r *rig }

func (p place) Env(_ context.Context, a registry.Agent, _ []registry.Folder) (tool.Env, error) {
	return tool.Env{AgentID: a.ID, Folders: []tool.Folder{{Path: a.Workspace, Writable: true}}}, nil
}

func (p place) Prompt(context.Context, registry.Agent, tool.Env) (string, error) {
	return "You are Ada.", nil
}

// scripted is a model that answers from a list and remembers what it was sent.
type scripted struct {
	mu       sync.Mutex
	steps    []step
	requests []model.Request
}

// step is one answer; hold, when set, lets the test decide when it goes on.
type step struct {
	resp model.Response
	err  error
	hold chan struct{}
	// begun is closed when the step is reached.
	begun chan struct{}
	text  string
}

func (s *scripted) Select(context.Context, ...string) (run.Selected, error) {
	return run.Selected{Name: "scripted", Model: "scripted", Kind: protocol.ProviderPractice, Provider: s}, nil
}

func (s *scripted) then(steps ...step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, steps...)
}

func (s *scripted) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	next := answer("nothing more to say")
	if len(s.steps) > 0 {
		next, s.steps = s.steps[0], s.steps[1:]
	}
	s.mu.Unlock()
	if next.text != "" {
		emit(model.Delta{Text: next.text})
	}
	if next.begun != nil {
		close(next.begun)
	}
	if next.hold != nil {
		select {
		case <-next.hold:
		case <-ctx.Done():
			return model.Response{Content: protocol.Blocks{protocol.TextBlock{Text: next.text}}}, context.Cause(ctx)
		}
	}
	return next.resp, next.err
}

func (s *scripted) asked() []model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]model.Request(nil), s.requests...)
}

func answer(text string) step {
	return step{resp: model.Response{Content: protocol.Blocks{protocol.TextBlock{Text: text}}, StopReason: protocol.StopEnd}}
}

func calls(blocks ...protocol.Block) step {
	return step{resp: model.Response{Content: blocks, StopReason: protocol.StopToolUse}}
}

func toolCall(id, name string, args any) protocol.ToolCallBlock {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return protocol.ToolCallBlock{ID: id, Name: name, Arguments: raw}
}

func writeFile(id, path, content string) protocol.ToolCallBlock {
	return toolCall(id, "write", map[string]string{"path": path, "content": content})
}

// act is a tool with an effect that must not happen twice. It is asked for like
// a write, counts what it did, and can be held.
type act struct {
	mu      sync.Mutex
	done    map[string]int
	begun   chan string
	holds   map[string]chan struct{}
	resolve func(string) (tool.Result, bool)
	group   string
}

func newAct() *act {
	return &act{done: map[string]int{}, begun: make(chan string, 64), holds: map[string]chan struct{}{}, group: "ask"}
}

func (a *act) hold(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.holds[name] = make(chan struct{})
}

func (a *act) releaseAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, ch := range a.holds {
		close(ch)
		delete(a.holds, name)
	}
}

func (a *act) count(name string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done[name]
}

func (a *act) Spec() tool.Spec {
	return tool.Spec{
		Name: "act", Description: "Act.", Group: a.group, Effect: protocol.ClassCommand, Class: tool.Class{Repeat: tool.RepeatOnce},
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`),
	}
}

func (a *act) Plan(_ context.Context, _ tool.Env, args json.RawMessage) (tool.Plan, error) {
	return planNamed("act", args)
}

func planNamed(toolName string, args json.RawMessage) (tool.Plan, error) {
	var named struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(args, &named); err != nil {
		return tool.Plan{}, err
	}
	return tool.Plan{Tool: toolName, Args: args, Target: named.Name, Card: tool.Card{Sentence: "Act " + named.Name}}, nil
}

func (a *act) Do(ctx context.Context, _ tool.Env, p tool.Plan, progress tool.Progress) (tool.Result, error) {
	a.mu.Lock()
	a.done[p.Target]++
	hold := a.holds[p.Target]
	a.mu.Unlock()
	a.begun <- p.Target
	progress("stdout", "working on "+p.Target)
	if hold == nil {
		return tool.Result{Content: "did " + p.Target}, nil
	}
	select {
	case <-hold:
		return tool.Result{Content: "did " + p.Target}, nil
	case <-ctx.Done():
		return tool.Result{}, ctx.Err()
	}
}

// Resolve finds out where the test says how.
func (a *act) Resolve(_ context.Context, _ tool.Env, p tool.Plan) (tool.Result, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.resolve == nil {
		return tool.Result{}, false, nil
	}
	res, ok := a.resolve(p.Target)
	return res, ok, nil
}

// peek is a tool that only reads, held and counted like act.
func (a *act) peek() tool.Tool { return peek{a} }

type peek struct{ a *act }

func (p peek) Spec() tool.Spec {
	s := p.a.Spec()
	s.Name, s.Group, s.Effect, s.Class = "peek", "fs", protocol.ClassRead, tool.Class{Repeat: tool.RepeatRead}
	return s
}

func (p peek) Plan(_ context.Context, _ tool.Env, args json.RawMessage) (tool.Plan, error) {
	return planNamed("peek", args)
}

func (p peek) Do(ctx context.Context, env tool.Env, plan tool.Plan, progress tool.Progress) (tool.Result, error) {
	return p.a.Do(ctx, env, plan, progress)
}

// recorder keeps the events that clients would see.
type recorder struct {
	mu   sync.Mutex
	chat []protocol.ChatEvent
}

func (r *recorder) Chat(e protocol.ChatEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chat = append(r.chat, e)
}

func (r *recorder) Agent(protocol.AgentEvent) {}

func (r *recorder) ends(id protocol.RunID) (out []protocol.ChatState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.chat {
		if e.RunID == id && (e.State == protocol.ChatStateFinal || e.State == protocol.ChatStateAborted || e.State == protocol.ChatStateError) {
			out = append(out, e.State)
		}
	}
	return out
}

func code(err error) protocol.Detail {
	var e *protocol.Error
	if errors.As(err, &e) && e.Details != nil {
		return e.Details.Code
	}
	return ""
}
