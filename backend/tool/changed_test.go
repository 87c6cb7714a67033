package tool_test

import (
	"encoding/json"
	"testing"

	"countersign/backend/tool"
)

// compared is a tool that has words of its own for what differs.
type compared struct {
	tool.Tool
	clauses []string
}

func (c compared) Changed(_, _ tool.Plan) []string { return c.clauses }

func TestChangedSaysWhatDiffersInOneSentence(t *testing.T) {
	file := func(change func(*tool.PlanPath)) tool.Plan {
		p := tool.PlanPath{Path: "/w/notes/a.md", Exists: true, SHA256: "1"}
		change(&p)
		return tool.Plan{Args: json.RawMessage(`{}`), Target: "notes/a.md", Paths: []tool.PlanPath{p}}
	}
	same := file(func(*tool.PlanPath) {})
	args, outward := same, same
	args.Args, outward.Outward = json.RawMessage(`{"n":2}`), true
	for name, c := range map[string]struct {
		tool          tool.Tool
		before, after tool.Plan
		want          string
	}{
		"content":      {nil, same, file(func(p *tool.PlanPath) { p.SHA256 = "2" }), "notes/a.md was changed."},
		"gone":         {nil, same, file(func(p *tool.PlanPath) { p.Exists, p.SHA256 = false, "" }), "notes/a.md was removed."},
		"new":          {nil, file(func(p *tool.PlanPath) { p.Exists, p.SHA256 = false, "" }), same, "notes/a.md appeared."},
		"writable":     {nil, same, file(func(p *tool.PlanPath) { p.Write = true }), "notes/a.md became changeable for it."},
		"not any more": {nil, file(func(p *tool.PlanPath) { p.Write = true }), same, "notes/a.md became read-only for it."},
		"elsewhere": {nil, same, file(func(p *tool.PlanPath) { p.Path = "/x/a.md" }),
			"it came to act on /x/a.md and it no longer acts on /w/notes/a.md."},
		"outside":    {nil, same, file(func(p *tool.PlanPath) { p.Outside = true }), "notes/a.md came to lie in another folder of the agent."},
		"arguments":  {nil, same, args, "its arguments became others."},
		"network":    {nil, same, outward, "it got a way to the network."},
		"no network": {nil, outward, same, "it lost its way to the network."},
		"no words":   {nil, same, same, "something changed in what it would do."},
		"own words":  {compared{clauses: []string{"a", "b"}}, same, args, "a and b."},
		"said twice": {compared{clauses: []string{"notes/a.md was changed"}}, same, file(func(p *tool.PlanPath) { p.SHA256 = "2" }), "notes/a.md was changed."},
		"four":       {compared{clauses: []string{"a", "b", "c", "d"}}, same, same, "a, b, c and d."},
		"too many":   {compared{clauses: []string{"a", "b", "c", "d", "e"}}, same, same, "a, b, c and 2 more things changed."},
	} {
		if got, want := tool.Changed(c.tool, c.before, c.after), "Since you allowed this, "+c.want; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
