package backend_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// module is the parsed source tree. It is built from every Go file whatever its build constraints, so that a rule
// holds on the systems this machine cannot compile for as well.
type module struct {
	pkgs   map[string]*pkg // by folder relative to the module root, "." for the root
	tables map[string]string
}

type pkg struct {
	dir   string
	files []*file
}

type file struct {
	path      string
	name      string // of the package clause
	test      bool
	generated bool
	lines     int
	tags      string // the //go:build line, if any
	ast       *ast.File
	imports   []string // module-relative for ours, as written for others
}

const modulePath = "countersign"

// skipped folders hold no source of this module.
var skipped = map[string]bool{
	"node_modules": true, "testdata": true, ".git": true, ".cache": true, "bin": true, "dist": true, "gallery": true,
}

func load(root fs.FS) (*module, error) {
	m := &module{pkgs: map[string]*pkg{}, tables: map[string]string{}}
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipped[d.Name()] {
				return fs.SkipDir
			}
			if _, err := fs.Stat(root, path.Join(p, "go.mod")); err == nil && p != "." {
				return fs.SkipDir
			}
			return nil
		}
		switch path.Ext(p) {
		case ".go":
			return m.addFile(root, p)
		case ".sql":
			return m.addTables(root, p)
		}
		return nil
	})
	return m, err
}

func (m *module) addFile(root fs.FS, p string) error {
	src, err := fs.ReadFile(root, p)
	if err != nil {
		return fmt.Errorf("read %s: %w", p, err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse %s: %w", p, err)
	}
	f := &file{
		path:      p,
		name:      parsed.Name.Name,
		test:      strings.HasSuffix(p, "_test.go"),
		generated: ast.IsGenerated(parsed),
		lines:     strings.Count(string(src), "\n"),
		ast:       parsed,
	}
	for _, line := range strings.Split(string(src), "\n") {
		if tags, ok := strings.CutPrefix(line, "//go:build "); ok {
			f.tags = tags
		}
		if strings.HasPrefix(line, "package ") {
			break
		}
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("import in %s: %w", p, err)
		}
		if imported == modulePath {
			imported = "."
		}
		f.imports = append(f.imports, strings.TrimPrefix(imported, modulePath+"/"))
	}
	dir := path.Dir(p)
	if m.pkgs[dir] == nil {
		m.pkgs[dir] = &pkg{dir: dir}
	}
	m.pkgs[dir].files = append(m.pkgs[dir].files, f)
	return nil
}

var createTable = regexp.MustCompile("(?i)create\\s+(?:virtual\\s+)?table\\s+(?:if\\s+not\\s+exists\\s+)?[\"`\\[]?(\\w+)")

func (m *module) addTables(root fs.FS, p string) error {
	src, err := fs.ReadFile(root, p)
	if err != nil {
		return fmt.Errorf("read %s: %w", p, err)
	}
	for _, found := range createTable.FindAllStringSubmatch(string(src), -1) {
		m.tables[strings.ToLower(found[1])] = path.Dir(p)
	}
	return nil
}

// dirs lists the folders in a fixed order, so that a failure reads the same twice.
func (m *module) dirs() []string {
	out := make([]string, 0, len(m.pkgs))
	for dir := range m.pkgs {
		out = append(out, dir)
	}
	sort.Strings(out)
	return out
}

// sources are the files that ship: tests and the temporary dependency list apart.
func (p *pkg) sources() []*file {
	var out []*file
	for _, f := range p.files {
		if !f.test && f.tags != "keep" {
			out = append(out, f)
		}
	}
	return out
}

// uses reports the selectors pkg.Name in the file, where pkg is the local name of an import path.
func (f *file) uses(importPath string) []string {
	local := ""
	for _, spec := range f.ast.Imports {
		if strings.Trim(spec.Path.Value, `"`) != importPath {
			continue
		}
		local = path.Base(importPath)
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	if local == "" {
		return nil
	}
	var names []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == local {
				names = append(names, sel.Sel.Name)
			}
		}
		return true
	})
	return names
}

// declaresInit reports a package initialiser, which is not a method of that name.
func declaresInit(f *file) bool {
	for _, decl := range f.ast.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			return true
		}
	}
	return false
}

// literals are the string constants of the file, in which SQL stands.
func (f *file) literals() []string {
	var out []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				out = append(out, s)
			}
		}
		return true
	})
	return out
}

// path finds how one package reaches another through shipped imports; nil when it does not.
func (m *module) path(from string, to func(string) bool) []string {
	type step struct {
		dir  string
		came []string
	}
	seen := map[string]bool{from: true}
	queue := []step{{from, []string{from}}}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at.dir != from && to(at.dir) {
			return at.came
		}
		p := m.pkgs[at.dir]
		if p == nil {
			continue
		}
		for _, f := range p.sources() {
			for _, imported := range f.imports {
				if m.pkgs[imported] == nil || seen[imported] {
					continue
				}
				seen[imported] = true
				came := append(append([]string{}, at.came...), imported)
				queue = append(queue, step{imported, came})
			}
		}
	}
	return nil
}
