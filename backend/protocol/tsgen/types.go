package main

import (
	"fmt"
	"go/types"
)

// typ writes a Go type as a TypeScript type.
func (e *emitter) typ(t types.Type) (string, error) {
	switch t := t.(type) {
	case *types.Alias:
		return e.typ(types.Unalias(t))
	case *types.Named:
		return e.namedRef(t)
	case *types.Basic:
		return basicRef(t)
	case *types.Pointer:
		inner, err := e.typ(t.Elem())
		return inner + " | null", err
	case *types.Slice:
		if b, ok := t.Elem().Underlying().(*types.Basic); ok && b.Kind() == types.Byte {
			return "string", nil // encoding/json writes bytes as base64
		}
		return e.list(t.Elem())
	case *types.Array:
		return e.list(t.Elem())
	case *types.Map:
		key, err := e.typ(t.Key())
		if err != nil {
			return "", err
		}
		value, err := e.typ(t.Elem())
		return fmt.Sprintf("Record<%s, %s>", key, value), err
	case *types.Interface:
		if t.Empty() {
			return "unknown", nil
		}
	case *types.Struct:
		fields, err := e.fields(t)
		return "{\n" + lines(fields) + "}", err
	}
	return "", fmt.Errorf("type %s cannot be written as TypeScript", t)
}

func (e *emitter) list(elem types.Type) (string, error) {
	inner, err := e.typ(elem)
	if err != nil {
		return "", err
	}
	if _, plain := elem.(*types.Named); !plain && inner != "unknown" && !isWord(inner) {
		inner = "(" + inner + ")"
	}
	return inner + "[]", nil
}

func isWord(s string) bool {
	for _, r := range s {
		if r == ' ' || r == '|' || r == '{' {
			return false
		}
	}
	return true
}

// rawJSON names the types that stand for any JSON; which of them json.RawMessage
// is depends on the Go version.
var rawJSON = map[string]bool{"encoding/json.RawMessage": true, "encoding/json/jsontext.Value": true}

func (e *emitter) namedRef(t *types.Named) (string, error) {
	o := t.Obj()
	switch {
	case o.Pkg() == e.types && o.Exported():
		return o.Name(), nil
	case o.Pkg() != nil && rawJSON[o.Pkg().Path()+"."+o.Name()]:
		return "unknown", nil
	}
	return "", fmt.Errorf("type %s is not of this package and has no known JSON shape", t)
}

func basicRef(t *types.Basic) (string, error) {
	switch info := t.Info(); {
	case info&types.IsString != 0:
		return "string", nil
	case info&types.IsBoolean != 0:
		return "boolean", nil
	case info&(types.IsInteger|types.IsFloat) != 0:
		return "number", nil
	}
	return "", fmt.Errorf("type %s cannot be written as TypeScript", t)
}

// tables writes what each method takes and answers, what each event carries, and
// the scopes.
func (e *emitter) tables() error {
	for _, m := range e.source.tables.maps {
		e.mapDoc(m)
		for _, kv := range m.entries {
			e.printf("  %s: %q,\n", property(kv[0]), kv[1])
		}
		e.printf("};\n")
	}
	if len(e.source.tables.calls) > 0 {
		e.printf("\n/** What each method takes and answers. */\nexport interface Calls {\n")
		for _, r := range e.source.tables.calls {
			params, err := e.typ(r.args[0])
			if err != nil {
				return fmt.Errorf("params of %s: %w", r.name, err)
			}
			result, err := e.typ(r.args[1])
			if err != nil {
				return fmt.Errorf("result of %s: %w", r.name, err)
			}
			e.printf("  %s: [params: %s, result: %s];\n", property(r.name), params, result)
		}
		e.printf("}\n")
	}
	if len(e.source.tables.events) == 0 {
		return nil
	}
	e.printf("\n/** What each event carries. */\nexport interface EventPayloads {\n")
	for _, r := range e.source.tables.events {
		payload, err := e.typ(r.args[0])
		if err != nil {
			return fmt.Errorf("payload of %s: %w", r.name, err)
		}
		e.printf("  %s: %s;\n", property(r.name), payload)
	}
	e.printf("}\n")
	e.out.WriteString(trailer)
	return nil
}

func (e *emitter) mapDoc(m constMap) {
	doc := ""
	if o := e.types.Scope().Lookup(m.name); o != nil {
		doc = e.doc(o, "")
	}
	e.printf("\n%sexport const %s: Readonly<Partial<Record<%s, %s | \"\">>> = {\n", doc, screaming(m.name), m.key, m.value)
}
