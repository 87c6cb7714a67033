package exec_test

import (
	"encoding/json"
	"testing"

	"countersign/backend/sandbox"
	"countersign/backend/tool"
	toolexec "countersign/backend/tool/exec"
	"countersign/backend/tool/tooltest"
)

// TestWhatChangedIsSaidInWords has every part of a command's plan: what a person
// allowed and what is asked now differ in it alone.
func TestWhatChangedIsSaidInWords(t *testing.T) {
	for name, c := range map[string]struct {
		args   string
		change func(g *tooltest.Ground, r *fakeRunner, environ *[]string)
		want   string
	}{
		"a script": {`{"argv":["sh","build.sh"]}`, func(g *tooltest.Ground, _ *fakeRunner, _ *[]string) {
			g.Write("build.sh", "echo two\n")
		}, "build.sh was changed."},
		"a script that is gone": {`{"argv":["sh","build.sh"]}`, func(g *tooltest.Ground, _ *fakeRunner, _ *[]string) {
			g.Remove("build.sh")
		}, "build.sh was removed."},
		"a file it reads": {`{"argv":["cat","new.txt"]}`, func(g *tooltest.Ground, _ *fakeRunner, _ *[]string) {
			g.Write("new.txt", "x")
		}, "new.txt appeared."},
		"a program": {`{"argv":["./tool"]}`, func(g *tooltest.Ground, _ *fakeRunner, _ *[]string) {
			g.Write("tool", "#!/bin/sh\necho two\n")
		}, "the program ./tool was changed."},
		"two things": {`{"argv":["sh","build.sh"]}`, func(g *tooltest.Ground, _ *fakeRunner, _ *[]string) {
			g.Write("build.sh", "echo two\n")
			g.Env.Network = true
		}, "build.sh was changed and the network was switched on."},
		"the sandbox": {`{"argv":["ls"]}`, func(_ *tooltest.Ground, r *fakeRunner, _ *[]string) {
			r.mechanism = sandbox.MechanismNone
		}, `its sandbox became "none", which was "bubblewrap".`},
		"a folder more": {`{"argv":["ls"]}`, func(g *tooltest.Ground, _ *fakeRunner, _ *[]string) {
			g.Env.Folders = append(g.Env.Folders, tool.Folder{Path: "/usr/share/doc"})
		}, "the folder /usr/share/doc came into its reach."},
		"what is hidden": {`{"argv":["ls"]}`, func(g *tooltest.Ground, _ *fakeRunner, _ *[]string) {
			g.Env.Hide = nil
		}, "what is hidden from it became something else."},
		"a variable": {`{"argv":["ls"]}`, func(_ *tooltest.Ground, _ *fakeRunner, environ *[]string) {
			*environ = append(*environ, "LANG=C")
		}, "the variable LANG came into its sight."},
		"its time": {`{"argv":["ls"]}`, func(g *tooltest.Ground, _ *fakeRunner, _ *[]string) {
			g.Env.TimeoutSeconds = 5
		}, "its time limit became 5 seconds, which was 60."},
	} {
		t.Run(name, func(t *testing.T) {
			g, r := tooltest.NewGround(t), &fakeRunner{}
			environ := []string{"PATH=/usr/bin:/bin"}
			g.Write("build.sh", "echo one\n")
			g.Write("tool", "#!/bin/sh\necho one\n")
			g.Chmod("tool", 0o755)
			before := stored(t, plan(t, toolexec.New(r, environ), g, c.args))
			c.change(g, r, &environ)
			one := toolexec.New(r, environ)
			if got, want := tool.Changed(one, before, plan(t, one, g, c.args)), "Since you allowed this, "+c.want; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// stored is a plan as it comes back from a database.
func stored(t *testing.T, p tool.Plan) (out tool.Plan) {
	t.Helper()
	raw, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
