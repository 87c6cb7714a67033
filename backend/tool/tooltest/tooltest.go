// Package tooltest is the suite that every tool passes, and the ground it runs
// on. It is for tests only.
//
// Run proves what the contract in package tool says: the schema is a closed
// object, Plan changes nothing and says the same twice, Do refuses what no longer
// matches and what was tampered with, an ended context ends the call, and no path
// of any shape, at no moment, leads out of the agent's folders. Run is shown to
// fail by tools planted in its own tests.
package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/tool"
)

// Subject is a tool under test.
type Subject struct {
	// New makes the tool; it is called for every check.
	New func() tool.Tool
	// Cases are calls that can be planned on a fresh Ground.
	Cases []Case
	// PathArgs writes arguments that name a path, nil when the tool takes none.
	PathArgs func(path string) string
	// Folder says that the path names a folder, else a file.
	Folder bool
	// Writes says that Do changes the file named.
	Writes bool
}

// Case is one valid call.
type Case struct {
	Name string
	Args string
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	t.Helper()
	for _, c := range []struct {
		name  string
		check func(testing.TB, Subject)
	}{
		{"the schema is a closed object", checkSchema},
		{"the classes agree", checkClass},
		{"planning changes nothing", checkPlanIsPure},
		{"planning twice gives one plan", checkDeterminism},
		{"a plan for Do is the one that was made", checkTampering},
		{"an ended context ends the call", checkCancel},
		{"what changed since is refused", checkChanged},
		{"no path leads outside", checkShapes},
		{"no link swapped in time leads outside", checkSwaps},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, s) })
	}
}

func checkSchema(t testing.TB, s Subject) {
	spec := s.New().Spec()
	r, err := tool.NewRegistry(s.New())
	if err != nil {
		t.Errorf("register: %v", err)
		return
	}
	if spec.Description == "" || spec.Group == "" || spec.Effect == "" {
		t.Errorf("description %q, group %q, effect %q", spec.Description, spec.Group, spec.Effect)
	}
	var argument *tool.ArgumentError
	if _, err := r.Check(spec.Name, json.RawMessage(`{"surely_unknown":1}`)); !errors.As(err, &argument) {
		t.Errorf("an unknown argument gives %v", err)
	}
	for _, c := range s.Cases {
		if _, err := r.Check(spec.Name, json.RawMessage(c.Args)); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

func checkClass(t testing.TB, s Subject) {
	spec := s.New().Spec()
	want := map[tool.Repeat][]protocol.EffectClass{
		tool.RepeatRead:  {protocol.ClassRead},
		tool.RepeatLocal: {protocol.ClassAsk, protocol.ClassWrite, protocol.ClassRead},
		tool.RepeatKeyed: {protocol.ClassSend, protocol.ClassWrite},
		tool.RepeatOnce:  {protocol.ClassWrite, protocol.ClassCommand, protocol.ClassSend},
	}
	for _, effect := range want[spec.Class.Repeat] {
		if effect == spec.Effect {
			return
		}
	}
	t.Errorf("repeat %q does not go with effect %q", spec.Class.Repeat, spec.Effect)
}

// plan checks the arguments as a host does and plans.
func plan(s Subject, g *Ground, args string) (tool.Tool, tool.Plan, error) {
	one := s.New()
	r, err := tool.NewRegistry(one)
	if err != nil {
		return one, tool.Plan{}, err
	}
	checked, err := r.Check(one.Spec().Name, json.RawMessage(args))
	if err != nil {
		return one, tool.Plan{}, err
	}
	p, err := one.Plan(context.Background(), g.Env, checked)
	return one, p, err
}

func checkPlanIsPure(t testing.TB, s Subject) {
	for _, c := range s.Cases {
		g := NewGround(t)
		before := g.Tree()
		_, p, err := plan(s, g, c.Args)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if diff := before.Diff(g.Tree()); diff != "" {
			t.Errorf("%s: planning changed the disk: %s", c.Name, diff)
		}
		if p.Tool != s.New().Spec().Name || p.Target == "" || p.Card.Sentence == "" || len(p.Card.Reach) == 0 {
			t.Errorf("%s: the plan lacks tool, target, sentence or reach: %+v", c.Name, p)
		}
		if strings.ContainsAny(p.Card.Sentence, "\n\r") {
			t.Errorf("%s: the sentence has a line end: %q", c.Name, p.Card.Sentence)
		}
		if canonical, err := tool.Canonical(p.Args); err != nil || string(canonical) != string(p.Args) {
			t.Errorf("%s: args are not canonical: %s", c.Name, p.Args)
		}
	}
}

func checkDeterminism(t testing.TB, s Subject) {
	for _, c := range s.Cases {
		g := NewGround(t)
		_, a, errA := plan(s, g, c.Args)
		_, b, errB := plan(s, g, c.Args)
		if errA != nil || errB != nil {
			t.Errorf("%s: %v %v", c.Name, errA, errB)
			continue
		}
		if tool.PlanHash(a) != tool.PlanHash(b) {
			t.Errorf("%s: two plans differ:\n%s\n%s", c.Name, mustJSON(a), mustJSON(b))
		}
		var stored tool.Plan
		if err := json.Unmarshal(mustJSON(a), &stored); err != nil || tool.PlanHash(stored) != tool.PlanHash(a) {
			t.Errorf("%s: storing changes the hash (%v)", c.Name, err)
		}
		if again, err := s.New().Plan(context.Background(), g.Env, a.Args); err != nil || tool.PlanHash(again) != tool.PlanHash(a) {
			t.Errorf("%s: planning from the plan's own args differs (%v)", c.Name, err)
		}
	}
}

func mustJSON(p tool.Plan) []byte {
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return raw
}

// checkTampering changes each hashed part of a plan with effects; Do must see it.
func checkTampering(t testing.TB, s Subject) {
	if s.PathArgs == nil {
		return
	}
	for _, c := range s.Cases {
		for name, tamper := range map[string]func(*tool.Plan, *Ground){
			"another path":   func(p *tool.Plan, g *Ground) { p.Paths[0].Path = g.Secret },
			"no path":        func(p *tool.Plan, _ *Ground) { p.Paths = nil },
			"an outside arg": func(p *tool.Plan, g *Ground) { p.Args = json.RawMessage(s.PathArgs(g.Secret)) },
			"broken args":    func(p *tool.Plan, _ *Ground) { p.Args = json.RawMessage(`{`) },
		} {
			g := NewGround(t)
			one, p, err := plan(s, g, c.Args)
			if err != nil {
				t.Errorf("%s: %v", c.Name, err)
				continue
			}
			tamper(&p, g)
			before := g.Tree()
			r, err := one.Do(context.Background(), g.Env, p, nil)
			if !errors.Is(err, tool.ErrPlanChanged) {
				t.Errorf("%s with %s: result %q, error %v", c.Name, name, r.Content, err)
			}
			if diff := before.Diff(g.Tree()); diff != "" {
				t.Errorf("%s with %s changed the disk: %s", c.Name, name, diff)
			}
		}
	}
}

func checkCancel(t testing.TB, s Subject) {
	for _, c := range s.Cases {
		g := NewGround(t)
		one, p, err := plan(s, g, c.Args)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if _, asks := one.(tool.Asker); asks {
			continue
		}
		before := g.Tree()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r, err := one.Do(ctx, g.Env, p, nil)
		if err == nil && (r.Outcome != protocol.OutcomeStopped || !r.IsError) {
			t.Errorf("%s: outcome %q after the context ended", c.Name, r.Outcome)
		}
		if diff := before.Diff(g.Tree()); diff != "" {
			t.Errorf("%s: changed the disk after the context ended: %s", c.Name, diff)
		}
	}
}

// checkChanged replaces what the plan names by something else; a tool with
// effects must refuse, and a tool without must not follow.
func checkChanged(t testing.TB, s Subject) {
	if s.PathArgs == nil {
		return
	}
	for name, change := range map[string]func(*Ground){
		"content": func(g *Ground) { g.Write("swap/in.txt", "changed since") },
		"mode":    func(g *Ground) { g.Chmod("swap/in.txt", 0o600) },
		"removed": func(g *Ground) { g.Remove("swap") },
		"a link":  func(g *Ground) { g.Remove("swap"); g.Link(g.Outside, "swap") },
		"a file":  func(g *Ground) { g.Remove("swap"); g.Write("swap", "now a file") },
	} {
		if (name == "content" || name == "mode") && !s.Writes {
			continue
		}
		g := NewGround(t)
		one, p, err := plan(s, g, s.PathArgs(s.swapPath()))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		change(g)
		before := g.Tree()
		r, err := one.Do(context.Background(), g.Env, p, nil)
		if !errors.Is(err, tool.ErrPlanChanged) {
			t.Errorf("%s: result %q, error %v", name, r.Content, err)
		}
		if diff := before.Diff(g.Tree()); diff != "" {
			t.Errorf("%s: a refused plan changed the disk: %s", name, diff)
		}
	}
}

func (s Subject) swapPath() string {
	if s.Folder {
		return "swap"
	}
	return "swap/in.txt"
}
