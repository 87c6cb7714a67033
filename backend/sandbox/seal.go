package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// How private copies are run.
//
// Mounting a copy over the original does not hold: when somebody replaces the
// original, the kernel takes the mount off in every other namespace, and the new
// content shows. So a copy lies in a private folder and the command names it
// there. Around it stands a read-only picture of the original folder made of
// links, so that what the script loads from beside it is found. A shell and
// Python are started so that the script still sees its own name and folder.

const (
	// maxLinks bounds the picture of the original folder.
	maxLinks = 4096
	// maxCopyBytes is the size up to which a program is always copied. A larger one
	// is copied when a command could write where it lies, else only checked.
	maxCopyBytes = 16 << 20
)

// sealedFile is a private copy, or a link when target is set.
type sealedFile struct {
	path   string
	data   []byte
	mode   os.FileMode
	target string
}

// launch is what is started in the end.
type launch struct {
	argv  []string
	files []sealedFile
	// held are files that the system keeps from being changed while they are open.
	held []*os.File
}

// sealer builds a launch. base is where the private folder will be.
type sealer struct {
	plan   Plan
	mounts []mount
	base   string
	links  int
	count  int
	files  []sealedFile
}

// seal reads each file that the plan would run as code, once, refuses it when it
// is not what was planned, and returns the command that runs the copies.
func seal(p Plan, mounts []mount, base string) (launch, error) {
	s := &sealer{plan: p, mounts: mounts, base: base}
	if len(p.Interpreter) > 0 && p.ExecutableHash == "" {
		// A script of the system, such as one in /usr/bin: nobody can swap it.
		return launch{argv: append([]string{p.Program}, p.Argv[1:]...)}, nil
	}
	if holdsInPlace {
		return hold(p)
	}
	argv := p.expanded()
	codes := p.code()
	// From the right, since a rewriting may change how many arguments there are.
	for _, c := range slices.Backward(codes) {
		var err error
		if argv, err = s.rewrite(argv, c); err != nil {
			return launch{}, err
		}
	}
	first, err := s.program(argv[0])
	if err != nil {
		return launch{}, err
	}
	argv[0] = first
	return launch{argv: argv, files: s.files}, nil
}

// hold keeps what the plan runs open, checked, in place of copying it. It is for
// the system where an open file cannot be changed or replaced.
func hold(p Plan) (launch, error) {
	l := launch{argv: append([]string{p.Program}, p.Argv[1:]...)}
	check := func(path, hash string) error {
		f, err := openHeld(path)
		if err != nil {
			return changed(path)
		}
		l.held = append(l.held, f)
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil || hex.EncodeToString(h.Sum(nil)) != hash {
			return changed(path)
		}
		return nil
	}
	var err error
	if p.ExecutableHash != "" {
		err = check(p.Executable, p.ExecutableHash)
	}
	for _, o := range p.Operands {
		if err == nil && o.Executed {
			err = check(o.Path, o.SHA256)
		}
	}
	if err != nil {
		closeAll(l.held)
		return launch{}, err
	}
	return l, nil
}

// program returns the path to start: the program itself when only the system's
// administrator can change it, else its copy, or a private link to it.
func (s *sealer) program(path string) (string, error) {
	real, hash := s.plan.Executable, s.plan.ExecutableHash
	if len(s.plan.Interpreter) > 0 {
		resolved, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", changed(path)
		}
		real, hash = resolved, s.plan.InterpreterHash
	}
	if hash == "" {
		return path, nil
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", changed(real)
	}
	m, covered := covering(s.mounts, real)
	if isTrusted(real) || (info.Size() > maxCopyBytes && !(covered && m.writable)) {
		// Only the link could be changed, or only by the owner: verify has just
		// compared it, and the private link leads to what it compared.
		if path == real {
			return path, nil
		}
		return s.place(path, sealedFile{target: real}), nil
	}
	data, sum, err := readHashed(real, MaxExecutableBytes)
	if err != nil || sum != hash {
		return "", changed(real)
	}
	return s.place(real, sealedFile{data: data, mode: 0o555}), nil
}

// rewrite makes one argument name the private copy of its file.
func (s *sealer) rewrite(argv []string, c codeArg) ([]string, error) {
	path, hash, ok := s.expected(c)
	if !ok {
		return nil, changed(argv[c.index])
	}
	if isTrusted(path) {
		return argv, nil
	}
	data, sum, err := readHashed(path, MaxExecutableBytes)
	if err != nil || sum != hash {
		return nil, changed(path)
	}
	mode := os.FileMode(0o444)
	if c.family == familyProgram {
		mode = 0o555
	}
	copied := s.place(path, sealedFile{data: data, mode: mode})
	name := argv[c.index]
	before, after := argv[c.program+1:c.index], argv[c.index+1:]
	var middle []string
	switch {
	case c.family == familyShell && shellKeepsName(before, data):
		middle = append(withoutDashes(before), "-c", ". "+shellQuote(copied), name)
	case c.family == familyPython && pythonKeepsName(before, data) && utf8.ValidString(copied+name+s.plan.Dir+path):
		middle = append(withoutDashes(before), "-c", pythonStart(copied, name, s.absolute(name), filepath.Dir(path)))
	default:
		middle = append(slices.Clone(before), copied)
	}
	return slices.Concat(argv[:c.program+1], middle, after), nil
}

// expected returns the file of an argument and the hash the plan gives it.
func (s *sealer) expected(c codeArg) (path, hash string, ok bool) {
	index := c.index - s.plan.shift()
	if index == 0 {
		return s.plan.Executable, s.plan.ExecutableHash, true
	}
	for _, o := range s.plan.Operands {
		if o.ArgIndex == index && o.Executed {
			return o.Path, o.SHA256, true
		}
	}
	return "", "", false
}

func (s *sealer) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.plan.Dir, path)
}

func changed(path string) error {
	return &PlanChangedError{Differences: []string{fmt.Sprintf("%s has other content", path)}}
}

// place adds f to the private folder in a picture of the folders around original
// and returns its path there.
func (s *sealer) place(original string, f sealedFile) string {
	s.count++
	// A tool outside the agent's folders finds its libraries in ../lib.
	top := filepath.Dir(filepath.Dir(original))
	if m, ok := covering(s.mounts, filepath.Dir(original)); ok && !m.hidden {
		top = m.path
	}
	at := filepath.Join(s.base, strconv.Itoa(s.count), filepath.Base(top))
	rel, err := filepath.Rel(top, original)
	if err != nil {
		rel = filepath.Base(original)
	}
	dir, parts := top, strings.Split(rel, string(filepath.Separator))
	for _, next := range parts {
		s.picture(dir, at, next)
		dir, at = filepath.Join(dir, next), filepath.Join(at, next)
	}
	f.path = at
	s.files = append(s.files, f)
	return at
}

// picture links everything in dir but one name.
func (s *sealer) picture(dir, at, except string) {
	d, err := os.Open(dir)
	if err != nil {
		return // a folder we cannot list shows nothing beside the copy
	}
	names, _ := d.Readdirnames(maxLinks - s.links)
	_ = d.Close() // opened for reading
	slices.Sort(names)
	for _, name := range names {
		if name != except && s.links < maxLinks {
			s.links++
			s.files = append(s.files, sealedFile{path: filepath.Join(at, name), target: filepath.Join(dir, name)})
		}
	}
}

// shellKeepsName says whether a shell script can be read by the dot command,
// which keeps $0. It cannot when it asks where it was read from.
func shellKeepsName(options []string, script []byte) bool {
	for _, option := range options {
		if option != "--" && (len(option) < 2 || option[0] != '-' || strings.Trim(option[1:], "eux") != "") {
			return false
		}
	}
	for _, word := range []string{"BASH_SOURCE", "(return", "caller"} {
		if bytes.Contains(script, []byte(word)) {
			return false
		}
	}
	return !bytes.ContainsRune(script, 0)
}

// pythonKeepsName says whether a script can be started by pythonStart: not an
// archive, and no option that changes what the first argument means.
func pythonKeepsName(options []string, script []byte) bool {
	for i := 0; i < len(options); i++ {
		switch option := options[i]; {
		case option == "-W" || option == "-X":
			i++
		case option == "--":
			return false
		case strings.HasPrefix(option, "-W") || strings.HasPrefix(option, "-X"):
		case len(option) > 1 && option[0] == '-' && strings.Trim(option[1:], "bBdEhIOqsSuvP") == "":
		default:
			return false
		}
	}
	return !bytes.HasPrefix(script, []byte("PK")) && !bytes.ContainsRune(script, 0)
}

// pythonStart is a line of Python that runs the copy as the main module under
// its own name and with its own folder first on the search path.
func pythonStart(copied, name, file, dir string) string {
	return "import sys as _s\n" +
		"_s.argv[0]=" + pythonQuote(name) + "\n" +
		"if _s.path and _s.path[0]=='':_s.path[0]=" + pythonQuote(dir) + "\n" +
		"__file__=" + pythonQuote(file) + "\n" +
		"with open(" + pythonQuote(copied) + ",'rb') as _f:_c=compile(_f.read(),__file__,'exec',0,True)\n" +
		"del _s,_f\n" +
		"exec(globals().pop('_c'))\n"
}

func withoutDashes(options []string) []string {
	return slices.DeleteFunc(slices.Clone(options), func(o string) bool { return o == "--" })
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// pythonQuote is strconv's form, which Python reads in the same way: printable
// ASCII, \xHH, \uHHHH and \UHHHHHHHH. s is valid UTF-8.
func pythonQuote(s string) string { return strconv.QuoteToASCII(s) }
