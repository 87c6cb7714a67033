package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/backend/tool"
)

func onePlan() tool.Plan {
	return tool.Plan{
		Tool: "write", Args: json.RawMessage(`{"content":"<é>&\u2028","path":"notes.md"}`), Target: "notes.md",
		Paths:  []tool.PlanPath{{Path: "/ws/notes.md", Write: true, Exists: true, SHA256: "00ff"}},
		Detail: json.RawMessage(`{"lines":3,"afterSha256":"ab"}`),
	}
}

// TestPlanHashIsFixed holds the hash of one plan: approvals on disk are bound to
// it, so a change of it voids every approval that waits.
func TestPlanHashIsFixed(t *testing.T) {
	const want = "69c3581b784910d56718d81f55ba87e1792d057b1f799a00e62d1f8e79bee149"
	if got := tool.PlanHash(onePlan()); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestPlanHashIgnoresHowItIsWritten(t *testing.T) {
	want := tool.PlanHash(onePlan())
	spaced := onePlan()
	spaced.Args = json.RawMessage(` { "path": "notes.md", "content": "\u003c\u00e9\u003e\u0026\u2028" } `)
	spaced.Detail = json.RawMessage(`{"afterSha256":"ab", "lines":3.0}`)
	if tool.PlanHash(spaced) != want {
		t.Error("spaces, order or escapes change the hash")
	}
	shown := onePlan()
	shown.Card.Sentence = "Write it"
	shown.Before = &tool.FileState{Path: "x"}
	if tool.PlanHash(shown) != want {
		t.Error("the card changes the hash")
	}
}

func TestEveryHashedPartChangesThePlanHash(t *testing.T) {
	seen := map[string]string{tool.PlanHash(onePlan()): "the plan itself"}
	for name, change := range map[string]func(*tool.Plan){
		"tool":      func(p *tool.Plan) { p.Tool = "edit" },
		"args":      func(p *tool.Plan) { p.Args = json.RawMessage(`{}`) },
		"target":    func(p *tool.Plan) { p.Target = "x" },
		"path":      func(p *tool.Plan) { p.Paths[0].Path = "/ws/other" },
		"exists":    func(p *tool.Plan) { p.Paths[0].Exists = false },
		"write":     func(p *tool.Plan) { p.Paths[0].Write = false },
		"outside":   func(p *tool.Plan) { p.Paths[0].Outside = true },
		"sha":       func(p *tool.Plan) { p.Paths[0].SHA256 = "01" },
		"no paths":  func(p *tool.Plan) { p.Paths = nil },
		"detail":    func(p *tool.Plan) { p.Detail = json.RawMessage(`{}`) },
		"outward":   func(p *tool.Plan) { p.Outward = true },
		"broken":    func(p *tool.Plan) { p.Args = json.RawMessage(`{`) },
		"big float": func(p *tool.Plan) { p.Detail = json.RawMessage(`{"n":9007199254740993}`) },
		"its like":  func(p *tool.Plan) { p.Detail = json.RawMessage(`{"n":9007199254740992}`) },
	} {
		p := onePlan()
		change(&p)
		hash := tool.PlanHash(p)
		if other, ok := seen[hash]; ok {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[hash] = name
	}
}

func TestCanonicalRefusesWhatIsNotOneValue(t *testing.T) {
	for _, raw := range []string{"", "{} 1", "{", "\xff", "nul"} {
		if got, err := tool.Canonical([]byte(raw)); err == nil {
			t.Errorf("%q: %s", raw, got)
		}
	}
	if got, err := tool.Canonical([]byte(`{"b":1.0,"a":{"d":[2e0,"x"],"c":1e30}}`)); err != nil || string(got) != `{"a":{"c":1e30,"d":[2,"x"]},"b":1}` {
		t.Errorf("%s %v", got, err)
	}
}

func TestDecodeTellsTheModel(t *testing.T) {
	var into struct{ Path string }
	for _, raw := range []string{`{"other":1}`, `{"path":1}`, `{`, ``} {
		if err := tool.Decode(json.RawMessage(raw), &into); err == nil || !strings.HasPrefix(err.Error(), "The arguments could not be read") {
			t.Errorf("%q: %v", raw, err)
		}
	}
}
