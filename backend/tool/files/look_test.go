package files_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/backend/protocol"
	"countersign/backend/tool"
	"countersign/backend/tool/files"
	"countersign/backend/tool/tooltest"
)

func TestRead(t *testing.T) {
	var lines strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&lines, "line %d\n", i+1)
	}
	var picture bytes.Buffer
	must(t, png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 30, 20))))
	for _, c := range []struct {
		name, content string
		offset, limit int
		want          string
		has           []string
		items         int
	}{
		{name: "whole", content: "a\nb\n", want: "a\nb\n", items: 2},
		{name: "no final newline", content: "a\nb", want: "a\nb\n", items: 2},
		{name: "crlf and cr", content: "a\r\nb\rc\r\n\r\nd", want: "a\nb\nc\n\nd\n", items: 5},
		{name: "bom", content: "\xEF\xBB\xBFa\n", want: "a\n", items: 1},
		{name: "utf-16", content: utf16le("é😀\r\nb\r\n"), want: "é😀\nb\n\n[The file is UTF-16 (little endian).]", items: 2},
		{name: "utf-16 be", content: utf16be("é😀"), want: "é😀\n\n[The file is UTF-16 (big endian).]", items: 1},
		{name: "utf-16 broken pair", content: "\xff\xfe\x00\xd8a\x00", want: "\ufffda\n\n[The file is UTF-16 (little endian).]", items: 1},
		{name: "latin-1", content: "caf\xe9\n", want: "caf\ufffd\n\n[Bytes that are no UTF-8 are shown as \ufffd.]", items: 1},
		{name: "empty", content: "", want: "f is empty."},
		{name: "part", content: lines.String(), offset: 10, limit: 2, want: "line 10\nline 11\n\n[Lines 10 to 11 of 5,000. Read on with offset 12.]", items: 2},
		{name: "end", content: "a\nb\nc\n", offset: 2, want: "b\nc\n\n[Lines 2 to 3 of 3, the end.]", items: 2},
		{name: "beyond", content: "a\nb\n", offset: 7, want: "f has 2 lines; there is no line 7."},
		{name: "too many", content: lines.String(), has: []string{"line 2000\n", "[Lines 1 to 2000 of 5,000. Read on with offset 2001.]"}, items: 2000},
		{name: "long line", content: strings.Repeat("é", 5000) + "\nb\n", has: []string{"[…5,904 more bytes of this line]\nb\n"}, items: 2},
		{name: "many bytes", content: strings.Repeat(strings.Repeat("x", 1000)+"\n", 300), has: []string{"[Lines 1 to 102 of 300. Read on with offset 103.]"}, items: 102},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := tooltest.NewGround(t)
			g.Write("f", c.content)
			pairs := []any{"path", "f"}
			if c.offset > 0 {
				pairs = append(pairs, "offset", c.offset)
			}
			if c.limit > 0 {
				pairs = append(pairs, "limit", c.limit)
			}
			_, r := do(t, files.Read{}, g, pairs...)
			if c.want != "" && r.Content != c.want {
				t.Errorf("got %q, want %q", r.Content, c.want)
			}
			for _, has := range c.has {
				if !strings.Contains(r.Content, has) {
					t.Errorf("%q is missing in …%q", has, r.Content[max(0, len(r.Content)-200):])
				}
			}
			if r.Items != c.items || r.Outcome != protocol.OutcomeDone || r.Taint != protocol.TaintLocal || !utf8.ValidString(r.Content) {
				t.Errorf("items %d, outcome %s", r.Items, r.Outcome)
			}
		})
	}
	for content, want := range map[string]string{
		picture.String(): "PNG picture, 30 × 20", "a\x00b": "binary file, 3 bytes", "%PDF-1.7\nabc": "PDF document", "\x7fELF\x01\x00": "program",
	} {
		g := tooltest.NewGround(t)
		g.Write("f", content)
		_, r := do(t, files.Read{}, g, "path", "f")
		if !r.IsError || r.Outcome != protocol.OutcomeFailed || !strings.Contains(r.Content, want) {
			t.Errorf("%q, want %q", r.Content, want)
		}
	}
}

func TestReadOfWhatIsNoFile(t *testing.T) {
	g := tooltest.NewGround(t)
	for path, want := range map[string]string{"sub": "is a folder", "none": "does not exist", "none/x": "does not exist", "notes.md/x": "not a folder"} {
		_, err := files.Read{}.Plan(context.Background(), g.Env, json.RawMessage(tooltest.Args("path", path)))
		var argument *tool.ArgumentError
		if !errors.As(err, &argument) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestList(t *testing.T) {
	g := tooltest.NewGround(t)
	g.Link("notes.md", "link")
	g.Write("odd\u202ename", "")
	_, r := do(t, files.List{}, g)
	want := "sub/\nswap/\n.hidden  7 bytes\ncrlf.txt  17 bytes\nlink -> notes.md\nnotes.md  22 bytes\n\"odd\\u202ename\"  0 bytes\n"
	if r.Content != want || r.Items != 7 {
		t.Errorf("got\n%s\nwant\n%s", r.Content, want)
	}
	_, r = do(t, files.List{}, g, "path", "sub", "depth", 3)
	if r.Content != "deep/\n  leaf.txt  5 bytes\n" {
		t.Errorf("got %q", r.Content)
	}
	if p, r := do(t, files.List{}, g, "path", g.Added); r.Content != "a.txt  6 bytes\n" || !p.Paths[0].Outside {
		t.Errorf("got %q", r.Content)
	}
	g.Write("empty/x", "")
	g.Remove("empty/x")
	if _, r = do(t, files.List{}, g, "path", "empty"); r.Content != "empty is empty.\n" {
		t.Errorf("got %q", r.Content)
	}
	for i := range 1100 {
		g.Write(fmt.Sprintf("many/f%04d", i), "")
	}
	if _, r = do(t, files.List{}, g, "path", "many"); r.Items != 1000 || !strings.HasSuffix(r.Content, "f0999  0 bytes\n[100 more are not shown. List a folder below for them.]\n") {
		t.Errorf("items %d, end %q", r.Items, r.Content[len(r.Content)-100:])
	}
}

func TestSearch(t *testing.T) {
	g := tooltest.NewGround(t)
	g.Write("src/a.go", "package a\n// Find me\nfunc a() {}\n")
	g.Write("src/b/c.go", "// find ME too\r\n// and find me\r\n")
	g.Write("src/b/c.txt", "find me in text\n")
	g.Write("wide.txt", utf16le("x\nfind me wide\n"))
	g.Write("bin", "find me\x00")
	g.Write(".git/x", "find me\n")
	g.Write("long", strings.Repeat("a", 1000)+" find me "+strings.Repeat("b", 1000)+"\n")
	g.Link("src", "linked")
	for _, c := range []struct {
		name  string
		pairs []any
		want  string
	}{
		{"plain", []any{"pattern", "find me", "path", "src"}, "src/b/c.go:2: // and find me\nsrc/b/c.txt:1: find me in text\n"},
		{"any case", []any{"pattern", "find me", "path", "src", "ignoreCase", true, "glob", "*.go"},
			"src/a.go:2: // Find me\nsrc/b/c.go:1: // find ME too\nsrc/b/c.go:2: // and find me\n"},
		{"regex", []any{"pattern", "^func \\w+", "path", "src", "regex", true}, "src/a.go:3: func a() {}\n"},
		{"glob with folders", []any{"pattern", "find", "glob", "src/**/*.{go,md}", "ignoreCase", true},
			"src/a.go:2: // Find me\nsrc/b/c.go:1: // find ME too\nsrc/b/c.go:2: // and find me\n[.git was left out; name it in path to search it.]\n"},
		{"wide", []any{"pattern", "find me", "path", "wide.txt"}, "wide.txt:2: find me wide\n"},
		{"one file", []any{"pattern", "package", "path", "src/a.go"}, "src/a.go:1: package a\n"},
		{"named left out", []any{"pattern", "find me", "path", ".git"}, ".git/x:1: find me\n"},
		{"binary", []any{"pattern", "find me", "path", "bin"}, "Nothing found in 1 file.\n"},
		{"literal dots", []any{"pattern", "a()", "path", "src"}, "src/a.go:3: func a() {}\n"},
		{"limit", []any{"pattern", "find", "path", "src", "limit", 1}, "src/b/c.go:1: // find ME too\n[There is more: this is what the limits allow. Narrow the search by path or glob.]\n"},
		{"long line", []any{"pattern", "find me", "path", "long"}, "long:1: …" + strings.Repeat("a", 99) + " find me " + strings.Repeat("b", 192) + "…\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r := do(t, files.Search{}, g, c.pairs...)
			if r.Content != c.want {
				t.Errorf("got\n%s\nwant\n%s", r.Content, c.want)
			}
			if r.Items != strings.Count(c.want, ": ")-strings.Count(c.want, "There is more: ") {
				t.Errorf("items %d", r.Items)
			}
		})
	}
	_, r := do(t, files.Search{}, g, "pattern", tooltest.Canary)
	if r.Items != 0 {
		t.Errorf("the data directory was searched: %s", r.Content)
	}
	for _, pairs := range [][]any{
		{"pattern", "("}, {"pattern", "a\nb"}, {"pattern", "x", "path", "none"}, {"pattern", "x", "glob", "[z-a]"},
	} {
		_, err := files.Search{}.Plan(context.Background(), g.Env, json.RawMessage(tooltest.Args(append(pairs, "regex", pairs[1] == "(")...)))
		var argument *tool.ArgumentError
		if !errors.As(err, &argument) {
			t.Errorf("%q: %v", pairs, err)
		}
	}
}

// cancelAfter is a context that ends after it was asked n times.
type cancelAfter struct {
	context.Context
	n int
}

func (c *cancelAfter) Err() error {
	if c.n--; c.n < 0 {
		return context.Canceled
	}
	return nil
}

func TestASearchIsStoppedOnItsWay(t *testing.T) {
	g := tooltest.NewGround(t)
	for i := range 50 {
		g.Write(fmt.Sprintf("d%02d/f", i), strings.Repeat("x\n", 3000))
	}
	p := plan(t, files.Search{}, g, "pattern", "y")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, n := range []int{1, 5, 50, 120} {
		r, err := files.Search{}.Do(&cancelAfter{ctx, n}, g.Env, p, nil)
		if err != nil || r.Outcome != protocol.OutcomeStopped {
			t.Errorf("after %d: %+v %v", n, r, err)
		}
	}
}
