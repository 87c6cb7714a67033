package files_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/tool"
	"countersign/backend/tool/files"
	"countersign/backend/tool/tooltest"
)

func TestWriteMakesAFileWithItsFolders(t *testing.T) {
	g := tooltest.NewGround(t)
	p, r := do(t, files.Write{}, g, "path", "new/deep/file.txt", "content", "a\nb\nc\n")
	if g.Read("new/deep/file.txt") != "a\nb\nc\n" {
		t.Error("other content")
	}
	if p.Card.Sentence != "Write new/deep/file.txt (new file, 3 lines)" || p.Target != "new/deep/file.txt" || p.Paths[0].Exists || p.Before.Exists {
		t.Errorf("plan %+v", p)
	}
	if !slices.Contains(p.Card.Reach, "Makes the folder new/deep.") || p.Card.Diff != "--- /dev/null\n+++ new/deep/file.txt\n@@ -0,0 +1,3 @@\n+a\n+b\n+c\n" {
		t.Errorf("reach %q, diff %q", p.Card.Reach, p.Card.Diff)
	}
	if r.Lines != 3 || *r.Evidence.ExistedBefore || r.Evidence.HashBefore != "" || r.Evidence.BytesWritten != 6 {
		t.Errorf("result %+v", r)
	}
	undone, err := files.Undo(context.Background(), g.Env, *p.Before, r.AfterSHA256)
	must(t, err)
	if _, err := os.Stat(filepath.Join(g.Workspace, "new/deep/file.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the file is still there")
	}
	if _, err := os.Stat(filepath.Join(g.Workspace, "new/deep")); err != nil {
		t.Error("the folder is gone")
	}
	if undone.Evidence.HashBefore != r.AfterSHA256 || undone.Evidence.HashAfter != "" {
		t.Errorf("evidence %+v", undone.Evidence)
	}
}

func TestWriteKeepsTheMode(t *testing.T) {
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o664, 0o755} {
		g := tooltest.NewGround(t)
		g.Chmod("notes.md", mode)
		p, r := do(t, files.Write{}, g, "path", "notes.md", "content", "x\n")
		path := filepath.Join(g.Workspace, "notes.md")
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode() != mode || p.Before.Mode != uint32(mode) {
			t.Errorf("mode %v, planned %o, want %v", info.Mode(), p.Before.Mode, mode)
		}
		must(t, os.Chmod(path, 0o640))
		_, err = files.Undo(context.Background(), g.Env, *p.Before, r.AfterSHA256)
		must(t, err)
		if info, err = os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("undone to mode %v, want %v", info.Mode(), mode)
		}
	}
}

func TestAFileMarkedReadOnlyIsLeftAlone(t *testing.T) {
	g := tooltest.NewGround(t)
	g.Chmod("notes.md", 0o444)
	_, err := files.Write{}.Plan(context.Background(), g.Env, json.RawMessage(`{"path":"notes.md","content":"x"}`))
	var argument *tool.ArgumentError
	if !errors.As(err, &argument) || !strings.Contains(err.Error(), "read-only") {
		t.Error(err)
	}
}

func TestAWriteThroughALinkKeepsTheLink(t *testing.T) {
	g := tooltest.NewGround(t)
	g.Link("sub/deep/leaf.txt", "link.txt")
	g.Link(g.Workspace+"/sub", "sublink")
	p, _ := do(t, files.Write{}, g, "path", "link.txt", "content", "x\n")
	if p.Target != "sub/deep/leaf.txt" || g.Read("sub/deep/leaf.txt") != "x\n" {
		t.Errorf("target %s", p.Target)
	}
	if info, err := os.Lstat(filepath.Join(g.Workspace, "link.txt")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if p, _ = do(t, files.Write{}, g, "path", "sublink/new.txt", "content", "y"); p.Target != "sub/new.txt" {
		t.Errorf("target %s", p.Target)
	}
}

func TestTheOtherNameOfAFileKeepsItsContent(t *testing.T) {
	g := tooltest.NewGround(t)
	must(t, os.Link(filepath.Join(g.Workspace, "notes.md"), filepath.Join(g.Workspace, "second.md")))
	before := g.Read("notes.md")
	p, _ := do(t, files.Write{}, g, "path", "notes.md", "content", "x\n")
	if g.Read("second.md") != before || g.Read("notes.md") != "x\n" || !strings.Contains(p.Card.Warning, "hard link") {
		t.Errorf("warning %q", p.Card.Warning)
	}
}

func TestNamesThatDoNotTravel(t *testing.T) {
	g := tooltest.NewGround(t)
	for _, path := range []string{"file.", "file ", "dir./file", " file"} {
		_, err := files.Write{}.Plan(context.Background(), g.Env, json.RawMessage(tooltest.Args("path", path, "content", "x")))
		var argument *tool.ArgumentError
		if !errors.As(err, &argument) {
			t.Errorf("%q: %v", path, err)
		}
	}
	g.Write("old.", "there already")
	do(t, files.Write{}, g, "path", "old.", "content", "x")
	do(t, files.Write{}, g, "path", "NOTES.md", "content", "upper\n")
	if g.Read("notes.md") == "upper\n" && g.Read("NOTES.md") != "upper\n" {
		t.Error("the wrong name was written")
	}
}

func TestALargeFileSaysThatItCannotBeUndone(t *testing.T) {
	g := tooltest.NewGround(t)
	f, err := os.Create(filepath.Join(g.Workspace, "large"))
	must(t, err)
	must(t, f.Truncate(32<<20+1))
	must(t, f.Close())
	p, r := do(t, files.Write{}, g, "path", "large", "content", "small\n")
	if p.Before != nil || !strings.Contains(p.Card.Warning, "cannot be undone") || r.AfterSHA256 != "" || p.Card.Truncated {
		t.Errorf("before %v, warning %q, after %q", p.Before != nil, p.Card.Warning, r.AfterSHA256)
	}
	if g.Read("large") != "small\n" || p.Card.Sentence != "Replace all of large with 1 line" {
		t.Errorf("sentence %q", p.Card.Sentence)
	}
}

func TestBinaryContentIsNotShown(t *testing.T) {
	g := tooltest.NewGround(t)
	g.Write("logo.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x10\x00\x00\x00\x20\x08\x06\x00\x00\x00\x23\x3a\x2d\x62")
	p, r := do(t, files.Write{}, g, "path", "logo.png", "content", "text\n")
	if !strings.Contains(p.Card.Warning, "PNG picture") || !strings.Contains(p.Card.Diff, "+text") || strings.Contains(p.Card.Diff, "IHDR") {
		t.Errorf("warning %q, diff %q", p.Card.Warning, p.Card.Diff)
	}
	_, err := files.Undo(context.Background(), g.Env, *p.Before, r.AfterSHA256)
	must(t, err)
	if !strings.HasPrefix(g.Read("logo.png"), "\x89PNG") {
		t.Error("not restored")
	}
}

func TestALongDiffIsMarkedCut(t *testing.T) {
	g := tooltest.NewGround(t)
	p := plan(t, files.Write{}, g, "path", "long.txt", "content", strings.Repeat("0123456789abcdef\n", 30000))
	if !p.Card.Truncated {
		t.Error("not marked")
	}
}

func TestFilesThatRunByThemselvesAreHighRisk(t *testing.T) {
	g := tooltest.NewGround(t)
	g.Write("tool.sh", "#!/bin/sh\n")
	g.Chmod("tool.sh", 0o755)
	for path, want := range map[string]bool{
		".git/hooks/pre-commit": true, ".envrc": true, "sub/.bashrc": true, "tool.sh": true, ".github/workflows/ci.yml": true,
		"notes.md": false, "sub/deep/leaf.txt": false, "git/hooks/x": false,
	} {
		p := plan(t, files.Write{}, g, "path", path, "content", "x\n")
		if p.Card.HighRisk != want || want != strings.Contains(p.Card.Warning, "Careful") {
			t.Errorf("%s: high risk %v, warning %q", path, p.Card.HighRisk, p.Card.Warning)
		}
	}
}

func TestWhatAppearsInTheWayIsANewQuestion(t *testing.T) {
	for _, name := range []string{"a", "a/b", "a/b/c/new.txt"} {
		g := tooltest.NewGround(t)
		p := plan(t, files.Write{}, g, "path", "a/b/c/new.txt", "content", "x")
		g.Write(name, "in the way")
		before := g.Tree()
		if _, err := (files.Write{}).Do(context.Background(), g.Env, p, nil); !errors.Is(err, tool.ErrPlanChanged) {
			t.Errorf("%s: %v", name, err)
		}
		if diff := before.Diff(g.Tree()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhatChangedIsSaidInWords(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*tooltest.Ground)
		want   string
	}{
		"content":     {func(g *tooltest.Ground) { g.Write("notes.md", "first\nother\n") }, "notes.md was changed."},
		"permissions": {func(g *tooltest.Ground) { g.Chmod("notes.md", 0o755) }, "the permissions of notes.md became 0755, which were 0644."},
		"both": {func(g *tooltest.Ground) { g.Write("notes.md", "first\n"); g.Chmod("notes.md", 0o600) },
			"the permissions of notes.md became 0600, which were 0644 and notes.md was changed."},
	} {
		g := tooltest.NewGround(t)
		before := plan(t, files.Edit{}, g, "path", "notes.md", "old", "first", "new", "FIRST")
		c.change(g)
		after := plan(t, files.Edit{}, g, "path", "notes.md", "old", "first", "new", "FIRST")
		if got := tool.Changed(files.Edit{}, before, after); got != "Since you allowed this, "+c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestUndoRefusesWhatCameAfter(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*tooltest.Ground)
		sentence string
		already  bool
	}{
		"changed":  {func(g *tooltest.Ground) { g.Write("notes.md", "later\n") }, "notes.md has been changed since", false},
		"removed":  {func(g *tooltest.Ground) { g.Remove("notes.md") }, "notes.md has been removed since", false},
		"restored": {func(g *tooltest.Ground) { g.Write("notes.md", "# Notes\n\nfirst\nsecond\n") }, "already as it was", true},
		"a link": {func(g *tooltest.Ground) {
			g.Write("elsewhere", g.Read("notes.md"))
			g.Remove("notes.md")
			g.Link("elsewhere", "notes.md")
		}, "reached by another way", false},
		"a link out": {func(g *tooltest.Ground) { g.Remove("notes.md"); g.Link(g.Secret, "notes.md") }, "", false},
		"a folder":   {func(g *tooltest.Ground) { g.Remove("notes.md"); g.Write("notes.md/x", "") }, "reached by another way", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := tooltest.NewGround(t)
			p, r := do(t, files.Write{}, g, "path", "notes.md", "content", "x\n")
			c.change(g)
			before := g.Tree()
			_, err := files.Undo(context.Background(), g.Env, *p.Before, r.AfterSHA256)
			var conflict *tool.ConflictError
			var denied *tool.DeniedError
			switch {
			case c.sentence == "" && !errors.As(err, &denied):
				t.Errorf("error %v", err)
			case c.sentence != "" && (!errors.As(err, &conflict) || !strings.Contains(conflict.Sentence, c.sentence) || conflict.AlreadyRestored != c.already):
				t.Errorf("error %v", err)
			}
			if diff := before.Diff(g.Tree()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUndoNeedsAPlaceItMayChange(t *testing.T) {
	g := tooltest.NewGround(t)
	p, r := do(t, files.Write{}, g, "path", "notes.md", "content", "x\n")
	for name, change := range map[string]func(*tool.FileState, *tool.Env){
		"outside":   func(b *tool.FileState, _ *tool.Env) { b.Path = g.Secret },
		"read-only": func(_ *tool.FileState, e *tool.Env) { e.Folders = []tool.Folder{{Path: g.Workspace}} },
		"hidden":    func(_ *tool.FileState, e *tool.Env) { e.Hide = []string{g.Workspace} },
	} {
		before, env := *p.Before, g.Env
		change(&before, &env)
		var denied *tool.DeniedError
		if _, err := files.Undo(context.Background(), env, before, r.AfterSHA256); !errors.As(err, &denied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := *p.Before
	broken.Content = []byte("other")
	if _, err := files.Undo(context.Background(), g.Env, broken, r.AfterSHA256); err == nil {
		t.Error("content that does not match its hash is restored")
	}
	if _, err := files.Undo(context.Background(), g.Env, *p.Before, ""); err == nil {
		t.Error("undo without a hash is done")
	}
}

func TestUndoWithAnEndedContextChangesNothing(t *testing.T) {
	g := tooltest.NewGround(t)
	p, r := do(t, files.Write{}, g, "path", "notes.md", "content", "x\n")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got, err := files.Undo(ctx, g.Env, *p.Before, r.AfterSHA256)
	if err == nil && got.Outcome != protocol.OutcomeStopped || g.Read("notes.md") != "x\n" {
		t.Errorf("%+v %v", got, err)
	}
}

func TestResolveTellsWhetherItHappened(t *testing.T) {
	edit := func(g *tooltest.Ground) (tool.Tool, tool.Plan) {
		return files.Edit{}, plan(t, files.Edit{}, g, "path", "notes.md", "old", "first", "new", "1st")
	}
	create := func(g *tooltest.Ground) (tool.Tool, tool.Plan) {
		return files.Write{}, plan(t, files.Write{}, g, "path", "x/new.txt", "content", "a\nb\n")
	}
	run := func(g *tooltest.Ground, one tool.Tool, p tool.Plan) {
		_, err := one.Do(context.Background(), g.Env, p, nil)
		must(t, err)
	}
	for _, c := range []struct {
		name    string
		plan    func(*tooltest.Ground) (tool.Tool, tool.Plan)
		happens func(*tooltest.Ground, tool.Tool, tool.Plan)
		ok      bool
		outcome protocol.Outcome
	}{
		{"edit done", edit, run, true, protocol.OutcomeDone},
		{"edit not begun", edit, func(*tooltest.Ground, tool.Tool, tool.Plan) {}, true, protocol.OutcomeFailed},
		{"edit, then changed", edit, func(g *tooltest.Ground, _ tool.Tool, _ tool.Plan) { g.Write("notes.md", "later") }, false, ""},
		{"edit, then removed", edit, func(g *tooltest.Ground, _ tool.Tool, _ tool.Plan) { g.Remove("notes.md") }, false, ""},
		{"new done", create, run, true, protocol.OutcomeDone},
		{"new not begun", create, func(*tooltest.Ground, tool.Tool, tool.Plan) {}, true, protocol.OutcomeFailed},
		{"new, other content", create, func(g *tooltest.Ground, _ tool.Tool, _ tool.Plan) { g.Write("x/new.txt", "z") }, false, ""},
		{"workspace gone", create, func(g *tooltest.Ground, _ tool.Tool, _ tool.Plan) { must(t, os.RemoveAll(g.Workspace)) }, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := tooltest.NewGround(t)
			one, p := c.plan(g)
			c.happens(g, one, p)
			var stored tool.Plan
			raw, err := json.Marshal(p)
			must(t, err)
			must(t, json.Unmarshal(raw, &stored))
			stored.Before = p.Before
			r, ok, err := one.(tool.Resolver).Resolve(context.Background(), g.Env, stored)
			must(t, err)
			if ok != c.ok || r.Outcome != c.outcome {
				t.Errorf("ok %v, result %+v", ok, r)
			}
			if c.outcome == protocol.OutcomeDone {
				if _, err := files.Undo(context.Background(), g.Env, *p.Before, r.AfterSHA256); err != nil {
					t.Errorf("undo after resolving: %v", err)
				}
			}
			if c.outcome == protocol.OutcomeFailed && r.Evidence.Note != "did not happen" {
				t.Errorf("note %q", r.Evidence.Note)
			}
		})
	}
}

// TestWhatACrashLeftIsSwept finds the temporary file's name by watching a write
// whose folder refuses the renaming at the last moment.
func TestWhatACrashLeftIsSwept(t *testing.T) {
	g := tooltest.NewGround(t)
	p := plan(t, files.Write{}, g, "path", "notes.md", "content", "x\n")
	name := files.TempName(p)
	g.Write(name, "half of it")
	r, ok, err := files.Write{}.Resolve(context.Background(), g.Env, p)
	if err != nil || !ok || r.Outcome != protocol.OutcomeFailed {
		t.Fatalf("%v %v %+v", err, ok, r)
	}
	if _, err := os.Stat(filepath.Join(g.Workspace, name)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it is still there")
	}
	// A link put at that name is removed and never written through.
	g.Link(g.Secret, name)
	before := g.OutsideTree()
	_, err = files.Write{}.Do(context.Background(), g.Env, p, nil)
	must(t, err)
	if diff := before.Diff(g.OutsideTree()); diff != "" || g.Read("notes.md") != "x\n" {
		t.Error(diff)
	}
}

// TestPlansAreTheSameInAnotherProcess plans in a child and compares the hashes.
func TestPlansAreTheSameInAnotherProcess(t *testing.T) {
	if dir := os.Getenv("COUNTERSIGN_PLAN_IN"); dir != "" {
		env := tool.Env{Folders: []tool.Folder{{Path: dir, Writable: true}}}
		for _, p := range plansIn(t, env) {
			_, err := os.Stdout.WriteString("hash " + tool.PlanHash(p) + "\n")
			must(t, err)
		}
		return
	}
	g := tooltest.NewGround(t)
	g.Env.Folders, g.Env.Hide = g.Env.Folders[:1], nil
	var want []string
	for _, p := range plansIn(t, g.Env) {
		want = append(want, "hash "+tool.PlanHash(p))
	}
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, "-test.run=^TestPlansAreTheSameInAnotherProcess$")
	cmd.Env = append(os.Environ(), "COUNTERSIGN_PLAN_IN="+g.Workspace)
	out, err := cmd.Output()
	must(t, err)
	var got []string
	for line := range bytes.Lines(out) {
		if bytes.HasPrefix(line, []byte("hash ")) {
			got = append(got, strings.TrimSpace(string(line)))
		}
	}
	if !slices.Equal(got, want) || len(got) != 3 {
		t.Errorf("got %q, want %q", got, want)
	}
}

func plansIn(t *testing.T, env tool.Env) []tool.Plan {
	t.Helper()
	var out []tool.Plan
	for _, c := range []struct {
		one  tool.Tool
		args string
	}{
		{files.Read{}, `{"path":"notes.md"}`}, {files.Write{}, `{"path":"n/x.txt","content":"<é>"}`}, {files.Edit{}, `{"path":"crlf.txt","old":"two","new":"2"}`},
	} {
		p, err := c.one.Plan(context.Background(), env, json.RawMessage(c.args))
		must(t, err)
		out = append(out, p)
	}
	return out
}
