package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Resolve turns a command into a plan. argv[0] is looked up in the PATH of env
// unless it holds a slash; relative paths are relative to dir, which must be
// absolute. env nil means the environment of this process; it is reduced by
// Scrub. Resolve reads files and changes nothing. Its errors are *ResolveError.
func Resolve(argv []string, dir string, env []string, network bool) (Plan, error) {
	if err := checkArgv(argv, dir); err != nil {
		return Plan{}, err
	}
	realDir, err := resolveDir(dir)
	if err != nil {
		return Plan{}, err
	}
	scrubbed := Scrub(env, network)
	program, err := findProgram(argv[0], realDir, scrubbed)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Argv: append([]string{}, argv...), Program: program, Dir: realDir, EnvKeys: envKeys(scrubbed), Network: network, Operands: []Operand{}, Interpreter: []string{}}
	if err := p.resolveExecutable(); err != nil {
		return Plan{}, err
	}
	if err := p.resolveOperands(); err != nil {
		return Plan{}, err
	}
	return p, nil
}

func refuse(cause error, format string, args ...any) error {
	return &ResolveError{Sentence: fmt.Sprintf(format, args...), Err: cause}
}

func checkArgv(argv []string, dir string) error {
	if len(argv) == 0 || argv[0] == "" {
		return refuse(nil, "The command is empty.")
	}
	for i, arg := range append([]string{dir}, argv...) {
		if strings.ContainsRune(arg, 0) {
			if i == 0 {
				return refuse(nil, "The folder's name holds a NUL byte, which no system accepts.")
			}
			return refuse(nil, "Argument %d holds a NUL byte, which no system accepts.", i-1)
		}
	}
	if !filepath.IsAbs(dir) {
		return refuse(nil, "The working folder %q is not an absolute path.", dir)
	}
	return nil
}

func resolveDir(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", refuse(err, "The working folder %s does not exist.", dir)
	}
	if err != nil {
		return "", refuse(err, "The working folder %s cannot be opened.", dir)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", refuse(err, "The working folder %s is not a folder.", dir)
	}
	return real, nil
}

// findProgram returns the absolute path by which argv0 is called.
func findProgram(argv0, dir string, env []string) (string, error) {
	if strings.ContainsRune(argv0, '/') || (runtime.GOOS == "windows" && strings.ContainsRune(argv0, '\\')) {
		path := argv0
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		for _, candidate := range withExtensions(filepath.Clean(path), env) {
			if isProgram(candidate) {
				return candidate, nil
			}
		}
		return "", explainMissing(path)
	}
	search := filepath.SplitList(envValue(env, "PATH"))
	for _, folder := range search {
		for _, candidate := range withExtensions(filepath.Join(folder, argv0), env) {
			if isProgram(candidate) {
				return candidate, nil
			}
		}
	}
	sentence := fmt.Sprintf("The program %q was not found. These folders were searched: %s.", argv0, strings.Join(search, ", "))
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(folder) && isProgram(filepath.Join(folder, argv0)) {
			sentence += fmt.Sprintf(" It is in %s, which commands cannot see; give its full path or install it for the whole system.", folder)
			break
		}
	}
	return "", &ResolveError{Sentence: sentence, Err: fs.ErrNotExist}
}

func explainMissing(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(err, "The program %s does not exist.", path)
	case err != nil:
		return refuse(err, "The program %s cannot be opened.", path)
	case info.IsDir():
		return refuse(fs.ErrInvalid, "%s is a folder, not a program.", path)
	default:
		return refuse(fs.ErrPermission, "%s is not marked as a program. If it is a script, give it to its interpreter, or make it executable first.", path)
	}
}

// withExtensions adds what Windows adds to a program's name.
func withExtensions(path string, env []string) []string {
	if runtime.GOOS != "windows" || filepath.Ext(path) != "" {
		return []string{path}
	}
	list := envValue(env, "PATHEXT")
	if list == "" {
		list = ".COM;.EXE;.BAT;.CMD"
	}
	var candidates []string
	for ext := range strings.SplitSeq(list, ";") {
		candidates = append(candidates, path+strings.ToLower(ext))
	}
	return candidates
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	return runtime.GOOS == "windows" || info.Mode()&0o111 != 0
}

// resolveExecutable follows links, hashes what others may change, and reads the
// "#!" line of a script.
func (p *Plan) resolveExecutable() error {
	var err error
	if p.Executable, p.ExecutableHash, err = identify(p.Program); err != nil {
		return err
	}
	line, err := shebang(p.Executable)
	if err != nil || len(line) == 0 {
		return err
	}
	if !filepath.IsAbs(line[0]) {
		return refuse(nil, "The script %s names the interpreter %q, which is not an absolute path.", p.Executable, line[0])
	}
	if !isProgram(line[0]) {
		return refuse(fs.ErrNotExist, "The script %s needs the interpreter %s, which is not installed.", p.Executable, line[0])
	}
	p.Interpreter = line
	_, p.InterpreterHash, err = identify(line[0])
	return err
}

// identify returns the real path of a program and its hash, which is empty when
// only the system's administrator can change both.
func identify(path string) (real, hash string, err error) {
	real, err = filepath.EvalSymlinks(path)
	if err != nil {
		return "", "", refuse(err, "The program %s cannot be opened.", path)
	}
	if isTrusted(real) && isTrusted(path) {
		return real, "", nil
	}
	sum, size, err := hashFile(real, MaxExecutableBytes)
	if err != nil {
		return "", "", refuse(err, "The program %s cannot be read.", real)
	}
	if size > MaxExecutableBytes {
		return "", "", refuse(nil, "The program %s is too large to be checked.", real)
	}
	return real, sum, nil
}

// resolveOperands finds the regular files that the arguments name.
func (p *Plan) resolveOperands() error {
	code := map[int]bool{}
	for _, c := range p.code() {
		if i := c.index - p.shift(); i > 0 {
			code[i] = true
		}
	}
	for i := 1; i < len(p.Argv); i++ {
		if len(p.Operands) >= MaxOperands && !code[i] {
			continue
		}
		path := operandPath(p.Argv[i], p.Dir)
		if path == "" {
			continue
		}
		o, err := operand(i, path, code[i])
		if err != nil {
			return err
		}
		p.Operands = append(p.Operands, o)
	}
	return nil
}

// operandPath returns the real path of the regular file that an argument names,
// also in the form --option=file, or "".
func operandPath(arg, dir string) string {
	candidates := []string{arg}
	if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
		candidates = append(candidates, value)
	}
	for _, candidate := range candidates {
		if candidate == "" {
			continue
		}
		if !filepath.IsAbs(candidate) {
			candidate = filepath.Join(dir, candidate)
		}
		real, err := filepath.EvalSymlinks(candidate)
		if err != nil || isWithin(real, "/proc") || isWithin(real, "/sys") || isWithin(real, "/dev") {
			continue
		}
		if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() {
			return real
		}
	}
	return ""
}

func operand(index int, path string, executed bool) (Operand, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Operand{}, refuse(err, "The file %s cannot be read.", path)
	}
	o := Operand{ArgIndex: index, Path: path, Size: info.Size(), Executed: executed}
	limit := int64(MaxOperandBytes)
	if executed {
		limit = MaxExecutableBytes
	}
	if info.Size() > limit {
		if executed {
			return Operand{}, refuse(nil, "The script %s is too large to be checked.", path)
		}
		o.ModifiedNs = info.ModTime().UnixNano()
		return o, nil
	}
	if o.SHA256, o.Size, err = hashFile(path, limit); err != nil {
		if executed {
			return Operand{}, refuse(err, "The script %s cannot be read.", path)
		}
		// Data that we may not read is data the command may not read either.
		return Operand{ArgIndex: index, Path: path, Size: info.Size(), ModifiedNs: info.ModTime().UnixNano()}, nil
	}
	return o, nil
}
