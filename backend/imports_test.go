package backend_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The rules of the design as data. A rule without a reason is a habit; each one here says what it protects.

// level orders the packages of backend: an import must point to a higher number.
type level struct {
	name string
	pkgs []string
}

var levels = []level{
	{"mains", []string{"cmd"}},
	{"root", []string{"host"}},
	{"caller", []string{"client"}},
	{"front door", []string{"gateway", "inbox"}},
	{"conductor", []string{"run", "agent", "delivery"}},
	{"doer", []string{"model", "tool", "channel", "runner", "sandbox", "mcp", "skill", "workspace", "egress", "autostart"}},
	{"owner", []string{
		"session", "queue", "effect", "approval", "outbox", "ingress", "registry", "task", "schedule", "usage",
		"memory", "blob", "grant", "device",
	}},
	{"pure", []string{"policy"}},
	{"ground", []string{"store", "secret", "config", "protocol"}},
}

// siblings are the imports allowed inside one level.
var siblings = map[string]string{
	"run -> agent":        "the conductor of runs drives the loop",
	"tool -> workspace":   "the tool contract hands each call its workspace",
	"tool -> sandbox":     "the tool contract names where a command runs",
	"mcp -> tool":         "an MCP server's tools are tools",
	"mcp -> sandbox":      "MCP servers are child processes",
	"runner -> sandbox":   "a wrapped runtime is a child process",
	"skill -> workspace":  "skills are files of a workspace",
	"store -> protocol":   "events carry the shared vocabulary",
	"store -> config":     "the store opens where the configuration says",
	"secret -> protocol":  "errors carry the shared vocabulary",
	"config -> protocol":  "settings carry the shared vocabulary",
	"secret -> config":    "the fallback file lies in the data directory",
	"gateway -> inbox":    "a client's message enters by the same door",
	"delivery -> run":     "delivery tells the agent of what failed",
	"egress -> workspace": "downloads land in a workspace",
}

// families are the contracts whose children are adapters, together with the one who may name them.
var families = []string{"model", "tool", "channel", "runner", "gateway"}

// nevers are reaches forbidden through any chain of imports.
var nevers = []struct {
	from, to []string
	why      string
}{
	{
		[]string{"agent", "tool", "model"}, []string{"secret", "channel", "delivery", "gateway"},
		"the agent's job ends at the insert; it never holds a channel token nor a key",
	},
	{
		[]string{"policy"}, []string{"store", "secret", "config"},
		"policy is a pure function: what it needs is given to it",
	},
}

// mayExec are the folders that may start a process.
var mayExec = map[string]string{
	"backend/sandbox":     "starts every command of an agent",
	"backend/mcp":         "starts MCP servers, sandboxed",
	"backend/runner":      "starts wrapped runtimes, sandboxed",
	"backend/testkit":     "the kill harness starts and kills the real binary",
	"backend/cmd/kill":    "the kill harness starts and kills the real binary",
	"app":                 "starts the tray helper, restarts the window",
	"build":               "building and packaging run compilers",
	"backend/tool/exec":   "resolves what a command would run; starting it is the sandbox's",
	"backend/cmd/sandbox": "the child side of the sandbox",
}

// badNames say nothing about what a package owns.
var badNames = []string{"util", "utils", "common", "helpers", "helper", "misc", "types", "base", "manager", "shared"}

// mayInit are files that may have func init, with the reason.
var mayInit = map[string]string{}

// mayHoldForeignSQL are the folders that may name other owners' tables.
var mayHoldForeignSQL = map[string]string{
	"backend/store":   "composes and migrates every owner's schema",
	"backend/testkit": "the invariant checker reads what all owners wrote, and writes nothing",
}

const maxLines = 600

type violation struct{ rule, where, what string }

func (v violation) String() string { return fmt.Sprintf("%s: %s: %s", v.rule, v.where, v.what) }

type rule struct {
	name, why string
	check     func(*module, func(where, what string))
}

var rules = []rule{
	{"arrows point down", "a layer that knows the one above cannot be tested or replaced alone", checkLevels},
	{"only host imports a child", "adapters are chosen in one place; the rest knows the contract only", checkChildren},
	{"nevers", "the agent must not be able to reach what it must not hold", checkNevers},
	{"protocol is standard library only", "clients and generators read it without the rest", checkProtocol},
	{"testkit stays in tests", "faults and stubs must not ship", checkTestkit},
	{"processes", "a process started elsewhere escapes the sandbox, the receipt and Stop", checkExec},
	{"names", "a package owns one noun; a drawer named util owns none", checkNames},
	{"package comment", "every package says what it owns, promises and refuses", checkComments},
	{"file length", "a file that does not fit the head is not reviewed", checkLength},
	{"no sleeping tests", "a test that sleeps is slow when it passes and flaky when it fails", checkSleep},
	{"no init", "registration in init hides who composes the program", checkInit},
	{"no global logger", "what is logged, and what is masked, is decided where the logger is made", checkLogger},
	{"SQL stands in its owner", "two writers of one table cannot keep one invariant", checkSQL},
	{"window apart", "backend runs without a window; frontend is files and nothing else", checkWindow},
}

func check(m *module) []violation {
	var out []violation
	for _, r := range rules {
		r.check(m, func(where, what string) { out = append(out, violation{r.name, where, what + " (" + r.why + ")"}) })
	}
	return out
}

func TestImportsAndHabits(t *testing.T) {
	m, err := load(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.pkgs) < 5 {
		t.Fatalf("only %d packages found; the rules looked at nothing", len(m.pkgs))
	}
	for _, v := range check(m) {
		t.Error(v)
	}
}

// top is the level's package that a backend folder belongs to, "" outside backend.
func top(dir string) string {
	rest, ok := strings.CutPrefix(dir, "backend/")
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	return first
}

func levelOf(name string) int {
	return slices.IndexFunc(levels, func(l level) bool { return slices.Contains(l.pkgs, name) })
}

func under(dir, root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }

func isSuite(dir string) bool { return strings.HasSuffix(dir, "test") }

func isMain(p *pkg) bool {
	src := p.sources()
	return len(src) > 0 && src[0].name == "main"
}

func checkLevels(m *module, bad func(where, what string)) {
	for _, dir := range m.dirs() {
		from := top(dir)
		if from == "" || from == "testkit" || len(m.pkgs[dir].sources()) == 0 {
			continue
		}
		if levelOf(from) < 0 {
			bad(dir, "has no place in levels")
			continue
		}
		if isMain(m.pkgs[dir]) {
			continue
		}
		for _, f := range m.pkgs[dir].sources() {
			for _, imported := range f.imports {
				to := top(imported)
				if to == "" || to == from || to == "testkit" {
					continue
				}
				a, b := levelOf(from), levelOf(to)
				if a < b || siblings[from+" -> "+to] != "" {
					continue
				}
				bad(f.path, fmt.Sprintf("%s imports %s, which is not below it", from, imported))
			}
		}
	}
}

// child is the family of an adapter folder, "" for everything else. Suites and internal folders are not adapters.
func child(dir string) string {
	rest, ok := strings.CutPrefix(dir, "backend/")
	if !ok || isSuite(dir) || strings.Contains(dir, "/internal/") {
		return ""
	}
	family, _, deeper := strings.Cut(rest, "/")
	if deeper && slices.Contains(families, family) {
		return family
	}
	return ""
}

func checkChildren(m *module, bad func(where, what string)) {
	for _, dir := range m.dirs() {
		if under(dir, "backend/host") || under(dir, "backend/testkit") {
			continue
		}
		for _, f := range m.pkgs[dir].sources() {
			for _, imported := range f.imports {
				if child(imported) == "" || under(dir, imported) || under(imported, dir) && child(dir) != "" {
					continue
				}
				bad(f.path, "imports the adapter "+imported)
			}
		}
	}
}

func checkNevers(m *module, bad func(where, what string)) {
	for _, never := range nevers {
		for _, dir := range m.dirs() {
			if !slices.Contains(never.from, top(dir)) || isMain(m.pkgs[dir]) {
				continue
			}
			way := m.path(dir, func(d string) bool { return slices.Contains(never.to, top(d)) })
			if way != nil {
				bad(dir, strings.Join(way, " -> ")+": "+never.why)
			}
		}
	}
}

func checkProtocol(m *module, bad func(where, what string)) {
	p := m.pkgs["backend/protocol"]
	if p == nil {
		return
	}
	for _, f := range p.sources() {
		for _, imported := range f.imports {
			first, _, _ := strings.Cut(imported, "/")
			if strings.Contains(first, ".") || m.pkgs[imported] != nil {
				bad(f.path, "imports "+imported)
			}
		}
	}
}

func checkTestkit(m *module, bad func(where, what string)) {
	for _, dir := range m.dirs() {
		if under(dir, "backend/testkit") || isSuite(dir) {
			continue
		}
		for _, f := range m.pkgs[dir].sources() {
			if strings.Contains(f.tags, "failpoint") || strings.Contains(f.tags, "kill") {
				continue
			}
			for _, imported := range f.imports {
				if under(imported, "backend/testkit") || isSuite(imported) && m.pkgs[imported] != nil {
					bad(f.path, "imports "+imported+" outside a test")
				}
			}
		}
	}
}

func checkExec(m *module, bad func(where, what string)) {
	for _, dir := range m.dirs() {
		allowed := false
		for root := range mayExec {
			allowed = allowed || under(dir, root)
		}
		if allowed {
			continue
		}
		for _, f := range m.pkgs[dir].sources() {
			if slices.Contains(f.imports, "os/exec") {
				bad(f.path, "imports os/exec")
			}
			for _, name := range append(f.uses("os"), f.uses("syscall")...) {
				if name == "StartProcess" || name == "ForkExec" {
					bad(f.path, "starts a process by "+name)
				}
			}
		}
	}
}

func checkNames(m *module, bad func(where, what string)) {
	for _, dir := range m.dirs() {
		if slices.Contains(badNames, path.Base(dir)) {
			bad(dir, "is named "+path.Base(dir))
			continue
		}
		for _, f := range m.pkgs[dir].sources() {
			if slices.Contains(badNames, f.name) {
				bad(f.path, "is package "+f.name)
			}
		}
	}
}

func checkComments(m *module, bad func(where, what string)) {
	for _, dir := range m.dirs() {
		sources := m.pkgs[dir].sources()
		documented := slices.ContainsFunc(sources, func(f *file) bool {
			return f.ast.Doc != nil && len(strings.TrimSpace(f.ast.Doc.Text())) > 0
		})
		if len(sources) > 0 && !documented {
			bad(dir, "has no package comment")
		}
	}
}

func checkLength(m *module, bad func(where, what string)) {
	for _, dir := range m.dirs() {
		for _, f := range m.pkgs[dir].sources() {
			if !f.generated && f.lines > maxLines {
				bad(f.path, fmt.Sprintf("has %d lines, more than %d", f.lines, maxLines))
			}
		}
	}
}

func checkSleep(m *module, bad func(where, what string)) {
	for _, dir := range m.dirs() {
		for _, f := range m.pkgs[dir].files {
			if f.test && slices.Contains(f.uses("time"), "Sleep") {
				bad(f.path, "calls time.Sleep")
			}
		}
	}
}

func checkInit(m *module, bad func(where, what string)) {
	for _, dir := range m.dirs() {
		for _, f := range m.pkgs[dir].sources() {
			if mayInit[f.path] == "" && declaresInit(f) {
				bad(f.path, "has func init")
			}
		}
	}
}

var loggerCalls = []string{
	"Default", "SetDefault", "Debug", "Info", "Warn", "Error", "Log", "DebugContext", "InfoContext", "WarnContext",
	"ErrorContext", "LogAttrs", "With",
}

func checkLogger(m *module, bad func(where, what string)) {
	for _, dir := range m.dirs() {
		for _, f := range m.pkgs[dir].sources() {
			if slices.Contains(f.imports, "log") {
				bad(f.path, "imports log")
			}
			for _, name := range f.uses("log/slog") {
				if slices.Contains(loggerCalls, name) {
					bad(f.path, "calls slog."+name)
				}
			}
		}
	}
}

var sqlVerb = regexp.MustCompile("(?is)\\b(?:from|into|update(?:\\s+or\\s+\\w+)?|join)\\s+[\"`\\[]?(\\w+)")
var sqlShape = regexp.MustCompile(`(?is)\b(select\b.+\bfrom|insert\b.+\binto|update\b.+\bset|delete\s+from)\b`)

func checkSQL(m *module, bad func(where, what string)) {
	for _, dir := range m.dirs() {
		allowed := false
		for root := range mayHoldForeignSQL {
			allowed = allowed || under(dir, root)
		}
		if allowed {
			continue
		}
		for _, f := range m.pkgs[dir].sources() {
			for _, text := range f.literals() {
				if !sqlShape.MatchString(text) {
					continue
				}
				for _, found := range sqlVerb.FindAllStringSubmatch(text, -1) {
					owner, known := m.tables[strings.ToLower(found[1])]
					if known && !under(dir, owner) {
						bad(f.path, "holds SQL on "+found[1]+", a table of "+owner)
					}
				}
			}
		}
	}
}

func checkWindow(m *module, bad func(where, what string)) {
	for _, dir := range m.dirs() {
		for _, f := range m.pkgs[dir].sources() {
			for _, imported := range f.imports {
				switch {
				case under(dir, "backend") && under(imported, "app"):
					bad(f.path, "imports "+imported)
				case under(dir, "backend") && strings.HasPrefix(imported, "github.com/wailsapp/"):
					bad(f.path, "imports "+imported)
				case dir == "frontend" && m.pkgs[imported] != nil:
					bad(f.path, "imports "+imported)
				case dir == "app/traymsg" && m.pkgs[imported] != nil:
					bad(f.path, "imports "+imported)
				}
			}
		}
	}
}
