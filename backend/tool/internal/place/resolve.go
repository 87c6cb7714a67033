package place

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"countersign/backend/tool"
)

// Limits of a path.
const (
	maxPath = 4096
	maxName = 255
	maxHops = 40
)

// Spot is one real place in a folder. It holds names only: what is there can
// change until it is opened.
type Spot struct {
	// Abs is the real absolute path, with no link in it.
	Abs string
	// Show is Abs for people, see Place.Show.
	Show string
	// Writable follows the deepest folder that holds the path.
	Writable bool
	// Outside says that the path lies in a folder other than the workspace.
	Outside bool
	// Info describes what is there, nil when nothing is.
	Info fs.FileInfo

	folder *folder
	// names lead from the folder to the spot; the last missing of them do not
	// exist.
	names   []string
	missing int
}

// Exists reports whether something is there.
func (s Spot) Exists() bool { return s.missing == 0 }

// Name is the last name of the path, "." for a folder itself.
func (s Spot) Name() string {
	if len(s.names) == 0 {
		return "."
	}
	return s.names[len(s.names)-1]
}

// Resolve finds what a path that an agent wrote means. It changes nothing. Its
// errors are *tool.ArgumentError and *tool.DeniedError, or a fault of the
// machine.
func (p *Place) Resolve(path string) (Spot, error) {
	if err := checkPath(path); err != nil {
		return Spot{}, err
	}
	w := walk{place: p, asked: path, folder: p.folders[0], pending: split(path)}
	if filepath.IsAbs(path) {
		f, rest := p.locate(path)
		if f == nil {
			return Spot{}, w.outside()
		}
		w.folder, w.pending = f, split(rest)
	} else if filepath.VolumeName(path) != "" || strings.HasPrefix(filepath.ToSlash(path), "/") {
		return Spot{}, w.outside()
	}
	for len(w.pending) > 0 {
		if err := w.step(); err != nil {
			return Spot{}, err
		}
	}
	return w.spot()
}

func checkPath(path string) error {
	switch {
	case strings.TrimSpace(path) == "":
		return argument("The path is empty.")
	case len(path) > maxPath:
		return argument("The path is too long (%d bytes; at most %d).", len(path), maxPath)
	case !utf8.ValidString(path) || strings.ContainsRune(path, utf8.RuneError):
		return argument("The path is not valid text.")
	case strings.HasPrefix(path, "~"):
		return argument("%q: \"~\" is not understood here; give the path from the workspace, or an absolute one.", path)
	}
	for _, r := range path {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return argument("The path %q has an invisible control character in it.", path)
		}
	}
	return nil
}

func split(path string) []string {
	var names []string
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r < utf8.RuneSelf && isSeparator(byte(r)) }) {
		if name != "." {
			names = append(names, name)
		}
	}
	return names
}

func isSeparator(c byte) bool { return c == '/' || c == filepath.Separator }

// walk is the state of one resolution.
type walk struct {
	place   *Place
	asked   string
	folder  *folder
	names   []string
	pending []string
	// linked counts the pending names that a link brought in.
	linked  int
	missing int
	hops    int
	info    fs.FileInfo
}

func (w *walk) step() error {
	name := w.pending[0]
	w.pending = w.pending[1:]
	fromLink := w.linked > 0
	if fromLink {
		w.linked--
	}
	if name == ".." {
		return w.up()
	}
	if err := checkName(name); err != nil {
		return err
	}
	rel := filepath.Join(append(append([]string{}, w.names...), name)...)
	if w.missing > 0 {
		w.names, w.missing = append(w.names, name), w.missing+1
		return w.refuseHidden(nil)
	}
	info, err := w.folder.root.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if fromLink {
			return argument("%q is a link to something that does not exist.", w.asked)
		}
		w.names, w.missing, w.info = append(w.names, name), 1, nil
		return w.refuseHidden(nil)
	case errors.Is(err, fs.ErrPermission):
		return argument("%q cannot be opened: you have no permission for it.", w.asked)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return argument("%q: a name in this path is too long.", w.asked)
	case err != nil:
		// os.Root refuses for reasons of its own, such as a directory that became
		// a link between two steps. Nothing of that is a fault of the machine.
		return argument("%q cannot be opened (%v).", w.asked, errors.Unwrap(err))
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return w.follow(rel)
	}
	if !info.IsDir() && len(w.pending) > 0 {
		return argument("%q: %s is not a folder.", w.asked, name)
	}
	w.names, w.info = append(w.names, w.spelled(name, info)), info
	return w.refuseHidden(info)
}

// up goes to the parent. Above the folder only a link may lead, and only into
// another folder of the agent.
func (w *walk) up() error {
	switch {
	case w.missing > 0:
		return argument("%q goes up from a folder that does not exist.", w.asked)
	case len(w.names) > 0:
		w.names, w.info = w.names[:len(w.names)-1], nil
		return nil
	}
	return w.jump(filepath.Join(filepath.Dir(w.folder.real), filepath.Join(w.pending...)))
}

func (w *walk) follow(rel string) error {
	if w.hops++; w.hops > maxHops {
		return argument("%q leads through too many links.", w.asked)
	}
	target, err := w.folder.root.Readlink(rel)
	if err != nil {
		return argument("%q is a link that cannot be read.", w.asked)
	}
	if !utf8.ValidString(target) {
		return argument("%q is a link to a name that is not valid text.", w.asked)
	}
	names := split(target)
	w.pending = append(names, w.pending...)
	w.linked += len(names)
	if filepath.IsAbs(target) || filepath.VolumeName(target) != "" {
		return w.jump(filepath.Join(target, filepath.Join(w.pending[len(names):]...)))
	}
	return nil
}

// jump continues at an absolute path that a link named, when it is in a folder.
func (w *walk) jump(target string) error {
	if w.hops == 0 || !filepath.IsAbs(target) {
		return w.outside()
	}
	f, rest := w.place.locate(target)
	if f == nil {
		return w.outside()
	}
	asked := len(w.pending) - w.linked
	w.folder, w.names, w.info = f, nil, nil
	w.pending = split(rest)
	w.linked = max(0, len(w.pending)-asked)
	return nil
}

func (w *walk) abs() string {
	return filepath.Join(append([]string{w.folder.real}, w.names...)...)
}

func (w *walk) refuseHidden(info fs.FileInfo) error {
	if !w.place.isHidden(w.abs(), info) {
		return nil
	}
	return &tool.DeniedError{
		Sentence: fmt.Sprintf("%q belongs to Countersign or to the system and is out of reach.", w.asked),
		Clause:   tool.ClauseHiddenFolder,
	}
}

func (w *walk) outside() error {
	return &tool.DeniedError{
		Sentence: fmt.Sprintf("%q is outside the folders this agent may use. Its owner can add a folder in the settings.", w.asked),
		Clause:   tool.ClauseOutsideFolders,
	}
}

func (w *walk) spot() (Spot, error) {
	abs := w.abs()
	f, rest := w.place.folderOf(abs)
	if f == nil {
		return Spot{}, w.outside()
	}
	s := Spot{
		Abs: abs, Show: w.place.Show(abs), Writable: f.writable, Outside: !within(abs, w.place.Workspace()),
		Info: w.info, folder: f, names: split(rest), missing: w.missing,
	}
	if s.Exists() && s.Info == nil {
		info, err := w.folder.root.Lstat(filepath.Join(append([]string{"."}, w.names...)...))
		if err != nil {
			return Spot{}, argument("%q cannot be opened (%v).", w.asked, errors.Unwrap(err))
		}
		s.Info = info
	}
	return s, w.refuseHidden(s.Info)
}

func argument(format string, args ...any) error {
	return &tool.ArgumentError{Sentence: fmt.Sprintf(format, args...)}
}
