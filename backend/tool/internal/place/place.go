package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"countersign/backend/tool"
)

// Place is the folders of one call, held open. It is for one goroutine; Close
// it.
type Place struct {
	folders []*folder
	hidden  []hidden
}

// folder is one of Env.Folders: as the owner wrote it, and where it really is.
type folder struct {
	given    string
	real     string
	writable bool
	root     *os.Root
}

// hidden is a path out of reach; info is nil when nothing is there.
type hidden struct {
	real string
	info fs.FileInfo
}

// foldsCase says that the usual file system here takes Notes.md and notes.md for
// one file.
const foldsCase = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// Open opens the folders of env. A missing workspace is an error; another folder
// that is missing (an unplugged disk) is left out, so that a path in it is
// refused as lying in no folder.
func Open(env tool.Env) (*Place, error) {
	if len(env.Folders) == 0 {
		return nil, errors.New("open folders: the agent has no workspace")
	}
	p := &Place{}
	for i, f := range env.Folders {
		opened, err := openFolder(f)
		if err != nil && (i == 0 || !errors.Is(err, fs.ErrNotExist)) {
			p.Close()
			return nil, fmt.Errorf("open folder %s: %w", f.Path, err)
		}
		if err == nil {
			p.folders = append(p.folders, opened)
		}
	}
	for _, path := range append(systemTrees(p.folders), env.Hide...) {
		p.hidden = append(p.hidden, hide(path))
	}
	return p, nil
}

func openFolder(f tool.Folder) (*folder, error) {
	if !filepath.IsAbs(f.Path) {
		return nil, errors.New("the path is not absolute")
	}
	real, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	return &folder{given: filepath.Clean(f.Path), real: real, writable: f.Writable, root: root}, nil
}

// systemTrees are the kernel's file trees: reading there shows other processes'
// environments. A folder that the owner put inside one stays usable.
func systemTrees(folders []*folder) []string {
	var trees []string
	if runtime.GOOS == "windows" {
		return nil
	}
	for _, tree := range []string{"/proc", "/sys", "/dev"} {
		inside := false
		for _, f := range folders {
			inside = inside || within(f.real, tree)
		}
		if !inside {
			trees = append(trees, tree)
		}
	}
	return trees
}

func hide(path string) hidden {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = filepath.Clean(path)
	}
	h := hidden{real: real}
	if info, err := os.Stat(real); err == nil {
		h.info = info
	}
	return h
}

// Close closes the folders.
func (p *Place) Close() {
	for _, f := range p.folders {
		// A directory handle opened for reading has nothing to lose on close.
		_ = f.root.Close()
	}
}

// Workspace is the real path of the first folder.
func (p *Place) Workspace() string { return p.folders[0].real }

// Show is how a person reads a real path: relative to the workspace when it lies
// there, "." for the workspace itself, else absolute. Slashes are forward.
func (p *Place) Show(abs string) string {
	rel, ok := below(abs, p.Workspace())
	if !ok {
		return abs
	}
	if rel == "" {
		return "."
	}
	return filepath.ToSlash(rel)
}

// folderOf returns the deepest folder that holds a real path.
func (p *Place) folderOf(abs string) (*folder, string) {
	var best *folder
	var rest string
	for _, f := range p.folders {
		if rel, ok := below(abs, f.real); ok && (best == nil || len(f.real) > len(best.real)) {
			best, rest = f, rel
		}
	}
	return best, rest
}

// locate returns the folder that an absolute path as written begins with, either
// by the name the owner gave it or by its real one.
func (p *Place) locate(path string) (*folder, string) {
	var best *folder
	var rest string
	length := -1
	for _, f := range p.folders {
		for _, name := range []string{f.given, f.real} {
			if rel, ok := below(path, name); ok && len(name) > length {
				best, rest, length = f, rel, len(name)
			}
		}
	}
	return best, rest
}

// isHidden reports whether a path, with what is there if anything, is out of
// reach. The identity catches another spelling and a second mount of the same
// directory.
func (p *Place) isHidden(abs string, info fs.FileInfo) bool {
	for _, h := range p.hidden {
		if within(abs, h.real) || info != nil && h.info != nil && os.SameFile(info, h.info) {
			return true
		}
	}
	return false
}

func within(path, dir string) bool {
	_, ok := below(path, dir)
	return ok
}

// below returns path relative to dir when dir is path or above it. Both are
// absolute; dir is clean, path may hold ".." which stays in the rest.
func below(path, dir string) (string, bool) {
	sep := string(filepath.Separator)
	if len(path) < len(dir) || !sameText(path[:len(dir)], dir) {
		return "", false
	}
	rest := path[len(dir):]
	switch {
	case rest == "":
		return "", true
	case strings.HasSuffix(dir, sep):
		return rest, true
	case os.IsPathSeparator(rest[0]):
		return strings.TrimLeft(rest, sep), true
	}
	return "", false
}

func sameText(a, b string) bool {
	if foldsCase {
		return strings.EqualFold(a, b)
	}
	return a == b
}
