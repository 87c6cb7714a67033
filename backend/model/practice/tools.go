package practice

import (
	"encoding/json"
	"fmt"
	"strings"

	"countersign/backend/model"
)

// toolbox knows which arguments each offered tool takes, by tool name. A tool
// that is not offered is not in it.
type toolbox map[string]map[string]bool

func readTools(specs []model.ToolSpec) toolbox {
	t := make(toolbox, len(specs))
	for _, spec := range specs {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		known := make(map[string]bool)
		if json.Unmarshal(spec.Schema, &schema) == nil {
			for name := range schema.Properties {
				known[name] = true
			}
		}
		t[spec.Name] = known
	}
	return t
}

// arguments are those of an action, in the names of the tool's schema; what the
// schema does not know is left out, for it would be refused.
func (t toolbox) arguments(a action) json.RawMessage {
	args := make(map[string]any)
	set := func(value any, names ...string) {
		known := t[a.kind.tool()]
		for _, name := range names {
			if known[name] || len(known) == 0 {
				args[name] = value
				return
			}
		}
	}
	if a.kind == kindExec {
		set(a.argv, "argv", "command")
		if a.path != "" {
			set(a.path, "cwd", "dir", "path")
		}
		return raw(args)
	}
	if a.path != "" {
		set(a.path, "path", "file", "filename")
	}
	switch a.kind {
	case kindRead:
		if a.offset > 0 {
			set(a.offset, "offset", "line")
		}
		if a.limit > 0 {
			set(a.limit, "limit", "lines")
		}
	case kindSearch:
		set(a.text, "pattern", "query")
	case kindWrite:
		set(a.text, "content", "text")
	case kindEdit:
		set(a.old, "old", "old_string")
		set(a.text, "new", "new_string")
		if a.all {
			set(true, "all")
		}
	case kindAsk:
		set(a.text, "question", "text")
		options := make([]map[string]string, len(a.options))
		for i, o := range a.options {
			options[i] = map[string]string{"label": o}
		}
		if len(options) > 0 {
			set(options, "options")
		} else {
			set(true, "freeText")
		}
	default:
	}
	return raw(args)
}

// refuse says why a request is not begun, "" when it can be: a request that is
// only half understood is better not begun at all.
func refuse(steps []step, tools toolbox) string {
	for _, s := range steps {
		for _, a := range s.actions {
			if a.kind == kindUnclear {
				return unclear(a, len(steps) > 1)
			}
			if name := a.kind.tool(); name != "" && tools[name] == nil {
				return fmt.Sprintf("I have no tool %s here, so I cannot %s. Nothing was done. An agent's tools are chosen in its settings.", code(name), a.words())
			}
		}
	}
	return ""
}

func unclear(a action, more bool) string {
	var b strings.Builder
	switch {
	case a.why != "":
		b.WriteString(a.why)
	case more:
		fmt.Fprintf(&b, "I did not understand this part: %s.", code(clipped(a.text)))
	default:
		b.WriteString("I did not understand that.")
	}
	if more {
		b.WriteString(" So I have begun none of it.")
	}
	b.WriteString(" I follow plain requests such as these:\n\n")
	b.WriteString(examples)
	return b.String()
}

// clipped shortens what a person wrote to one readable line.
func clipped(text string) string {
	const most = 80
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}
