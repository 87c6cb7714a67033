package files_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"countersign/backend/protocol"
	"countersign/backend/tool"
	"countersign/backend/tool/files"
	"countersign/backend/tool/tooltest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func plan(t testing.TB, one tool.Tool, g *tooltest.Ground, pairs ...any) tool.Plan {
	t.Helper()
	p, err := one.Plan(context.Background(), g.Env, json.RawMessage(tooltest.Args(pairs...)))
	must(t, err)
	return p
}

func do(t testing.TB, one tool.Tool, g *tooltest.Ground, pairs ...any) (tool.Plan, tool.Result) {
	t.Helper()
	p := plan(t, one, g, pairs...)
	r, err := one.Do(context.Background(), g.Env, p, nil)
	must(t, err)
	return p, r
}

func utf16le(s string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func utf16be(s string) string {
	out := []byte{0xfe, 0xff}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u>>8), byte(u))
	}
	return string(out)
}

// TestEditChangesTheAskedBytesOnly compares whole files byte for byte.
func TestEditChangesTheAskedBytesOnly(t *testing.T) {
	const bom = "\xEF\xBB\xBF"
	for _, c := range []struct {
		name, before, old, now, after string
		all                           bool
	}{
		{name: "one word", before: "a b c\n", old: "b", now: "B", after: "a B c\n"},
		{name: "crlf stays", before: "one\r\ntwo\r\nthree\r\n", old: "two", now: "2", after: "one\r\n2\r\nthree\r\n"},
		{name: "crlf across lines", before: "one\r\ntwo\r\nthree\r\n", old: "one\ntwo", now: "1\n2", after: "1\r\n2\r\nthree\r\n"},
		{name: "crlf inserted line", before: "one\r\ntwo\r\n", old: "one\n", now: "one\nand\n", after: "one\r\nand\r\ntwo\r\n"},
		{name: "crlf removed line", before: "one\r\ntwo\r\nthree\r\n", old: "two\n", now: "", after: "one\r\nthree\r\n"},
		{name: "crlf given", before: "one\r\ntwo\r\n", old: "one\r\ntwo", now: "1\r\n2", after: "1\r\n2\r\n"},
		{name: "crlf given for an lf file", before: "one\ntwo\n", old: "one\r\ntwo", now: "1\r\n2", after: "1\n2\n"},
		{name: "lone cr stays", before: "one\rtwo\rthree", old: "two", now: "2", after: "one\r2\rthree"},
		{name: "lone cr across lines", before: "one\rtwo\rthree", old: "one\ntwo", now: "1\nx\n2", after: "1\rx\r2\rthree"},
		{name: "mixed ends", before: "a\r\nb\nc\rd\n", old: "b\nc", now: "B\nC", after: "a\r\nB\nC\rd\n"},
		{name: "mixed, line put in", before: "a\r\nb\nc\rd\n", old: "a\nb\nc\n", now: "a\nb\nx\nc\n", after: "a\r\nb\nx\nc\rd\n"},
		{name: "mixed, line put after crlf", before: "a\r\nb\nc\n", old: "a\nb", now: "a\nx\nb", after: "a\r\nx\r\nb\nc\n"},
		{name: "crlf turned into lf on request", before: "a\r\nb\r\n", old: "a\r\n", now: "a\n", after: "a\nb\r\n"},
		{name: "bom stays", before: bom + "one\ntwo\n", old: "one", now: "1", after: bom + "1\ntwo\n"},
		{name: "bom in the passage", before: bom + "one\n", old: "\ufeffone", now: "\ufeff1", after: bom + "1\n"},
		{name: "bom and crlf", before: bom + "one\r\ntwo\r\n", old: "one\ntwo\n", now: "one\n2\n", after: bom + "one\r\n2\r\n"},
		{name: "no final newline", before: "one\ntwo", old: "two", now: "2", after: "one\n2"},
		{name: "final newline added", before: "one\r\ntwo", old: "two", now: "two\n", after: "one\r\ntwo\r\n"},
		{name: "one line without end", before: "two", old: "two", now: "two\nx", after: "two\nx"},
		{name: "utf-16 le", before: utf16le("one\r\ntwo é😀\r\n"), old: "one\ntwo é😀", now: "1\n2 ü😀", after: utf16le("1\r\n2 ü😀\r\n")},
		{name: "utf-16 be", before: utf16be("one\ntwo"), old: "two", now: "zwei\n", after: utf16be("one\nzwei\n")},
		{name: "utf-16 odd tail", before: utf16le("one") + "x", old: "one", now: "1", after: utf16le("1") + "x"},
		{name: "utf-16 never matches across units", before: utf16le("\u6100\u0061"), old: "a", now: "b", after: utf16le("\u6100\u0062")},
		{name: "latin-1 bytes stay", before: "caf\xe9 one\n", old: "one", now: "two", after: "caf\xe9 two\n"},
		{name: "all", before: "a b a\r\na", old: "a", now: "xx", after: "xx b xx\r\nxx", all: true},
		{name: "all apart", before: "aaaa\n", old: "aa", now: "b", after: "bb\n", all: true},
		{name: "all over lines", before: "a\r\nb\na\nb\r\n", old: "a\nb", now: "x\ny", after: "x\r\ny\nx\ny\r\n", all: true},
		{name: "emptied", before: "all", old: "all", now: "", after: ""},
		{name: "nul-free controls", before: "a\x1b[1mb\n", old: "b", now: "c", after: "a\x1b[1mc\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := tooltest.NewGround(t)
			g.Write("f", c.before)
			g.Chmod("f", 0o755)
			p, r := do(t, files.Edit{}, g, "path", "f", "old", c.old, "new", c.now, "all", c.all)
			if got := g.Read("f"); got != c.after {
				t.Errorf("got %q, want %q", got, c.after)
			}
			info, err := os.Stat(filepath.Join(g.Workspace, "f"))
			must(t, err)
			if info.Mode().Perm() != 0o755 {
				t.Errorf("mode %v", info.Mode())
			}
			if r.Outcome != protocol.OutcomeDone || r.AfterSHA256 == "" || r.Evidence.HashAfter != r.AfterSHA256 || r.Evidence.HashBefore != p.Paths[0].SHA256 ||
				!*r.Evidence.ExistedBefore || r.Evidence.BytesWritten != int64(len(c.after)) {
				t.Errorf("result %+v", r)
			}
			undone, err := files.Undo(context.Background(), g.Env, *p.Before, r.AfterSHA256)
			must(t, err)
			if got := g.Read("f"); got != c.before || undone.Outcome != protocol.OutcomeDone {
				t.Errorf("undone to %q, want %q", got, c.before)
			}
			left, err := filepath.Glob(filepath.Join(g.Workspace, ".countersign-*"))
			must(t, err)
			if len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestTheDiffTellsALineEndThatChanges(t *testing.T) {
	g := tooltest.NewGround(t)
	g.Write("f", "a\r\nb\r\n")
	p := plan(t, files.Edit{}, g, "path", "f", "old", "a\r\n", "new", "a\n")
	if !strings.Contains(p.Card.Diff, "-a␍␊\n+a\n") || !strings.Contains(p.Card.Warning, "line ends change from CRLF to LF and CRLF") {
		t.Errorf("diff %q, warning %q", p.Card.Diff, p.Card.Warning)
	}
	p = plan(t, files.Write{}, g, "path", "f", "content", "a\nb\n")
	if !strings.Contains(p.Card.Warning, "line ends change from CRLF to LF") || p.Card.Sentence != "Change 2 lines in f" {
		t.Errorf("sentence %q, warning %q", p.Card.Sentence, p.Card.Warning)
	}
	g.Write("g", "\xEF\xBB\xBFa\n")
	p = plan(t, files.Write{}, g, "path", "g", "content", "a\n")
	if !strings.Contains(p.Card.Warning, "from UTF-8 with a byte order mark to UTF-8") {
		t.Errorf("warning %q", p.Card.Warning)
	}
}

func TestEditRefusesWithWhatHelps(t *testing.T) {
	g := tooltest.NewGround(t)
	g.Write("f", "alpha beta\n  gamma delta\nalpha beta\r\nepsilon\n")
	g.Write("bin", "a\x00b")
	g.Write("many", strings.Repeat("x\n", 20))
	for _, c := range []struct {
		path, old, now string
		all            bool
		want           string
	}{
		{"f", "alpha", "x", false, `stands 2 times in "f" (lines 1, 3)`},
		{"f", "beta\n", "x", false, "stands 2 times"},
		{"f", "gama delta", "x", false, `stands 0 times in "f". The nearest is line 2: "  gamma delta"`},
		{"f", "gamma delta  ", "x", false, "Line 2 differs only in its spaces"},
		{"f", "epsilon\nzeta", "x", false, "Its first line stands in line 4; what follows differs."},
		{"f", "qqqqqq", "x", false, "No line of the file is like"},
		{"f", "qqqqqq", "x", true, "stands 0 times"},
		{"f", "alpha", "alpha", false, "nothing would change"},
		{"f", "", "alpha", false, "old passage is empty"},
		{"f", "epsilon\n", "epsilon\r\n", false, ""},
		{"none", "a", "b", false, "does not exist; use write"},
		{"bin", "a", "b", false, "no text"},
		{"sub", "a", "b", false, "is a folder"},
		{"many", "x", "y", false, "stands 20 times in \"many\" (lines 1, 2, 3, 4, 5, 6, 7, 8, …)"},
		{"f", "aa", "b", false, "stands 0 times"},
	} {
		_, err := files.Edit{}.Plan(context.Background(), g.Env, json.RawMessage(tooltest.Args("path", c.path, "old", c.old, "new", c.now, "all", c.all)))
		if c.want == "" {
			must(t, err)
			continue
		}
		var argument *tool.ArgumentError
		if !errors.As(err, &argument) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.path, c.old, err, c.want)
		}
	}
	g.Write("ooo", "aaa")
	if _, err := (files.Edit{}).Plan(context.Background(), g.Env, json.RawMessage(tooltest.Args("path", "ooo", "old", "aa", "new", "b"))); err == nil {
		t.Error("two overlapping finds count as one")
	}
}

// FuzzEdit compares with the plain meaning: after all line ends are made "\n",
// the edit is a replacement of text, and outside the passage no byte differs.
func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\nc", "b", "x")
	f.Add("a\rb\r\n\r\nc", "b\n\n", "\n")
	f.Add("\xEF\xBB\xBFone\r\n", "one\n", "two\nthree\n")
	f.Add("aaa", "aa", "a")
	f.Add("a\n\r\nb", "\n", "\n\n")
	g := tooltest.NewGround(f)
	f.Fuzz(func(t *testing.T, before, old, now string) {
		must(t, os.WriteFile(filepath.Join(g.Workspace, "f"), []byte(before), 0o644))
		p, err := files.Edit{}.Plan(context.Background(), g.Env, json.RawMessage(tooltest.Args("path", "f", "old", old, "new", now)))
		if err != nil {
			var argument *tool.ArgumentError
			if !errors.As(err, &argument) {
				t.Fatal(err)
			}
			return
		}
		r, err := files.Edit{}.Do(context.Background(), g.Env, p, nil)
		must(t, err)
		after, err := os.ReadFile(filepath.Join(g.Workspace, "f"))
		must(t, err)
		if bytes.HasPrefix([]byte(before), []byte("\xff\xfe")) || bytes.HasPrefix([]byte(before), []byte("\xfe\xff")) {
			return
		}
		// The arguments went through JSON, which replaces what is no UTF-8.
		var args struct{ Old, New string }
		must(t, json.Unmarshal(p.Args, &args))
		trim := func(s string) string { return strings.TrimPrefix(s, "\ufeff") }
		want := strings.Replace(flat(trim(before)), flat(trim(args.Old)), flat(trim(args.New)), 1)
		if !strings.ContainsRune(args.Old+args.New, '\r') && flat(trim(string(after))) != want {
			t.Fatalf("%q: %q to %q gives %q", before, args.Old, args.New, after)
		}
		if r.Evidence.BytesWritten != int64(len(after)) {
			t.Fatalf("wrote %d, says %d", len(after), r.Evidence.BytesWritten)
		}
		_, err = files.Undo(context.Background(), g.Env, *p.Before, r.AfterSHA256)
		must(t, err)
		if back, err := os.ReadFile(filepath.Join(g.Workspace, "f")); err != nil || string(back) != before {
			t.Fatalf("undone to %q", back)
		}
	})
}

func flat(s string) string { return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s) }
