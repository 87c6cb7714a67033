package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// patchTree changes root, which means old, so that it means next. Only what
// differs is touched; comments, unknown keys and order stay.
func patchTree(root *hujson.Value, old, next Config) error {
	if _, ok := root.Value.(*hujson.Object); !ok {
		root.Value = &hujson.Object{}
	}
	return patchObject(root, reflect.ValueOf(old), reflect.ValueOf(next), 1)
}

func patchObject(v *hujson.Value, old, next reflect.Value, depth int) error {
	obj := v.Value.(*hujson.Object)
	for i := range next.NumField() {
		name := jsonName(next.Type().Field(i))
		was, now := old.Field(i), next.Field(i)
		if reflect.DeepEqual(was.Interface(), now.Interface()) {
			continue
		}
		member := lastMember(obj, name)
		if member == nil {
			if err := appendMember(obj, name, now.Interface(), depth); err != nil {
				return err
			}
			continue
		}
		if err := patchValue(member, was, now, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func patchValue(v *hujson.Value, was, now reflect.Value, depth int) error {
	_, isObject := v.Value.(*hujson.Object)
	_, isArray := v.Value.(*hujson.Array)
	switch {
	case now.Kind() == reflect.Struct && isObject:
		return patchObject(v, was, now, depth)
	case now.Kind() == reflect.Slice && isArray:
		return patchModels(v, was.Interface().([]Model), now.Interface().([]Model), depth)
	}
	fresh, err := tree(now.Interface(), depth)
	if err != nil {
		return err
	}
	v.Value = fresh
	return nil
}

// patchModels pairs models by name. An entry that Load left out as unusable is
// not in was and stays where it is, for the owner to mend.
func patchModels(v *hujson.Value, was, now []Model, depth int) error {
	arr := v.Value.(*hujson.Array)
	named := func(list []Model, name string) int {
		return slices.IndexFunc(list, func(m Model) bool { return m.Name == name })
	}
	for i := len(arr.Elements) - 1; i >= 0; i-- {
		name := elementName(&arr.Elements[i])
		if named(was, name) >= 0 && named(now, name) < 0 {
			remove := fmt.Sprintf(`[{"op":"remove","path":"/%d"}]`, i)
			if err := v.Patch([]byte(remove)); err != nil {
				return fmt.Errorf("remove model %q: %w", name, err)
			}
		}
	}
	arr = v.Value.(*hujson.Array)
	for _, m := range now {
		i := slices.IndexFunc(arr.Elements, func(e hujson.Value) bool { return elementName(&e) == m.Name })
		j := named(was, m.Name)
		if i >= 0 && j >= 0 {
			if err := patchObject(&arr.Elements[i], reflect.ValueOf(was[j]), reflect.ValueOf(m), depth+1); err != nil {
				return err
			}
			continue
		}
		if err := appendElement(arr, m, depth); err != nil {
			return err
		}
	}
	reorder(arr, now)
	return nil
}

// reorder brings the known models into the wanted order and leaves the places of
// all others alone.
func reorder(arr *hujson.Array, now []Model) {
	rank := map[string]int{}
	for i, m := range now {
		rank[m.Name] = i
	}
	var places []int
	var known []hujson.Value
	for i, e := range arr.Elements {
		if _, ok := rank[elementName(&e)]; ok {
			places, known = append(places, i), append(known, e)
		}
	}
	byRank := func(a, b hujson.Value) int { return rank[elementName(&a)] - rank[elementName(&b)] }
	if slices.IsSortedFunc(known, byRank) {
		return
	}
	slices.SortStableFunc(known, byRank)
	for i, place := range places {
		// The extra after the last element stands for a trailing comma and belongs
		// to the place, not to the value.
		known[i].AfterExtra = arr.Elements[place].AfterExtra
		arr.Elements[place] = known[i]
	}
}

func elementName(v *hujson.Value) string {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return ""
	}
	if m := lastMember(obj, "name"); m != nil {
		return literalString(m)
	}
	return ""
}

// lastMember returns the value that counts when a key stands twice.
func lastMember(obj *hujson.Object, name string) *hujson.Value {
	for i := len(obj.Members) - 1; i >= 0; i-- {
		if literalString(&obj.Members[i].Name) == name {
			return &obj.Members[i].Value
		}
	}
	return nil
}

func appendMember(obj *hujson.Object, name string, value any, depth int) error {
	fresh, err := tree(value, depth+1)
	if err != nil {
		return err
	}
	m := hujson.ObjectMember{
		Name:  hujson.Value{Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: fresh},
	}
	if n := len(obj.Members); n > 0 && obj.Members[n-1].Value.AfterExtra != nil {
		m.Value.AfterExtra = hujson.Extra{}
	}
	m.Name.BeforeExtra, obj.AfterExtra = makeRoom(obj.AfterExtra, depth)
	obj.Members = append(obj.Members, m)
	return nil
}

func appendElement(arr *hujson.Array, value any, depth int) error {
	fresh, err := tree(value, depth+1)
	if err != nil {
		return err
	}
	e := hujson.Value{Value: fresh}
	if n := len(arr.Elements); n > 0 && arr.Elements[n-1].AfterExtra != nil {
		e.AfterExtra = hujson.Extra{}
	}
	e.BeforeExtra, arr.AfterExtra = makeRoom(arr.AfterExtra, depth)
	arr.Elements = append(arr.Elements, e)
	return nil
}

// makeRoom splits what stands before a closing bracket: comments stay in front
// of the new value, the bracket goes to a line of its own.
func makeRoom(end hujson.Extra, depth int) (before, after hujson.Extra) {
	comments := strings.TrimRight(string(end), " \t\r\n")
	return hujson.Extra(comments + "\n" + indent(depth)), hujson.Extra("\n" + indent(depth-1))
}

func indent(depth int) string { return strings.Repeat("  ", depth) }

// tree is value as a syntax tree, laid out for a place at that depth.
func tree(value any, depth int) (hujson.ValueTrimmed, error) {
	b, err := json.MarshalIndent(value, indent(depth-1), "  ")
	if err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	v, err := hujson.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	return v.Value, nil
}

// countKeys counts the keys of a tree, without those of models that next no
// longer names: removing a model is the owner's wish, not a loss.
func countKeys(v *hujson.Value, next *Config) int {
	n := 0
	switch t := v.Value.(type) {
	case *hujson.Object:
		n = len(t.Members)
		for i := range t.Members {
			if literalString(&t.Members[i].Name) == "models" && next != nil {
				n += countModelKeys(&t.Members[i].Value, next)
				continue
			}
			n += countKeys(&t.Members[i].Value, nil)
		}
	case *hujson.Array:
		for i := range t.Elements {
			n += countKeys(&t.Elements[i], nil)
		}
	}
	return n
}

func countModelKeys(v *hujson.Value, next *Config) int {
	arr, ok := v.Value.(*hujson.Array)
	if !ok {
		return 0
	}
	n := 0
	for i := range arr.Elements {
		if _, kept := next.FindModel(elementName(&arr.Elements[i])); kept {
			n += countKeys(&arr.Elements[i], nil)
		}
	}
	return n
}
