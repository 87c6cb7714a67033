package practice_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/backend/model"
	"countersign/backend/protocol"
	"countersign/backend/tool"
	"countersign/backend/tool/ask"
	"countersign/backend/tool/exec"
	"countersign/backend/tool/files"
)

// TestEveryToolTakesItsCalls drives the product's own tools: each call fits the
// schema, and those on files do what was asked.
func TestEveryToolTakesItsCalls(t *testing.T) {
	registry, err := tool.NewRegistry(append(files.New(), exec.New(nil, nil), ask.New())...)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	env := tool.Env{Folders: []tool.Folder{{Path: folder, Writable: true}}}
	used := make(map[string]bool)
	c := &talk{t: t}
	for _, s := range registry.Specs() {
		c.offered = append(c.offered, model.ToolSpec{Name: s.Name, Description: s.Description, Schema: s.Schema})
	}
	c.answer = func(call protocol.ToolCallBlock) (string, bool) {
		used[call.Name] = true
		args, err := registry.Check(call.Name, call.Arguments)
		if err != nil {
			t.Errorf("%s%s: %v", call.Name, call.Arguments, err)
			return err.Error(), false
		}
		if call.Name == "exec" || call.Name == "ask" {
			return "fine", true
		}
		the, _ := registry.Get(call.Name)
		plan, err := the.Plan(t.Context(), env, args)
		if err != nil {
			return err.Error(), false
		}
		result, err := the.Do(t.Context(), env, plan, nil)
		if err != nil {
			t.Error(err)
		}
		return result.Content, !result.IsError
	}
	got := c.say("write notes.md: hello TODO then list this folder then read lines 1 to 5 of notes.md then replace hello with good morning in notes.md " +
		"then search for TODO then run ls -la then run `ls` in . then ask me whether to stop then ask me which colour: red or blue then ask me what it is called then read notes.md")
	raw, err := os.ReadFile(filepath.Join(folder, "notes.md"))
	if err != nil || string(raw) != "good morning TODO" {
		t.Errorf("%q, %v", raw, err)
	}
	for _, s := range registry.Specs() {
		if !used[s.Name] {
			t.Errorf("the tool %s was not driven: %s", s.Name, got)
		}
	}
	if !strings.Contains(got, "All 11 steps are done") || !strings.Contains(got, "good morning TODO") {
		t.Error(got)
	}
}
