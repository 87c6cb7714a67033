package tooltest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/backend/tool"
)

// Canary stands in every file outside the folders; a result that holds it has
// read there.
const Canary = "CANARY-7f3a-OUTSIDE"

// Ground is a small disk: a workspace, an added folder, a read-only one, a data
// directory inside the workspace that is hidden, and an outside.
type Ground struct {
	Env       tool.Env
	Base      string
	Workspace string
	Added     string
	Shelf     string
	Data      string
	Outside   string
	// Secret is a file outside.
	Secret string

	t testing.TB
}

// NewGround makes one in a temporary folder of the test.
func NewGround(t testing.TB) *Ground {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &Ground{
		Base: base, Workspace: filepath.Join(base, "ws"), Added: filepath.Join(base, "added"), Shelf: filepath.Join(base, "shelf"),
		Data: filepath.Join(base, "ws", "data"), Outside: filepath.Join(base, "outside"),
		Secret: filepath.Join(base, "outside", "in.txt"), t: t,
	}
	for name, content := range map[string]string{
		"ws/notes.md":            "# Notes\n\nfirst\nsecond\n",
		"ws/crlf.txt":            "one\r\ntwo\r\nthree\r\n",
		"ws/sub/deep/leaf.txt":   "leaf\n",
		"ws/swap/in.txt":         "inside\n",
		"ws/.hidden":             "hidden\n",
		"ws/data/state.db":       Canary + "\n",
		"added/a.txt":            "added\n",
		"shelf/book.txt":         "book\n",
		"outside/in.txt":         Canary + "\n",
		"outside/sub/in.txt":     Canary + "\n",
		"outside/swap/in.txt":    Canary + "\n",
		"outside/swap/other.txt": Canary + "\n",
	} {
		path := filepath.Join(base, name)
		g.must(os.MkdirAll(filepath.Dir(path), 0o755))
		g.must(os.WriteFile(path, []byte(content), 0o644))
	}
	g.Env = tool.Env{
		AgentID: "main",
		Folders: []tool.Folder{{Path: g.Workspace, Writable: true}, {Path: g.Added, Writable: true}, {Path: g.Shelf}},
		Hide:    []string{g.Data}, TimeoutSeconds: 60, MaxOutput: 1 << 20,
	}
	return g
}

func (g *Ground) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// Write writes a file of the workspace.
func (g *Ground) Write(name, content string) {
	g.t.Helper()
	path := filepath.Join(g.Workspace, name)
	g.must(os.MkdirAll(filepath.Dir(path), 0o755))
	g.must(os.WriteFile(path, []byte(content), 0o644))
}

// Read reads a file of the workspace.
func (g *Ground) Read(name string) string {
	g.t.Helper()
	content, err := os.ReadFile(filepath.Join(g.Workspace, name))
	g.must(err)
	return string(content)
}

// Chmod changes the mode of a file of the workspace.
func (g *Ground) Chmod(name string, mode fs.FileMode) {
	g.t.Helper()
	g.must(os.Chmod(filepath.Join(g.Workspace, name), mode))
}

// Remove removes a name of the workspace with all below.
func (g *Ground) Remove(name string) {
	g.t.Helper()
	g.must(os.RemoveAll(filepath.Join(g.Workspace, name)))
}

// Link puts a symbolic link into the workspace.
func (g *Ground) Link(target, name string) {
	g.t.Helper()
	g.must(os.Symlink(target, filepath.Join(g.Workspace, name)))
}

// Tree is everything on the disk with a hash of each entry: type, mode, size,
// time of change and content.
func (g *Ground) Tree() Tree {
	g.t.Helper()
	return treeOf(g.t, g.Base)
}

// OutsideTree is Tree of what lies outside the folders, the hidden data included.
func (g *Ground) OutsideTree() Tree {
	g.t.Helper()
	out := treeOf(g.t, g.Outside)
	maps.Copy(out, treeOf(g.t, g.Data))
	maps.Copy(out, treeOf(g.t, g.Shelf))
	return out
}

// Tree maps paths to what is there.
type Tree map[string]string

func treeOf(t testing.TB, base string) Tree {
	t.Helper()
	out := Tree{}
	err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %d", info.Mode(), info.ModTime().UnixNano())
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %x", len(content), sha256.Sum256(content))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " " + target
		}
		out[path] = line
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Diff names what is new, gone or different, empty when nothing is. A directory
// whose entries were made and removed again differs only in its time, which is
// not counted: refusing late may leave that trace.
func (t Tree) Diff(now Tree) string {
	var out []string
	for path, was := range t {
		is, ok := now[path]
		switch {
		case !ok:
			out = append(out, "gone "+path)
		case is != was && !(was[0] == 'd' && is[0] == 'd' && strings.Fields(was)[0] == strings.Fields(is)[0]):
			out = append(out, "changed "+path)
		}
	}
	for path := range now {
		if _, ok := t[path]; !ok {
			out = append(out, "new "+path)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
