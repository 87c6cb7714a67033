package tooltest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/tool"
)

// careless does what a path says, as a tool without this contract would. Each
// fault is one that the suite must find.
type careless struct {
	openSchema, impure, restless, deaf, blind, misfiled bool
	calls                                               *int
}

type carelessArgs struct {
	Path string `json:"path"`
}

func (c careless) Spec() tool.Spec {
	schema := `{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string"}}}`
	if c.openSchema {
		schema = `{"type":"object","properties":{"path":{"type":"string"}}}`
	}
	effect := protocol.ClassWrite
	if c.misfiled {
		effect = protocol.ClassRead
	}
	return tool.Spec{
		Name: "careless", Description: "x", Group: "fs", Effect: effect, Class: tool.Class{Repeat: tool.RepeatOnce}, Schema: json.RawMessage(schema),
	}
}

func (c careless) path(env tool.Env, raw json.RawMessage) string {
	var a carelessArgs
	// A careless tool does not look at its errors either.
	_ = json.Unmarshal(raw, &a)
	if filepath.IsAbs(a.Path) {
		return a.Path
	}
	return filepath.Join(env.Folders[0].Path, a.Path)
}

func (c careless) Plan(_ context.Context, env tool.Env, raw json.RawMessage) (tool.Plan, error) {
	*c.calls++
	p := tool.Plan{Tool: "careless", Args: raw, Target: "x", Card: tool.Card{Sentence: "x", Reach: []string{"x"}}}
	p.Paths = []tool.PlanPath{{Path: c.path(env, raw)}}
	if c.restless {
		p.Target = string(rune('a' + *c.calls%20))
	}
	if c.impure {
		_ = os.WriteFile(c.path(env, raw)+".lock", nil, 0o600)
	}
	return p, nil
}

func (c careless) Do(ctx context.Context, env tool.Env, p tool.Plan, _ tool.Progress) (tool.Result, error) {
	if ctx.Err() != nil && !c.deaf {
		return tool.Result{}, ctx.Err()
	}
	path := c.path(env, p.Args)
	// It is careless on the ground only, and waits for no pipe.
	if real, err := filepath.EvalSymlinks(path); err != nil || !strings.HasPrefix(real, filepath.Dir(env.Folders[0].Path)+"/") {
		return tool.Result{}, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return tool.Result{}, nil
	}
	if c.blind {
		_ = os.WriteFile(path, []byte("x"), 0o600)
	}
	content, _ := os.ReadFile(path)
	return tool.Result{Content: string(content)}, nil
}

// recorder counts complaints instead of failing.
type recorder struct {
	testing.TB
	complaints int
}

func (r *recorder) Errorf(string, ...any) { r.complaints++ }

// TestTheSuiteFindsPlantedFaults runs each check on a tool with the fault it is
// for, and the harmless ones on a tool without.
func TestTheSuiteFindsPlantedFaults(t *testing.T) {
	for name, c := range map[string]struct {
		tool  careless
		check func(testing.TB, Subject)
	}{
		"an open schema":             {careless{openSchema: true}, checkSchema},
		"classes that disagree":      {careless{misfiled: true}, checkClass},
		"a plan with an effect":      {careless{impure: true}, checkPlanIsPure},
		"plans that differ":          {careless{restless: true}, checkDeterminism},
		"deaf to its context":        {careless{deaf: true}, checkCancel},
		"writes after the end":       {careless{deaf: true, blind: true}, checkCancel},
		"takes a tampered plan":      {careless{}, checkTampering},
		"does not look again":        {careless{blind: true}, checkChanged},
		"follows paths outside":      {careless{}, checkShapes},
		"follows swapped links":      {careless{}, checkSwaps},
		"writes by a swapped link":   {careless{blind: true}, checkSwaps},
		"writes in a read-only room": {careless{blind: true}, checkReadOnly},
	} {
		t.Run(name, func(t *testing.T) {
			c.tool.calls = new(int)
			r := &recorder{TB: t}
			c.check(r, Subject{
				New: func() tool.Tool { return c.tool }, Cases: []Case{{Name: "one", Args: `{"path":"notes.md"}`}},
				PathArgs: func(path string) string { return Args("path", path) }, Writes: true,
			})
			if r.complaints == 0 {
				t.Error("the suite finds nothing")
			}
		})
	}
}

func TestTheSuiteAcceptsWhatIsRight(t *testing.T) {
	calls := 0
	s := Subject{New: func() tool.Tool { return careless{calls: &calls} }, Cases: []Case{{Name: "one", Args: `{"path":"notes.md"}`}}}
	for name, check := range map[string]func(testing.TB, Subject){
		"schema": checkSchema, "class": checkClass, "pure": checkPlanIsPure, "same": checkDeterminism, "context": checkCancel,
	} {
		r := &recorder{TB: t}
		check(r, s)
		if r.complaints > 0 {
			t.Errorf("%s complains of a tool without the fault", name)
		}
	}
}

func TestTreeSeesEveryChange(t *testing.T) {
	for name, change := range map[string]func(*Ground){
		"content": func(g *Ground) { g.Write("notes.md", "x") },
		"mode":    func(g *Ground) { g.Chmod("notes.md", 0o600) },
		"gone":    func(g *Ground) { g.Remove("notes.md") },
		"new":     func(g *Ground) { g.Write("new", "") },
		"folder":  func(g *Ground) { g.Write("newdir/x", ""); g.Remove("newdir/x") },
		"link":    func(g *Ground) { g.Link("x", "y") },
	} {
		g := NewGround(t)
		before := g.Tree()
		if before.Diff(g.Tree()) != "" {
			t.Fatal("two looks differ")
		}
		change(g)
		if before.Diff(g.Tree()) == "" {
			t.Errorf("%s is not seen", name)
		}
	}
}
