package gateway

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// encode writes a payload. A nil list becomes [], for the TypeScript types say
// that a list is never null. The value itself is not changed.
func encode(v any) (json.RawMessage, error) {
	if v != nil {
		if filled, changed := fill(reflect.ValueOf(v)); changed {
			v = filled.Interface()
		}
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode payload: %w", err)
	}
	return out, nil
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// fill returns the value with empty lists for nil ones, copying only what it
// changes: the caller's value may be shared with others.
func fill(v reflect.Value) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return fillInner(v)
	case reflect.Slice:
		return fillSlice(v)
	case reflect.Struct:
		return fillStruct(v)
	}
	return v, false
}

func fillInner(v reflect.Value) (reflect.Value, bool) {
	if v.IsNil() || v.Type().Implements(marshaler) && v.Kind() == reflect.Pointer {
		return v, false
	}
	inner, changed := fill(v.Elem())
	if !changed {
		return v, false
	}
	if v.Kind() == reflect.Interface {
		return inner, true
	}
	p := reflect.New(v.Type().Elem())
	p.Elem().Set(inner)
	return p, true
}

func fillSlice(v reflect.Value) (reflect.Value, bool) {
	// Raw JSON and other bytes are not lists; a list that encodes itself is empty
	// in its own way.
	if v.Type().Elem().Kind() == reflect.Uint8 || v.Type().Implements(marshaler) {
		return v, false
	}
	if v.IsNil() {
		return reflect.MakeSlice(v.Type(), 0, 0), true
	}
	if !holdsLists(v.Type().Elem()) {
		return v, false
	}
	var out reflect.Value
	for i := range v.Len() {
		elem, changed := fill(v.Index(i))
		if !changed {
			continue
		}
		if !out.IsValid() {
			out = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(out, v)
		}
		out.Index(i).Set(elem)
	}
	if !out.IsValid() {
		return v, false
	}
	return out, true
}

func fillStruct(v reflect.Value) (reflect.Value, bool) {
	if v.Type().Implements(marshaler) {
		return v, false
	}
	var out reflect.Value
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		field, changed := fill(v.Field(i))
		if !changed {
			continue
		}
		if !out.IsValid() {
			out = reflect.New(v.Type()).Elem()
			out.Set(v)
		}
		out.Field(i).Set(field)
	}
	if !out.IsValid() {
		return v, false
	}
	return out, true
}

// holdsLists reports whether values of a type can contain a list, so that long
// lists of plain values are not walked.
func holdsLists(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Pointer, reflect.Interface:
		return true
	}
	return false
}
