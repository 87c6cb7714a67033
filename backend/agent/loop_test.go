package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"countersign/backend/agent"
	"countersign/backend/model"
	"countersign/backend/protocol"
)

// turn is one answer of a model.
type turn func(ctx context.Context, emit func(model.Delta)) (model.Response, error)

// fakeModel answers from a script; past its end it says that it is done.
type fakeModel struct {
	log    *log
	script []turn
}

func (m *fakeModel) Stream(ctx context.Context, _ model.Request, emit func(model.Delta)) (model.Response, error) {
	m.log.add("stream")
	if len(m.script) == 0 {
		return model.Response{Content: protocol.Blocks{protocol.TextBlock{Text: "done"}}}, nil
	}
	next := m.script[0]
	m.script = m.script[1:]
	return next(ctx, emit)
}

func asks(names ...string) turn {
	return func(context.Context, func(model.Delta)) (model.Response, error) {
		var r model.Response
		for _, n := range names {
			r.Content = append(r.Content, protocol.ToolCallBlock{ID: n, Name: n})
		}
		return r, nil
	}
}

type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, " ")
}

// fakeJournal keeps the open calls of a run as the real one does on disk. A call
// is what its name says: "r…" reads, "w…" changes, "?…" waits for a person and
// "=…" is settled by the decision. It fails at the line named in fail.
type fakeJournal struct {
	*log
	open    []protocol.ToolCallBlock
	results map[string]bool
	fail    map[string]error
	perform func(ctx context.Context, name string)
	park    func(*fakeJournal) error
}

func (j *fakeJournal) step(line string) error {
	j.add(line)
	return j.fail[line]
}

func (j *fakeJournal) Open(context.Context) ([]protocol.ToolCallBlock, error) {
	var out []protocol.ToolCallBlock
	j.mu.Lock()
	for _, c := range j.open {
		if !j.results[c.ID] {
			out = append(out, c)
		}
	}
	j.mu.Unlock()
	return out, j.fail["open"]
}

func (j *fakeJournal) BeginModelCall(context.Context) (model.Request, error) {
	return model.Request{}, j.step("begin")
}

func (j *fakeJournal) Answer(_ context.Context, r model.Response) (bool, error) {
	j.open = r.Content.ToolCalls()
	return len(j.open) == 0, j.step("answer")
}

func (j *fakeJournal) Broken(_ context.Context, partial model.Response, cause error) error {
	return j.step(fmt.Sprintf("broken(%s: %v)", partial.Content.Text(), cause))
}

func (j *fakeJournal) Decide(_ context.Context, calls []protocol.ToolCallBlock) ([]agent.Call, error) {
	var out []agent.Call
	var names []string
	for _, c := range calls {
		names = append(names, c.Name)
		call := agent.Call{Block: c, Standing: agent.Ready, Reads: c.Name[0] == 'r'}
		switch c.Name[0] {
		case '?':
			call.Standing = agent.Waiting
		case '=':
			call.Standing = agent.Settled
			j.settle(c.ID)
		}
		out = append(out, call)
	}
	return out, j.step("decide(" + strings.Join(names, ",") + ")")
}

func (j *fakeJournal) settle(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.results[id] = true
}

func (j *fakeJournal) Perform(ctx context.Context, c protocol.ToolCallBlock) error {
	if j.perform != nil {
		j.perform(ctx, c.Name)
	}
	if err := j.step(c.Name); err != nil {
		return err
	}
	j.settle(c.ID)
	return nil
}

func (j *fakeJournal) Park(context.Context) error {
	j.add("park")
	if j.park == nil {
		return agent.ErrParked
	}
	return j.park(j)
}

func newLoop(script ...turn) (*agent.Loop, *fakeJournal) {
	l := &log{}
	j := &fakeJournal{log: l, results: map[string]bool{}, fail: map[string]error{}}
	return &agent.Loop{Model: &fakeModel{log: l, script: script}, Journal: j, Emit: func(model.Delta) {}}, j
}

func TestTheOrderOfARun(t *testing.T) {
	for _, c := range []struct {
		name string
		loop []turn
		want string
		err  error
	}{
		{"an answer", nil, "begin stream answer", nil},
		{"changes, one after the other in the model's order", []turn{asks("w2", "w1", "w3")},
			"begin stream answer decide(w2,w1,w3) w2 w1 w3 begin stream answer", nil},
		{"a read between changes", []turn{asks("w1", "r1", "w2")},
			"begin stream answer decide(w1,r1,w2) w1 r1 w2 begin stream answer", nil},
		{"what the decision settled is not performed", []turn{asks("=1", "w1", "=2")},
			"begin stream answer decide(=1,w1,=2) w1 begin stream answer", nil},
		{"nothing after the first that waits", []turn{asks("w1", "?1", "w2", "r1")},
			"begin stream answer decide(w1,?1,w2,r1) w1 park", agent.ErrParked},
		{"the whole batch is decided before any begins", []turn{asks("?1", "w1")},
			"begin stream answer decide(?1,w1) park", agent.ErrParked},
		{"turn after turn", []turn{asks("w1"), asks("w2")},
			"begin stream answer decide(w1) w1 begin stream answer decide(w2) w2 begin stream answer", nil},
	} {
		l, j := newLoop(c.loop...)
		err := l.Run(t.Context())
		if j.String() != c.want || !errors.Is(err, c.err) || (c.err == nil) != (err == nil) {
			t.Errorf("%s: %s (%v)\nwant %s (%v)", c.name, j, err, c.want, c.err)
		}
	}
}

func TestARunGoesOnWhereItsJournalStands(t *testing.T) {
	l, j := newLoop()
	j.open = []protocol.ToolCallBlock{{ID: "w1", Name: "w1"}, {ID: "w2", Name: "w2"}}
	j.results["w1"] = true // before the restart
	if err := l.Run(t.Context()); err != nil || j.String() != "decide(w2) w2 begin stream answer" {
		t.Errorf("%s (%v)", j, err)
	}
}

func TestADecisionMadeWhileParkingIsSeen(t *testing.T) {
	l, j := newLoop(asks("w1", "?1", "w2"))
	j.park = func(j *fakeJournal) error {
		j.open[1].Name = "w-allowed"
		return nil
	}
	want := "begin stream answer decide(w1,?1,w2) w1 park decide(w-allowed,w2) w-allowed w2 begin stream answer"
	if err := l.Run(t.Context()); err != nil || j.String() != want {
		t.Errorf("%s (%v)\nwant %s", j, err, want)
	}
}

func TestNeighboursThatReadRunTogetherUpToFour(t *testing.T) {
	for _, c := range []struct {
		calls []string
		waves [][]string
	}{
		{[]string{"r1", "r2", "r3"}, [][]string{{"r1", "r2", "r3"}}},
		{[]string{"r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9"}, [][]string{{"r1", "r2", "r3", "r4"}, {"r5", "r6", "r7", "r8"}, {"r9"}}},
		{[]string{"r1", "w1", "r2", "r3"}, [][]string{{"r1"}, {"w1"}, {"r2", "r3"}}},
		{[]string{"w1", "w2"}, [][]string{{"w1"}, {"w2"}}},
		{[]string{"r1", "=1", "r2"}, [][]string{{"r1"}, {"r2"}}},
		{[]string{"r1", "r2", "?1", "r3"}, [][]string{{"r1", "r2"}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, j := newLoop(asks(c.calls...))
			release := make(chan struct{})
			var working []string
			j.perform = func(_ context.Context, name string) {
				j.mu.Lock()
				working = append(working, name)
				j.mu.Unlock()
				<-release
			}
			ended := make(chan error, 1)
			go func() { ended <- l.Run(t.Context()) }()
			for _, want := range c.waves {
				synctest.Wait() // everything that can run waits in perform
				slices.Sort(working)
				if !slices.Equal(working, want) {
					t.Errorf("%v: %v work together, want %v", c.calls, working, want)
				}
				n := len(working)
				working = nil
				for range n {
					release <- struct{}{}
				}
			}
			close(release)
			if err := <-ended; err != nil && !errors.Is(err, agent.ErrParked) {
				t.Errorf("%v: %v", c.calls, err)
			}
		})
	}
}

func TestAnErrorEndsTheLoopWhereItHappens(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct{ at, want string }{
		{"open", ""},
		{"begin", "begin"},
		{"answer", "begin stream answer"},
		{"decide(w1,w2)", "begin stream answer decide(w1,w2)"},
		{"w1", "begin stream answer decide(w1,w2) w1"},
	} {
		for _, err := range []error{broken, agent.ErrReleased, agent.ErrParked} {
			l, j := newLoop(asks("w1", "w2"))
			j.fail[c.at] = err
			if got := l.Run(t.Context()); !errors.Is(got, err) || j.String() != c.want {
				t.Errorf("%v at %s: %s (%v), want %s", err, c.at, j, got, c.want)
			}
		}
	}
}

func TestAReadThatFailsLetsItsNeighboursFinishAndThenEnds(t *testing.T) {
	broken := errors.New("broken")
	synctest.Test(t, func(t *testing.T) {
		l, j := newLoop(asks("r1", "r2", "r3", "w1"))
		j.fail["r2"] = broken
		release := make(chan struct{})
		j.perform = func(_ context.Context, name string) {
			if name != "r2" {
				<-release
			}
		}
		ended := make(chan error, 1)
		go func() { ended <- l.Run(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("ended with %v while reads were under way", err)
		default:
		}
		close(release)
		err := <-ended
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "r2") || !j.results["r1"] || !j.results["r3"] || strings.HasSuffix(j.String(), " w1") {
			t.Errorf("%s (%v)", j, err)
		}
	})
}

func TestAnAnswerThatBreaksIsKeptAndEndsTheRun(t *testing.T) {
	cut := errors.New("the stream was cut")
	l, j := newLoop(func(context.Context, func(model.Delta)) (model.Response, error) {
		return model.Response{Content: protocol.Blocks{protocol.TextBlock{Text: "half a"}}}, cut
	})
	if err := l.Run(t.Context()); err != nil || j.String() != "begin stream broken(half a: the stream was cut)" {
		t.Errorf("%s (%v)", j, err)
	}
	l, j = newLoop(func(context.Context, func(model.Delta)) (model.Response, error) { return model.Response{}, cut })
	full := errors.New("the disk is full")
	j.fail["broken(: the stream was cut)"] = full
	if err := l.Run(t.Context()); !errors.Is(err, full) {
		t.Errorf("storing it failed: %v", err)
	}
}

func TestWhatArrivesIsEmittedInOrder(t *testing.T) {
	l, _ := newLoop(func(_ context.Context, emit func(model.Delta)) (model.Response, error) {
		for _, s := range []string{"a", "b", "c"} {
			emit(model.Delta{Text: s})
		}
		return model.Response{}, nil
	})
	var got string
	l.Emit = func(d model.Delta) { got += d.Text }
	if err := l.Run(t.Context()); err != nil || got != "abc" {
		t.Errorf("emitted %q (%v)", got, err)
	}
}

func TestTheCauseOfAnEndIsToldAndNothingMoreBegins(t *testing.T) {
	stop := errors.New("the owner pressed stop")
	t.Run("before it begins", func(t *testing.T) {
		l, j := newLoop()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stop)
		if err := l.Run(ctx); !errors.Is(err, stop) || j.String() != "" {
			t.Errorf("%s (%v)", j, err)
		}
	})
	t.Run("between two calls", func(t *testing.T) {
		l, j := newLoop(asks("w1", "w2"))
		ctx, cancel := context.WithCancelCause(t.Context())
		j.perform = func(_ context.Context, name string) { cancel(stop) }
		if err := l.Run(ctx); !errors.Is(err, stop) || j.String() != "begin stream answer decide(w1,w2) w1" {
			t.Errorf("%s (%v)", j, err)
		}
	})
	t.Run("after the last call", func(t *testing.T) {
		l, j := newLoop(asks("w1"))
		ctx, cancel := context.WithCancelCause(t.Context())
		j.perform = func(context.Context, string) { cancel(stop) }
		if err := l.Run(ctx); !errors.Is(err, stop) || j.String() != "begin stream answer decide(w1) w1" {
			t.Errorf("%s (%v)", j, err)
		}
	})
	t.Run("while the model speaks", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		l, j := newLoop(func(ctx context.Context, _ func(model.Delta)) (model.Response, error) {
			cancel(stop)
			return model.Response{Content: protocol.Blocks{protocol.TextBlock{Text: "so far"}}}, context.Cause(ctx)
		})
		// The journal decides what the end means; the loop only hands it on.
		if err := l.Run(ctx); err != nil || j.String() != "begin stream broken(so far: the owner pressed stop)" {
			t.Errorf("%s (%v)", j, err)
		}
	})
}
