package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"countersign/backend/tool"
)

// changed reports that a name means something else than when it was resolved.
func changed(show, how string) error {
	return fmt.Errorf("%w: %s %s", tool.ErrPlanChanged, show, how)
}

// OpenDir opens the directory at s, which must exist. The caller closes it.
func (p *Place) OpenDir(s Spot) (*os.Root, error) { return p.descend(s, s.names) }

// OpenParent opens the directory that holds s, which must exist. The caller
// closes it. A folder itself has no parent within reach.
func (p *Place) OpenParent(s Spot) (*os.Root, error) {
	if len(s.names) == 0 {
		return nil, argument("%q is a folder of this agent, not a file.", s.Show)
	}
	return p.descend(s, s.names[:len(s.names)-1])
}

// Parent is the open directory that holds a spot.
type Parent struct {
	Dir *os.Root
	// above are the handles in which made lie, from the top.
	above []*os.Root
	made  []string
}

// Close closes the directory.
func (h *Parent) Close() {
	if h.Dir != nil {
		_ = h.Dir.Close()
	}
	for _, dir := range h.above {
		_ = dir.Close()
	}
}

// Unmake removes the directories that MakeParent made, as long as they are empty.
func (h *Parent) Unmake() {
	for i := len(h.made) - 1; i >= 0; i-- {
		// One that is in use since stays, which is what its user wants.
		_ = h.above[i].Remove(h.made[i])
	}
}

// MakeParent is OpenParent that makes missing directories.
func (p *Place) MakeParent(s Spot) (*Parent, error) {
	if s.missing <= 1 {
		dir, err := p.OpenParent(s)
		return &Parent{Dir: dir}, err
	}
	have := len(s.names) - s.missing
	dir, err := p.descend(s, s.names[:have])
	if err != nil {
		return nil, err
	}
	h := &Parent{Dir: dir}
	for _, name := range s.names[have : len(s.names)-1] {
		if err := p.makeIn(h, name, s.Show); err != nil {
			h.Unmake()
			h.Close()
			return nil, err
		}
	}
	return h, nil
}

func (p *Place) makeIn(h *Parent, name, show string) error {
	if err := h.Dir.Mkdir(name, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return changed(show, "has a new folder on its way")
		}
		return fmt.Errorf("make folder %s: %w", name, err)
	}
	next, err := p.enter(h.Dir, name, show)
	if err != nil {
		return err
	}
	h.above, h.made, h.Dir = append(h.above, h.Dir), append(h.made, name), next
	return nil
}

// descend goes down from the folder of s, one handle at a time.
func (p *Place) descend(s Spot, names []string) (*os.Root, error) {
	cur, err := s.folder.root.OpenRoot(".")
	if err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	for _, name := range names {
		next, err := p.enter(cur, name, s.Show)
		_ = cur.Close()
		if err != nil {
			return nil, err
		}
		cur = next
	}
	return cur, nil
}

// Enter opens a directory inside another and follows no link. The caller closes
// it.
func (p *Place) Enter(dir *os.Root, name string) (*os.Root, error) { return p.enter(dir, name, name) }

func (p *Place) enter(dir *os.Root, name, show string) (*os.Root, error) {
	before, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrPermission) {
		return nil, argument("%q cannot be opened: you have no permission for it.", show)
	}
	if err != nil || !before.IsDir() {
		return nil, changed(show, "is reached by another way now")
	}
	// The "/." makes the system refuse everything but a directory, also a pipe
	// put there since, on which opening would wait for ever.
	next, err := dir.OpenRoot(name + "/.")
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil, argument("%q cannot be opened: you have no permission for it.", show)
		}
		return nil, changed(show, "is reached by another way now")
	}
	after, err := next.Stat(".")
	if err != nil || !os.SameFile(before, after) || p.isHiddenDir(after) {
		_ = next.Close()
		return nil, changed(show, "is reached by another way now")
	}
	return next, nil
}

func (p *Place) isHiddenDir(info fs.FileInfo) bool {
	for _, h := range p.hidden {
		if h.info != nil && os.SameFile(info, h.info) {
			return true
		}
	}
	return false
}

// IsHidden reports whether a directory entry found in a walk is out of reach.
func (p *Place) IsHidden(abs string, info fs.FileInfo) bool { return p.isHidden(abs, info) }

// OpenFile opens a regular file of a directory for reading and follows no link.
// It never waits, whatever was put in the file's place.
func OpenFile(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, changed(name, "is no plain file now")
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, nil, err
	}
	after, err := f.Stat()
	if err != nil || !after.Mode().IsRegular() || !os.SameFile(before, after) {
		_ = f.Close()
		return nil, nil, changed(name, "is another file now")
	}
	return f, after, nil
}

// RequireFile refuses everything but an existing regular file.
func (s Spot) RequireFile() error {
	if !s.Exists() {
		return argument("%q does not exist.", s.Show)
	}
	return s.refuseSpecial()
}

// RequireFileOrNothing refuses everything but a regular file or a free name.
func (s Spot) RequireFileOrNothing() error {
	if !s.Exists() {
		return nil
	}
	return s.refuseSpecial()
}

// RequireDir refuses everything but an existing directory.
func (s Spot) RequireDir() error {
	switch {
	case !s.Exists():
		return argument("%q does not exist.", s.Show)
	case !s.Info.IsDir():
		return argument("%q is not a folder.", s.Show)
	}
	return nil
}

// RequireWritable refuses a path in a folder that may only be read.
func (s Spot) RequireWritable() error {
	if s.Writable {
		return nil
	}
	return &tool.DeniedError{
		Sentence: fmt.Sprintf("%q lies in a folder that this agent may read but not change.", s.Show),
		Clause:   tool.ClauseReadOnlyFolder,
	}
}

func (s Spot) refuseSpecial() error {
	switch mode := s.Info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return argument("%q is a folder, not a file.", s.Show)
	case mode&fs.ModeNamedPipe != 0:
		return argument("%q is a pipe, not a file.", s.Show)
	case mode&fs.ModeSocket != 0:
		return argument("%q is a socket, not a file.", s.Show)
	case mode&fs.ModeDevice != 0:
		return argument("%q is a device, not a file.", s.Show)
	}
	return argument("%q is not a plain file.", s.Show)
}

// Missing are the names on the way to s that do not exist yet, the last one
// included.
func (s Spot) Missing() []string { return s.names[len(s.names)-s.missing:] }
