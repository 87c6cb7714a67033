package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/backend/protocol"
	"countersign/backend/tool"
	"countersign/backend/tool/internal/place"
)

// Bounds of one list.
const (
	maxListDepth = 5
	maxEntries   = 1000
	// maxScanned bounds the entries read of one folder.
	maxScanned = 50000
)

// List shows what a folder holds.
type List struct{}

type listArgs struct {
	Path  string `json:"path"`
	Depth int    `json:"depth"`
}

// Spec describes the tool.
func (List) Spec() tool.Spec {
	return spec("list", "List a folder: folders first, then files with their sizes, hidden ones included.", protocol.ClassRead, readClass, `{
  "type": "object", "additionalProperties": false,
  "properties": {
    "path": {"type": "string", "description": "The folder, from the workspace or absolute; the workspace unless told"},
    "depth": {"type": "integer", "minimum": 1, "maximum": 5, "description": "How many levels to show; 1 unless told"}
  }
}`)
}

// Plan finds the folder; see tool.Tool.
func (List) Plan(_ context.Context, env tool.Env, raw json.RawMessage) (tool.Plan, error) {
	var a listArgs
	if err := tool.Decode(raw, &a); err != nil {
		return tool.Plan{}, err
	}
	if a.Path == "" {
		a.Path = "."
	}
	a.Depth = min(max(a.Depth, 1), maxListDepth)
	p, s, err := resolve(env, a.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	defer p.Close()
	if err := s.RequireDir(); err != nil {
		return tool.Plan{}, err
	}
	return readPlan("list", a, s, "List "+folderName(s.Show))
}

func folderName(show string) string {
	if show == "." {
		return "the workspace"
	}
	return show
}

// Do lists; see tool.Tool.
func (List) Do(ctx context.Context, env tool.Env, plan tool.Plan, _ tool.Progress) (tool.Result, error) {
	var a listArgs
	if err := tool.Decode(plan.Args, &a); err != nil {
		return tool.Result{}, asChanged(err)
	}
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	p, s, err := again(env, plan, a.Path)
	if err != nil {
		return tool.Result{}, err
	}
	defer p.Close()
	dir, err := p.OpenDir(s)
	if err != nil {
		return tool.Result{}, asChanged(err)
	}
	defer func() { _ = dir.Close() }()
	l := listing{place: p}
	if err := l.folder(ctx, dir, s.Abs, "", a.Depth); err != nil {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		return failed(s.Show, err)
	}
	return tool.Result{
		Content: l.text(s.Show), Outcome: protocol.OutcomeDone, Items: l.entries, Taint: protocol.TaintLocal, Source: s.Show,
	}, nil
}

// listing is a list as it grows.
type listing struct {
	place   *place.Place
	out     strings.Builder
	entries int
	// cut counts entries that are not shown.
	cut int
	// unread are folders that could not be opened, or not wholly read.
	unread []string
}

func (l *listing) folder(ctx context.Context, dir *os.Root, abs, indent string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, whole, err := readFolder(l.place, dir, abs)
	if err != nil {
		return err
	}
	if !whole {
		l.unread = append(l.unread, l.place.Show(abs))
	}
	slices.SortFunc(entries, foldersFirst)
	for _, e := range entries {
		if l.entries >= maxEntries {
			l.cut++
			continue
		}
		l.entries++
		l.out.WriteString(indent + l.describe(dir, e) + "\n")
		if !e.IsDir() || depth <= 1 {
			continue
		}
		below := filepath.Join(abs, e.Name())
		sub, err := l.place.Enter(dir, e.Name())
		if err == nil {
			err = l.folder(ctx, sub, below, indent+"  ", depth-1)
			_ = sub.Close()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			l.unread = append(l.unread, l.place.Show(below))
		}
	}
	return nil
}

func (l *listing) describe(dir *os.Root, e fs.FileInfo) string {
	name := printable(e.Name())
	switch mode := e.Mode(); {
	case mode.IsDir():
		return name + "/"
	case mode.IsRegular():
		return fmt.Sprintf("%s  %s", name, size(e.Size()))
	case mode&fs.ModeSymlink != 0:
		target, err := dir.Readlink(e.Name())
		if err != nil {
			return name + "  (a link)"
		}
		return name + " -> " + printable(target)
	}
	return name + "  (no plain file)"
}

func (l *listing) text(show string) string {
	out := l.out.String()
	if l.entries == 0 {
		out = folderName(show) + " is empty.\n"
	}
	if l.cut > 0 {
		out += fmt.Sprintf("[%s more are not shown. List a folder below for them.]\n", thousands(int64(l.cut)))
	}
	if len(l.unread) > 0 {
		out += "[Could not be read, or not wholly: " + strings.Join(l.unread[:min(len(l.unread), 10)], ", ") + ".]\n"
	}
	return out
}

// readFolder returns the entries of an open folder that are within reach, sorted
// by name, so that two readings agree. whole is false for a folder with more than
// maxScanned.
func readFolder(p *place.Place, dir *os.Root, abs string) (entries []fs.FileInfo, whole bool, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(maxScanned + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	whole = len(names) <= maxScanned
	slices.Sort(names)
	for _, name := range names[:min(len(names), maxScanned)] {
		info, err := dir.Lstat(name)
		if err != nil || p.IsHidden(filepath.Join(abs, name), info) {
			continue // gone since, or out of reach
		}
		entries = append(entries, info)
	}
	return entries, whole, nil
}

func foldersFirst(a, b fs.FileInfo) int {
	if a.IsDir() != b.IsDir() {
		if a.IsDir() {
			return -1
		}
		return 1
	}
	return strings.Compare(a.Name(), b.Name())
}

// printable shows a name on one line; one with odd characters is quoted.
func printable(name string) string {
	if utf8.ValidString(name) && visible(name) == name {
		return name
	}
	return fmt.Sprintf("%q", name)
}

func join(base, name string) string {
	if base == "." || base == "" {
		return name
	}
	return path.Join(base, name)
}
