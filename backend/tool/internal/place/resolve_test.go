package place_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"countersign/backend/tool"
	"countersign/backend/tool/internal/place"
)

// ground is a workspace, a second writable folder, a read-only one, a hidden
// data directory inside the workspace, and an outside.
type ground struct {
	ws, other, shelf, data, outside string
	env                             tool.Env
}

func newGround(t *testing.T) ground {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := ground{
		ws: filepath.Join(base, "ws"), other: filepath.Join(base, "other"), shelf: filepath.Join(base, "ws", "shelf"),
		data: filepath.Join(base, "ws", "data"), outside: filepath.Join(base, "outside"),
	}
	for _, dir := range []string{g.shelf, g.data, g.other, g.outside, filepath.Join(g.ws, "a", "b")} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	for _, file := range []string{"ws/n.txt", "ws/a/b/deep.txt", "ws/data/state.db", "ws/shelf/book.txt", "other/o.txt", "outside/secret.txt"} {
		must(t, os.WriteFile(filepath.Join(base, file), []byte(file), 0o644))
	}
	g.env = tool.Env{
		Folders: []tool.Folder{{Path: g.ws, Writable: true}, {Path: g.other, Writable: true}, {Path: g.shelf}},
		Hide:    []string{g.data},
	}
	return g
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (g ground) link(t *testing.T, target, name string) {
	t.Helper()
	must(t, os.Symlink(target, filepath.Join(g.ws, name)))
}

func (g ground) links(t *testing.T) {
	t.Helper()
	for name, target := range map[string]string{
		"in":        "a/b",
		"inabs":     filepath.Join(g.ws, "a"),
		"infile":    "n.txt",
		"toother":   g.other,
		"relother":  "../other",
		"out":       g.outside,
		"relout":    "../outside",
		"outfile":   filepath.Join(g.outside, "secret.txt"),
		"dangling":  "nowhere/x",
		"loop":      "loop",
		"ping":      "pong",
		"pong":      "ping",
		"chain":     "chain2",
		"chain2":    "../outside",
		"todata":    "data",
		"toparent":  "..",
		"toroot":    "/",
		"toproc":    "/proc/self",
		"updown":    "a/../../ws/n.txt",
		"throughup": "in/../../n.txt",
	} {
		g.link(t, target, name)
	}
}

func TestResolveFindsTheRealPlace(t *testing.T) {
	g := newGround(t)
	g.links(t)
	for _, c := range []struct {
		path, abs, show   string
		writable, outside bool
		exists            bool
	}{
		{"n.txt", g.ws + "/n.txt", "n.txt", true, false, true},
		{"./n.txt", g.ws + "/n.txt", "n.txt", true, false, true},
		{"a//b/./deep.txt", g.ws + "/a/b/deep.txt", "a/b/deep.txt", true, false, true},
		{"a/../n.txt", g.ws + "/n.txt", "n.txt", true, false, true},
		{".", g.ws, ".", true, false, true},
		{"a/..", g.ws, ".", true, false, true},
		{g.ws, g.ws, ".", true, false, true},
		{g.ws + "/n.txt", g.ws + "/n.txt", "n.txt", true, false, true},
		{"new.txt", g.ws + "/new.txt", "new.txt", true, false, false},
		{"x/y/z.txt", g.ws + "/x/y/z.txt", "x/y/z.txt", true, false, false},
		{"in/deep.txt", g.ws + "/a/b/deep.txt", "a/b/deep.txt", true, false, true},
		{"in/..", g.ws + "/a", "a", true, false, true},
		{"inabs/b/deep.txt", g.ws + "/a/b/deep.txt", "a/b/deep.txt", true, false, true},
		{"inabs/new.txt", g.ws + "/a/new.txt", "a/new.txt", true, false, false},
		{"in/new.txt", g.ws + "/a/b/new.txt", "a/b/new.txt", true, false, false},
		{"infile", g.ws + "/n.txt", "n.txt", true, false, true},
		{g.other + "/o.txt", g.other + "/o.txt", g.other + "/o.txt", true, true, true},
		{"toother/o.txt", g.other + "/o.txt", g.other + "/o.txt", true, true, true},
		{"relother/o.txt", g.other + "/o.txt", g.other + "/o.txt", true, true, true},
		{"relother/new.txt", g.other + "/new.txt", g.other + "/new.txt", true, true, false},
		{"shelf/book.txt", g.shelf + "/book.txt", "shelf/book.txt", false, false, true},
		{g.shelf + "/book.txt", g.shelf + "/book.txt", "shelf/book.txt", false, false, true},
		{"updown", g.ws + "/n.txt", "n.txt", true, false, true},
		{"throughup", g.ws + "/n.txt", "n.txt", true, false, true},
	} {
		t.Run(c.path, func(t *testing.T) {
			p, err := place.Open(g.env)
			must(t, err)
			defer p.Close()
			s, err := p.Resolve(c.path)
			must(t, err)
			if s.Abs != c.abs || s.Show != c.show || s.Writable != c.writable || s.Outside != c.outside || s.Exists() != c.exists {
				t.Errorf("got %+v exists %v", s, s.Exists())
			}
			if c.exists != (s.Info != nil) {
				t.Errorf("info %v", s.Info)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	g := newGround(t)
	g.links(t)
	denied := map[string]string{}
	for _, path := range []string{
		"..", "../", "../outside/secret.txt", "a/../../outside/secret.txt", "a/b/../../../outside", "/", "/etc/passwd", g.outside,
		g.outside + "/secret.txt", g.ws + "/../outside/secret.txt", g.ws + "x", g.ws + "-2/n.txt", filepath.Dir(g.ws), "out", "out/secret.txt",
		"out/new.txt", "relout/secret.txt", "outfile", "chain", "chain/secret.txt", "toparent", "toparent/outside/secret.txt", "toroot",
		"toroot/etc/passwd", "../other/o.txt", "toproc/environ", "/proc/self/environ", "/dev/null", "in/../../../outside/secret.txt",
	} {
		denied[path] = tool.ClauseOutsideFolders
	}
	for _, path := range []string{"data", "data/state.db", "data/new", "todata", "todata/state.db", g.data + "/state.db", "./data/../data/state.db"} {
		denied[path] = tool.ClauseHiddenFolder
	}
	p, err := place.Open(g.env)
	must(t, err)
	defer p.Close()
	for path, clause := range denied {
		_, err := p.Resolve(path)
		var d *tool.DeniedError
		if !errors.As(err, &d) || d.Clause != clause {
			t.Errorf("%q: %v, want clause %s", path, err, clause)
		}
	}
	for _, path := range []string{
		"", " ", "dangling", "loop", "ping/x", "n.txt/", "n.txt/x", "n.txt/..", "missing/../n.txt", "~", "~/x", "a\x00b", "a\nb",
		"\xff", "a\u202etxt", string(make([]byte, 5000)),
	} {
		if path == "n.txt/" {
			continue // a slash at the end of a file's name is forgiven
		}
		_, err := p.Resolve(path)
		var a *tool.ArgumentError
		if !errors.As(err, &a) {
			t.Errorf("%q: %v, want an argument error", path, err)
		}
	}
}

func TestAFolderThatIsTheRootStillHidesTheSystem(t *testing.T) {
	p, err := place.Open(tool.Env{Folders: []tool.Folder{{Path: "/"}}})
	must(t, err)
	defer p.Close()
	if _, err := p.Resolve("/etc"); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"/proc/self/environ", "/dev/mem", "sys", "/dev/../proc/1"} {
		var d *tool.DeniedError
		if _, err := p.Resolve(path); !errors.As(err, &d) || d.Clause != tool.ClauseHiddenFolder {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAFolderReachedByALinkHasBothNames(t *testing.T) {
	g := newGround(t)
	name := filepath.Join(filepath.Dir(g.ws), "alias")
	must(t, os.Symlink(g.ws, name))
	g.env.Folders[0].Path = name
	p, err := place.Open(g.env)
	must(t, err)
	defer p.Close()
	for _, path := range []string{name + "/n.txt", g.ws + "/n.txt", "n.txt"} {
		s, err := p.Resolve(path)
		if err != nil || s.Abs != g.ws+"/n.txt" {
			t.Errorf("%s: %v %v", path, s.Abs, err)
		}
	}
}

func TestOpeningRefusesWhatBecameALink(t *testing.T) {
	g := newGround(t)
	p, err := place.Open(g.env)
	must(t, err)
	defer p.Close()
	s, err := p.Resolve("a/b/deep.txt")
	must(t, err)
	must(t, os.Rename(g.ws+"/a", g.ws+"/a2"))
	for _, target := range []string{g.outside, "a3", "../outside"} {
		must(t, os.MkdirAll(g.ws+"/a3/b", 0o755))
		must(t, os.Symlink(target, g.ws+"/a"))
		if _, err := p.OpenParent(s); !errors.Is(err, tool.ErrPlanChanged) {
			t.Errorf("%s: %v", target, err)
		}
		must(t, os.Remove(g.ws+"/a"))
	}
	must(t, os.Rename(g.ws+"/a2", g.ws+"/a"))
	dir, err := p.OpenParent(s)
	must(t, err)
	defer func() { _ = dir.Close() }()
	must(t, os.Remove(g.ws+"/a/b/deep.txt"))
	must(t, os.Symlink("../../n.txt", g.ws+"/a/b/deep.txt"))
	if _, _, err := place.OpenFile(dir, "deep.txt"); !errors.Is(err, tool.ErrPlanChanged) {
		t.Error(err)
	}
}

func TestMakeParentTakesBackWhatItMade(t *testing.T) {
	g := newGround(t)
	p, err := place.Open(g.env)
	must(t, err)
	defer p.Close()
	s, err := p.Resolve("x/y/z/new.txt")
	must(t, err)
	h, err := p.MakeParent(s)
	must(t, err)
	if info, err := os.Stat(g.ws + "/x/y/z"); err != nil || !info.IsDir() {
		t.Fatal(err)
	}
	h.Unmake()
	h.Close()
	if _, err := os.Stat(g.ws + "/x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestNewNamesThatTravel(t *testing.T) {
	for _, name := range []string{"a.", "a ", " a", "..."} {
		if place.CheckNewName(name) == nil {
			t.Errorf("%q is taken", name)
		}
	}
	for _, name := range []string{"a", ".hidden", "a.b", "a b", "é"} {
		if err := place.CheckNewName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzResolveStaysInside(f *testing.F) {
	for _, seed := range []string{"n.txt", "../x", "a/../../outside", "out/x", "/etc", "in/../..", "toother/../ws/../outside", "data/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		g := newGround(t)
		g.links(t)
		p, err := place.Open(g.env)
		must(t, err)
		defer p.Close()
		s, err := p.Resolve(path)
		if err != nil {
			var a *tool.ArgumentError
			var d *tool.DeniedError
			if !errors.As(err, &a) && !errors.As(err, &d) {
				t.Fatalf("%q: %v", path, err)
			}
			return
		}
		real, err := filepath.EvalSymlinks(s.Abs)
		if err == nil && real != s.Abs {
			t.Fatalf("%q: %s is not real, %s is", path, s.Abs, real)
		}
		inside := false
		for _, dir := range []string{g.ws, g.other} {
			rel, err := filepath.Rel(dir, s.Abs)
			inside = inside || err == nil && filepath.IsLocal(rel)
		}
		if rel, err := filepath.Rel(g.data, s.Abs); !inside || err == nil && filepath.IsLocal(rel) {
			t.Fatalf("%q leads to %s", path, s.Abs)
		}
	})
}
