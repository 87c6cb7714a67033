package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// decoder reads a syntax tree into a Config that already holds the defaults,
// and notes what it could not take.
type decoder struct {
	source   []byte
	problems Problems
	lines    map[string]int
}

// decode returns the configuration that the file means. root's offsets must be
// those of source.
func decode(source []byte, root *hujson.Value) (Config, Problems) {
	d := &decoder{source: source, lines: map[string]int{}}
	c := Default()
	d.value(root, reflect.ValueOf(&c).Elem(), "")
	d.replaceInvalid(&c)
	slices.SortStableFunc(d.problems, func(a, b Problem) int { return a.Line - b.Line })
	return c, d.problems
}

func (d *decoder) line(v *hujson.Value) int {
	return 1 + bytes.Count(d.source[:min(v.StartOffset, len(d.source))], []byte("\n"))
}

func (d *decoder) note(path string, v *hujson.Value, sentence, remedy string) {
	if path == "" {
		path = "config.json"
	}
	d.problems = append(d.problems, Problem{Path: path, Line: d.line(v), Sentence: sentence, Remedy: remedy})
}

func (d *decoder) value(v *hujson.Value, into reflect.Value, path string) {
	d.lines[path] = d.line(v)
	if _, custom := into.Addr().Interface().(json.Unmarshaler); !custom {
		switch into.Kind() {
		case reflect.Struct:
			d.object(v, into, path)
			return
		case reflect.Slice:
			d.array(v, into, path)
			return
		}
	}
	if v.Value.Kind() == 'n' {
		return
	}
	fresh := reflect.New(into.Type())
	clean := v.Clone()
	clean.Minimize()
	if err := json.Unmarshal(clean.Pack(), fresh.Interface()); err != nil {
		d.note(path, v, fmt.Sprintf("Expected %s but found %s; %s is used.", kindName(into), describe(v), shown(into)),
			"Correct the value in config.json.")
		return
	}
	into.Set(fresh.Elem())
}

func (d *decoder) object(v *hujson.Value, into reflect.Value, path string) {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		if v.Value.Kind() != 'n' {
			d.note(path, v, fmt.Sprintf("Expected a group in braces but found %s; the defaults are used.", describe(v)),
				"Correct the value in config.json.")
		}
		return
	}
	seen := map[string]bool{}
	for i := range obj.Members {
		m := &obj.Members[i]
		name := literalString(&m.Name)
		at := join(path, name)
		field, known := fieldByJSON(into, name)
		switch {
		case !known:
			d.note(at, &m.Name, "This key is not known; it is kept and has no effect.", suggestion(into, name))
			continue
		case seen[name]:
			d.note(at, &m.Name, "This key stands here twice; the last one is used.", "Remove one of them.")
		}
		seen[name] = true
		d.value(&m.Value, field, at)
	}
}

func (d *decoder) array(v *hujson.Value, into reflect.Value, path string) {
	arr, ok := v.Value.(*hujson.Array)
	if !ok {
		if v.Value.Kind() != 'n' {
			d.note(path, v, fmt.Sprintf("Expected a list but found %s; an empty list is used.", describe(v)),
				"Correct the value in config.json.")
		}
		return
	}
	// Elements keep the index they have in the file until invalid ones are dropped,
	// so that a path in a message can be found there.
	list := reflect.MakeSlice(into.Type(), len(arr.Elements), len(arr.Elements))
	for i := range arr.Elements {
		d.value(&arr.Elements[i], list.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
	into.Set(list)
}

// replaceInvalid puts the default where a value is of the right type but not
// acceptable, and leaves out models that cannot be used.
func (d *decoder) replaceInvalid(c *Config) {
	found := validate(*c)
	def := Default()
	dropped := map[int]bool{}
	for _, p := range found {
		p.Line = d.nearestLine(p.Path)
		var index int
		if n, _ := fmt.Sscanf(p.Path, "models[%d]", &index); n == 1 {
			if strings.HasSuffix(p.Path, ".default") {
				c.Models[index].Default = false
				p.Sentence += " This mark has no effect."
			} else {
				dropped[index] = true
				p.Sentence += " The model is left out."
			}
		} else {
			from, to := at(reflect.ValueOf(&def).Elem(), p.Path), at(reflect.ValueOf(c).Elem(), p.Path)
			to.Set(from)
			p.Sentence += fmt.Sprintf(" %s is used.", shown(from))
		}
		d.problems = append(d.problems, p)
	}
	kept := []Model{}
	for i, m := range c.Models {
		if !dropped[i] {
			kept = append(kept, m)
		}
	}
	c.Models = kept
}

// nearestLine is the line of the path or of the closest group around it.
func (d *decoder) nearestLine(path string) int {
	for {
		if n, ok := d.lines[path]; ok {
			return n
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			return 0
		}
		path = path[:cut]
	}
}

// at follows a dotted path of JSON names; validate produces only paths that exist.
func at(v reflect.Value, path string) reflect.Value {
	for name := range strings.SplitSeq(path, ".") {
		v, _ = fieldByJSON(v, name)
	}
	return v
}

func fieldByJSON(v reflect.Value, name string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if jsonName(v.Type().Field(i)) == name {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func suggestion(v reflect.Value, name string) string {
	for i := range v.NumField() {
		if known := jsonName(v.Type().Field(i)); strings.EqualFold(known, name) {
			return fmt.Sprintf("Did you mean %q?", known)
		}
	}
	return "Remove it if you do not need it."
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func literalString(v *hujson.Value) string {
	lit, _ := v.Value.(hujson.Literal)
	return lit.String()
}

func describe(v *hujson.Value) string {
	switch v.Value.Kind() {
	case '{':
		return "a group"
	case '[':
		return "a list"
	case '"':
		return "text"
	case 't', 'f':
		return "true or false"
	default:
		return "the number " + string(v.Value.(hujson.Literal))
	}
}

func kindName(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	default:
		return "a whole number"
	}
}

func shown(v reflect.Value) string {
	b, err := json.Marshal(v.Interface())
	if err != nil {
		return "the default"
	}
	return string(b)
}
