package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"countersign/backend/protocol"
)

// shape is what the keys of a params object may be. Objects are closed: a key
// that is not known is refused, for a misspelt limit that is silently ignored is
// worse than an error. Keys compare exactly, unlike in encoding/json.
type shape struct {
	// fields is nil where anything may stand.
	fields map[string]property
	// elem is the shape of a list's elements.
	elem *shape
}

type property struct {
	shape    shape
	required bool
}

func shapeOf(t reflect.Type) shape {
	switch t.Kind() {
	case reflect.Pointer:
		return shapeOf(t.Elem())
	case reflect.Slice:
		if elem := shapeOf(t.Elem()); elem.fields != nil || elem.elem != nil {
			return shape{elem: &elem}
		}
	case reflect.Struct:
		s := shape{fields: map[string]property{}}
		for f := range t.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			optional := f.Type.Kind() == reflect.Pointer || strings.Contains(options, "omit")
			s.fields[name] = property{shape: shapeOf(f.Type), required: !optional}
		}
		return s
	}
	return shape{}
}

// accept checks params and returns them as an object; none is an empty object.
// Its errors are for the client and name the key.
func (s shape) accept(raw json.RawMessage) (json.RawMessage, *protocol.Error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if raw[0] != '{' {
		return nil, invalid("", "The params of a call are an object.")
	}
	return raw, s.check(raw, "")
}

// decode reads accepted params into a value of the shape's type.
func decode(raw json.RawMessage, into any) *protocol.Error {
	err := json.Unmarshal(raw, into)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return invalid("", fmt.Sprintf("%q cannot be a %s.", join("", wrong.Field), wrong.Value))
	}
	return invalid("", "The params could not be read.")
}

func (s shape) check(raw json.RawMessage, path string) *protocol.Error {
	switch {
	case s.fields != nil && startsWith(raw, '{'):
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return invalid("", "The params could not be read.")
		}
		return s.checkObject(object, path)
	case s.elem != nil && startsWith(raw, '['):
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return invalid("", "The params could not be read.")
		}
		for i, item := range list {
			if err := s.elem.check(item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s shape) checkObject(object map[string]json.RawMessage, path string) *protocol.Error {
	for _, key := range slices.Sorted(keysOf(object)) {
		p, known := s.fields[key]
		if !known {
			return invalid("", fmt.Sprintf("The key %q is not known here.", join(path, key)))
		}
		if err := p.shape.check(object[key], join(path, key)); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(keysOf(s.fields)) {
		if !s.fields[key].required {
			continue
		}
		if value, given := object[key]; !given || string(bytes.TrimSpace(value)) == "null" {
			return invalid("", fmt.Sprintf("The key %q is missing.", join(path, key)))
		}
	}
	return nil
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// join builds a key's path; what came from the client is cut, so that an error
// stays a sentence.
func join(path, key string) string {
	const most = 64
	if len(key) > most {
		key = strings.ToValidUTF8(key[:most], "") + "…"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func startsWith(raw json.RawMessage, c byte) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == c
}

func invalid(detail protocol.Detail, sentence string) *protocol.Error {
	return protocol.NewError(protocol.CodeInvalidRequest, detail, sentence)
}
