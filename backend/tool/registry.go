package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Bounds of what Check accepts and shows.
const (
	// MaxArguments is the largest argument object in bytes.
	MaxArguments = 1 << 20
	// maxPreview bounds what of broken arguments is repeated to the model:
	// echoing all of it would make the next request as large as the fault.
	maxPreview = 1 << 10
)

var nameShape = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Registry holds the tools of a host. It does not change after NewRegistry and
// is safe for concurrent use.
type Registry struct {
	order []string
	tools map[string]entry
}

type entry struct {
	tool   Tool
	spec   Spec
	schema *jsonschema.Resolved
}

// NewRegistry checks the tools' names and schemas. A duplicate name, a name that
// providers would refuse, or a schema that is not a closed object is an error of
// the program, not of its user.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{tools: make(map[string]entry, len(tools))}
	for _, t := range tools {
		spec := t.Spec()
		if !nameShape.MatchString(spec.Name) {
			return nil, fmt.Errorf("register tool %q: the name is not valid", spec.Name)
		}
		if _, ok := r.tools[spec.Name]; ok {
			return nil, fmt.Errorf("register tool %q: the name is taken", spec.Name)
		}
		schema, err := compile(spec.Schema)
		if err != nil {
			return nil, fmt.Errorf("register tool %q: %w", spec.Name, err)
		}
		r.tools[spec.Name] = entry{tool: t, spec: spec, schema: schema}
		r.order = append(r.order, spec.Name)
	}
	return r, nil
}

func compile(raw json.RawMessage) (*jsonschema.Resolved, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("read schema: type is %q, not object", schema.Type)
	}
	if !isFalse(schema.AdditionalProperties) {
		return nil, fmt.Errorf("read schema: additionalProperties is not false")
	}
	resolved, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		return nil, fmt.Errorf("resolve schema: %w", err)
	}
	return resolved, nil
}

// isFalse reports the schema that accepts nothing, which is how the library
// reads a literal false.
func isFalse(s *jsonschema.Schema) bool {
	if s == nil {
		return false
	}
	raw, err := json.Marshal(s)
	return err == nil && (string(raw) == "false" || string(raw) == `{"not":{}}` || string(raw) == `{"not":true}`)
}

// Specs returns the tools in the order they were registered; it is a copy.
func (r *Registry) Specs() []Spec {
	specs := make([]Spec, 0, len(r.order))
	for _, name := range r.order {
		specs = append(specs, r.tools[name].spec)
	}
	return specs
}

// Get returns the tool of that name.
func (r *Registry) Get(name string) (Tool, bool) {
	e, ok := r.tools[name]
	return e.tool, ok
}

// Check reads the arguments that a model wrote for a tool and returns them in
// canonical form. Nothing, null, an empty string and white space mean {}. Its
// errors are *ArgumentError, at most about 1 KiB longer than their cause.
func (r *Registry) Check(name string, raw json.RawMessage) (json.RawMessage, error) {
	e, ok := r.tools[name]
	if !ok {
		return nil, &ArgumentError{Sentence: fmt.Sprintf("There is no tool named %s.%s", quote(name), didYouMean(name, r.order))}
	}
	args, err := parseObject(e.spec.Name, raw)
	if err != nil {
		return nil, err
	}
	if err := checkKeys(e.spec.Name, e.schema.Schema(), args); err != nil {
		return nil, err
	}
	if err := validate(e.schema, args); err != nil {
		return nil, &ArgumentError{Sentence: clip(fmt.Sprintf("The arguments of %s do not fit: %s.", e.spec.Name, trimReason(err.Error())))}
	}
	canonical, err := encode(args)
	if err != nil {
		return nil, &ArgumentError{Sentence: fmt.Sprintf("The arguments of %s could not be read.", e.spec.Name)}
	}
	return canonical, nil
}

func parseObject(name string, raw json.RawMessage) (map[string]any, error) {
	if len(raw) > MaxArguments {
		return nil, &ArgumentError{Sentence: fmt.Sprintf("The arguments of %s are too long: %d bytes, at most %d are taken. They begin: %s",
			name, len(raw), MaxArguments, preview(raw))}
	}
	if strings.TrimSpace(string(raw)) == "" {
		return map[string]any{}, nil
	}
	value, err := decodeOne(raw)
	if err != nil {
		return nil, &ArgumentError{Sentence: fmt.Sprintf("The arguments of %s are not valid JSON (%s); %d bytes came: %s",
			name, strings.TrimPrefix(err.Error(), "decode json: "), len(raw), preview(raw))}
	}
	switch v := value.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	case string:
		if strings.TrimSpace(v) == "" {
			return map[string]any{}, nil
		}
	}
	return nil, &ArgumentError{Sentence: fmt.Sprintf("The arguments of %s must be one JSON object, and %s came (%d bytes): %s",
		name, kindOf(value), len(raw), preview(raw))}
}

func kindOf(value any) string {
	switch value.(type) {
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "true or false"
	}
	return "a number"
}

// checkKeys names what is unknown or missing in words a model acts on; the
// library's own messages name schema paths.
func checkKeys(name string, schema *jsonschema.Schema, args map[string]any) error {
	known := slices.Sorted(maps.Keys(schema.Properties))
	for _, key := range slices.Sorted(maps.Keys(args)) {
		if _, ok := schema.Properties[key]; !ok {
			hint := didYouMean(key, known)
			if hint == "" {
				hint = " It takes: " + strings.Join(known, ", ") + "."
			}
			return &ArgumentError{Sentence: fmt.Sprintf("%s has no argument %s.%s", name, quote(key), hint)}
		}
	}
	for _, key := range schema.Required {
		if _, ok := args[key]; !ok {
			return &ArgumentError{Sentence: fmt.Sprintf("%s needs the argument %q.", name, key)}
		}
	}
	return nil
}

func validate(schema *jsonschema.Resolved, args map[string]any) error {
	// The library compares numbers as Go numbers, so it gets the plain decoding.
	raw, err := encode(args)
	if err != nil {
		return err
	}
	var plain map[string]any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return fmt.Errorf("a number is out of range")
	}
	return schema.Validate(plain)
}

var reasonPath = regexp.MustCompile(`validating /properties/([^:]+): `)

// trimReason keeps where the fault is and what it is, without the way there.
func trimReason(reason string) string {
	reason = strings.TrimPrefix(reason, "validating root: ")
	where := ""
	for _, found := range reasonPath.FindAllStringSubmatch(reason, -1) {
		where = strings.NewReplacer("/properties/", ".", "/items", "[]").Replace(found[1])
	}
	if where != "" {
		parts := strings.Split(reason, "validating /properties/")
		_, last, _ := strings.Cut(parts[len(parts)-1], ": ")
		return where + ": " + last
	}
	return reason
}
