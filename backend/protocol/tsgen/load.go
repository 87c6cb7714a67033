package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

// source is a type-checked package with the comments that types alone forget.
type source struct {
	types *types.Package
	info  *types.Info
	files []*ast.File
	// docs holds the comment of a type, a constant or a field by its object.
	docs map[types.Object]string
	// unions and cases hold the directives of a type by its name.
	unions map[string]union
	cases  map[string]union
	// members holds, by struct name, the tag a union gives it.
	members map[string]member
	tables  tables
}

// union is a directive: the field that decides, the field that depends on it (in
// a struct), and the variants in order.
type union struct {
	field, data string
	variants    []variant
}

type variant struct{ value, typ string }

type member struct{ field, value string }

// tables are the method and event tables and the scopes, in source order.
type tables struct {
	calls  []row
	events []row
	maps   []constMap
}

// row is one entry of a table: a name and its type arguments.
type row struct {
	name string
	args []types.Type
}

// constMap is a package variable that maps constants to constants.
type constMap struct {
	name, doc, key, value string
	entries               [][2]string
}

func load(dir string, imports types.Importer) (*source, error) {
	fset := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	s := &source{
		docs: map[types.Object]string{}, unions: map[string]union{}, cases: map[string]union{}, members: map[string]member{},
		info: &types.Info{
			Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
			Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
		},
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse: %w", err)
		}
		s.files = append(s.files, f)
	}
	conf := types.Config{Importer: imports}
	if s.types, err = conf.Check("protocol", fset, s.files, s.info); err != nil {
		return nil, fmt.Errorf("check types: %w", err)
	}
	for _, f := range s.files {
		for _, d := range f.Decls {
			if err := s.readDecl(d); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func (s *source) readDecl(d ast.Decl) error {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			s.readTable(d)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if err := s.readType(d, spec); err != nil {
					return err
				}
			case *ast.ValueSpec:
				s.readValue(d, spec)
			}
		}
	}
	return nil
}

func (s *source) readType(d *ast.GenDecl, spec *ast.TypeSpec) error {
	doc := spec.Doc
	if doc == nil {
		doc = d.Doc
	}
	s.docs[s.info.Defs[spec.Name]] = text(doc)
	if st, ok := spec.Type.(*ast.StructType); ok {
		for _, f := range st.Fields.List {
			comment := text(f.Doc)
			if comment == "" {
				comment = text(f.Comment)
			}
			for _, name := range f.Names {
				s.docs[s.info.Defs[name]] = comment
			}
		}
	}
	if doc == nil {
		return nil
	}
	for _, line := range doc.List {
		if rest, ok := strings.CutPrefix(line.Text, "//tsgen:"); ok {
			if err := s.readDirective(spec.Name.Name, rest); err != nil {
				return fmt.Errorf("%s: %w", spec.Name.Name, err)
			}
		}
	}
	return nil
}

func (s *source) readDirective(name, line string) error {
	words := strings.Fields(line)
	var u union
	var pairs []string
	switch {
	case len(words) > 2 && words[0] == "union":
		u.field, pairs = words[1], words[2:]
	case len(words) > 3 && words[0] == "discriminate":
		u.field, u.data, pairs = words[1], words[2], words[3:]
	default:
		return fmt.Errorf("directive %q is not understood", line)
	}
	for _, pair := range pairs {
		value, typ, ok := strings.Cut(pair, "=")
		if !ok || s.types.Scope().Lookup(typ) == nil {
			return fmt.Errorf("directive names %q, which is no variant=Type of this package", pair)
		}
		u.variants = append(u.variants, variant{value, typ})
		if u.data != "" {
			continue
		}
		if was, twice := s.members[typ]; twice && was != (member{u.field, value}) {
			return fmt.Errorf("%s belongs to two unions", typ)
		}
		s.members[typ] = member{u.field, value}
	}
	if u.data == "" {
		s.unions[name] = u
	} else {
		s.cases[name] = u
	}
	return nil
}

func (s *source) readValue(d *ast.GenDecl, spec *ast.ValueSpec) {
	doc := spec.Doc
	if doc == nil && (len(d.Specs) == 1 || d.Specs[0] == ast.Spec(spec)) {
		doc = d.Doc
	}
	for i, name := range spec.Names {
		s.docs[s.info.Defs[name]] = text(doc)
		if d.Tok == token.VAR && name.IsExported() && i < len(spec.Values) {
			s.readMap(name, text(doc), spec.Values[i])
		}
	}
}

func (s *source) readMap(name *ast.Ident, doc string, value ast.Expr) {
	lit, ok := value.(*ast.CompositeLit)
	if !ok {
		return
	}
	m, ok := s.info.TypeOf(lit).Underlying().(*types.Map)
	if !ok {
		return
	}
	key, okKey := m.Key().(*types.Named)
	val, okVal := m.Elem().(*types.Named)
	if !okKey || !okVal {
		return
	}
	out := constMap{name: name.Name, doc: doc, key: key.Obj().Name(), value: val.Obj().Name()}
	for _, e := range lit.Elts {
		kv := e.(*ast.KeyValueExpr)
		k, v := s.info.Types[kv.Key].Value, s.info.Types[kv.Value].Value
		if k == nil || v == nil || k.Kind() != constant.String || v.Kind() != constant.String {
			return
		}
		out.entries = append(out.entries, [2]string{constant.StringVal(k), constant.StringVal(v)})
	}
	s.tables.maps = append(s.tables.maps, out)
}

// readTable collects the rows of the functions Calls and EventPayloads: calls of
// a generic function with a constant name and the types as type arguments.
func (s *source) readTable(d *ast.FuncDecl) {
	var into *[]row
	switch d.Name.Name {
	case "Calls":
		into = &s.tables.calls
	case "EventPayloads":
		into = &s.tables.events
	default:
		return
	}
	ast.Inspect(d.Body, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok || len(c.Args) != 1 || s.info.Types[c.Args[0]].Value == nil {
			return true
		}
		inst, ok := s.info.Instances[instantiated(c.Fun)]
		if !ok {
			return true
		}
		r := row{name: constant.StringVal(s.info.Types[c.Args[0]].Value)}
		for t := range inst.TypeArgs.Types() {
			r.args = append(r.args, t)
		}
		*into = append(*into, r)
		return false
	})
}

func instantiated(fun ast.Expr) *ast.Ident {
	switch f := fun.(type) {
	case *ast.IndexExpr:
		id, _ := f.X.(*ast.Ident)
		return id
	case *ast.IndexListExpr:
		id, _ := f.X.(*ast.Ident)
		return id
	}
	return nil
}

// text is a comment without its directives.
func text(c *ast.CommentGroup) string {
	return strings.TrimSpace(c.Text())
}
