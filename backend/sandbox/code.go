package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// family is a group of interpreters that take a script in the same way.
type family int

const (
	familyOther family = iota
	familyShell
	familyPython
	// familyProgram is a file that a wrapper such as env or timeout starts itself.
	familyProgram
)

// codeArg is an argument that names a file which will be run as code.
type codeArg struct {
	// index is into the expanded argv.
	index int
	// program is the index of the interpreter that takes it.
	program int
	family  family
}

// interpreter says how the arguments of an interpreter are read.
type interpreter struct {
	family family
	// inline are options after which there is no script file: -c, -e, -m.
	inline string
	// joined are option letters that take the rest of the argument as a value, so
	// that what follows them is no option.
	joined string
	// takesValue are options whose value is the next argument.
	takesValue []string
	// loads are options whose value is a file that is run as well.
	loads []string
}

var interpreters = map[string]interpreter{
	"sh":      {family: familyShell, inline: "cs", joined: "o", takesValue: []string{"-o", "+o"}},
	"bash":    {family: familyShell, inline: "cs", joined: "oO", takesValue: []string{"-o", "+o", "-O", "+O"}, loads: []string{"--rcfile", "--init-file"}},
	"zsh":     {family: familyOther, inline: "cs", takesValue: []string{"-o", "+o"}},
	"ksh":     {family: familyOther, inline: "cs", takesValue: []string{"-o", "+o"}},
	"fish":    {family: familyOther, inline: "c", takesValue: []string{"-C", "-d", "-o"}},
	"python":  {family: familyPython, inline: "cm", joined: "WXQ", takesValue: []string{"-W", "-X", "-Q", "--check-hash-based-pycs"}},
	"pypy":    {family: familyPython, inline: "cm", joined: "WX", takesValue: []string{"-W", "-X"}},
	"node":    {inline: "ep", takesValue: []string{"-C", "--conditions", "--title", "--input-type"}, loads: []string{"-r", "--require", "--import", "--loader", "--experimental-loader"}},
	"deno":    {takesValue: []string{"-c", "--config"}},
	"bun":     {inline: "e", loads: []string{"-r", "--preload"}},
	"perl":    {inline: "eE", joined: "MmIDixF0CV", takesValue: []string{"-I", "-M", "-m"}},
	"ruby":    {inline: "e", joined: "rIEKxTCF", takesValue: []string{"-I", "-C", "-E"}, loads: []string{"-r"}},
	"php":     {inline: "r", takesValue: []string{"-c", "-d", "-z"}, loads: []string{"-f", "-F"}},
	"lua":     {inline: "e", takesValue: []string{"-l"}},
	"Rscript": {inline: "e"},
	"tclsh":   {},
	"awk":     {takesValue: []string{"-F", "-v"}, loads: []string{"-f"}},
	"make":    {takesValue: []string{"-C", "-j", "-I", "-o", "-W"}, loads: []string{"-f"}},
}

// aliases are other names of an interpreter, without version numbers.
var aliases = map[string]string{
	"dash": "sh", "ash": "sh", "rbash": "bash", "mksh": "ksh", "pdksh": "ksh", "nodejs": "node",
	"luajit": "lua", "gawk": "awk", "mawk": "awk", "nawk": "awk", "gmake": "make", "pythonw": "python",
}

// scriptAfterWord are interpreters whose script follows a word: deno run x.ts.
var scriptAfterWord = map[string][]string{"deno": {"run", "test", "bench"}, "bun": {"run", "test"}}

// noScript are interpreters whose plain operands are data.
var noScript = []string{"awk", "make"}

// wrappers start another command. The value names options that take a value.
var wrappers = map[string]struct {
	takesValue []string
	operands   int // plain operands before the command
	assigns    bool
}{
	"env":     {takesValue: []string{"-u", "--unset"}, assigns: true},
	"nice":    {takesValue: []string{"-n", "--adjustment"}},
	"ionice":  {takesValue: []string{"-c", "-n"}},
	"nohup":   {},
	"setsid":  {},
	"time":    {takesValue: []string{"-o", "-f"}},
	"stdbuf":  {takesValue: []string{"-i", "-o", "-e"}},
	"timeout": {takesValue: []string{"-k", "-s", "--kill-after", "--signal"}, operands: 1},
	"busybox": {},
}

// programName is the base name without a version and a Windows extension.
func programName(path string) string {
	name := filepath.Base(filepath.ToSlash(path))
	if ext := filepath.Ext(name); strings.EqualFold(ext, ".exe") {
		name = strings.TrimSuffix(name, ext)
	}
	if trimmed := strings.TrimRight(name, "0123456789.-"); trimmed != "" {
		name = trimmed
	}
	if other, ok := aliases[name]; ok {
		return other
	}
	return name
}

// expanded is the argv that the kernel makes of the plan: for a script, its
// interpreter comes first. An env -S line is split as env would split it.
func (p *Plan) expanded() []string {
	if len(p.Interpreter) == 0 {
		return append([]string{p.Program}, p.Argv[1:]...)
	}
	argv := []string{p.Interpreter[0]}
	if len(p.Interpreter) > 1 {
		arg := p.Interpreter[1]
		if rest, ok := strings.CutPrefix(arg, "-S"); ok && programName(p.Interpreter[0]) == "env" {
			argv = append(argv, strings.Fields(rest)...)
		} else {
			argv = append(argv, arg)
		}
	}
	return append(append(argv, p.Program), p.Argv[1:]...)
}

// shift is how much further right an argument stands in expanded than in Argv.
func (p *Plan) shift() int { return len(p.expanded()) - len(p.Argv) }

// code returns the arguments of the expanded argv that name code, in order.
func (p *Plan) code() []codeArg {
	argv := p.expanded()
	script := -1
	if len(p.Interpreter) > 0 {
		script = p.shift()
	}
	found := findCode(argv, 0, func(arg string) bool { return operandPath(arg, p.Dir) != "" })
	if script >= 0 && !slices.ContainsFunc(found, func(c codeArg) bool { return c.index == script }) {
		// Whatever the interpreter is, the script that named it is code.
		found = append(found, codeArg{index: script, program: 0})
	}
	return found
}

// findCode reads argv from the program at start. isFile tells whether an
// argument names an existing file.
func findCode(argv []string, start int, isFile func(string) bool) []codeArg {
	name := programName(argv[start])
	if _, ok := wrappers[name]; ok {
		inner := innerCommand(argv, start)
		if inner < 0 {
			return nil
		}
		var found []codeArg
		if strings.ContainsRune(argv[inner], '/') && isFile(argv[inner]) {
			found = append(found, codeArg{index: inner, program: start, family: familyProgram})
		}
		return append(found, findCode(argv, inner, isFile)...)
	}
	in, ok := interpreters[name]
	if !ok {
		return nil
	}
	return in.scan(name, argv, start, isFile)
}

func (in interpreter) scan(name string, argv []string, start int, isFile func(string) bool) []codeArg {
	var found []codeArg
	add := func(i int) { found = append(found, codeArg{index: i, program: start, family: in.family}) }
	words := scriptAfterWord[name]
	for i := start + 1; i < len(argv); i++ {
		arg := argv[i]
		option, _, joined := strings.Cut(arg, "=")
		switch {
		case slices.Contains(in.loads, option):
			if !joined {
				i++
			}
			if i < len(argv) && isFile(argv[i]) {
				found = append(found, codeArg{index: i, program: start})
			}
		case slices.Contains(in.takesValue, arg):
			i++
		case arg == "--":
			if i+1 < len(argv) && isFile(argv[i+1]) && !slices.Contains(noScript, name) {
				add(i + 1)
			}
			return found
		case in.endsOptions(arg):
			return found
		case arg == "-" || strings.HasPrefix(arg, "--eval") || strings.HasPrefix(arg, "--print"):
			return found
		case strings.HasPrefix(arg, "-") || (in.family == familyShell && strings.HasPrefix(arg, "+")):
		case slices.Contains(words, arg):
			words = nil
		case slices.Contains(noScript, name):
		default:
			if isFile(arg) {
				add(i)
			}
			return found
		}
	}
	return found
}

// endsOptions is true for a cluster such as -euc that brings its code itself.
func (in interpreter) endsOptions(arg string) bool {
	if len(arg) < 2 || arg[0] != '-' || arg[1] == '-' {
		return false
	}
	for _, letter := range arg[1:] {
		if strings.ContainsRune(in.joined, letter) {
			return false
		}
		if strings.ContainsRune(in.inline, letter) {
			return true
		}
	}
	return false
}

// innerCommand returns the index of the command that a wrapper starts, or -1.
func innerCommand(argv []string, start int) int {
	w := wrappers[programName(argv[start])]
	operands := w.operands
	for i := start + 1; i < len(argv); i++ {
		arg := argv[i]
		switch {
		case slices.Contains(w.takesValue, arg):
			i++
		case strings.HasPrefix(arg, "-"):
		case w.assigns && strings.Contains(arg, "="):
		case operands > 0:
			operands--
		default:
			return i
		}
	}
	return -1
}
