package files

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf16"

	"countersign/backend/protocol"
	"countersign/backend/tool"
)

// Edit replaces one passage of a file and leaves every other byte as it is.
type Edit struct{}

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
	All  bool   `json:"all"`
}

// Spec describes the tool.
func (Edit) Spec() tool.Spec {
	return spec("edit",
		"Replace a passage of a text file. The old passage must stand in the file exactly once, with its spaces, unless all is true. Line ends are matched whatever their kind, and kept.",
		protocol.ClassWrite, writeClass, `{
  "type": "object", "additionalProperties": false, "required": ["path", "old", "new"],
  "properties": {
    "path": {"type": "string", "minLength": 1, "description": "The file, from the workspace or absolute"},
    "old": {"type": "string", "minLength": 1, "description": "The passage to replace, exactly as it stands in the file"},
    "new": {"type": "string", "description": "What to put in its place; empty removes the passage"},
    "all": {"type": "boolean", "description": "Replace every occurrence"}
  }
}`)
}

// Plan works out the change with its diff; see tool.Tool.
func (e Edit) Plan(ctx context.Context, env tool.Env, raw json.RawMessage) (tool.Plan, error) {
	var a editArgs
	if err := tool.Decode(raw, &a); err != nil {
		return tool.Plan{}, err
	}
	return planChange(ctx, env, "edit", a.Path, a, a.after)
}

// Do replaces the file in one step; see tool.Tool.
func (e Edit) Do(ctx context.Context, env tool.Env, plan tool.Plan, _ tool.Progress) (tool.Result, error) {
	var a editArgs
	if err := tool.Decode(plan.Args, &a); err != nil {
		return tool.Result{}, asChanged(err)
	}
	return doChange(ctx, env, plan, a.Path, a, a.after)
}

// Resolve tells by the content whether an interrupted edit happened.
func (e Edit) Resolve(ctx context.Context, env tool.Env, plan tool.Plan) (tool.Result, bool, error) {
	return resolveChange(ctx, env, plan)
}

// Changed says what differs between two plans; see tool.Comparer.
func (Edit) Changed(before, after tool.Plan) []string { return changedMode(before, after) }

func (a editArgs) after(show string, was present) ([]byte, error) {
	switch {
	case !was.exists:
		return nil, argument("%q does not exist; use write to make it.", show)
	case was.content == nil:
		return nil, argument("%q is too large to edit (%s; at most %s).", show, size(was.size), size(maxKept))
	case was.binary():
		return nil, argument("%q is no text (%s), so it cannot be edited.", show, binaryName(was.head))
	case a.Old == "":
		return nil, argument("The old passage is empty; give the text to replace.")
	case a.Old == a.New:
		return nil, argument("The old and the new passage are the same, so nothing would change.")
	}
	f := formOf(was.content)
	mark, body := was.content[:len(f.bom)], was.content[len(f.bom):]
	old, now := strings.TrimPrefix(a.Old, "\ufeff"), strings.TrimPrefix(a.New, "\ufeff")
	if old == "" {
		return nil, argument("The old passage is only a byte order mark, which edit keeps.")
	}
	var out []byte
	if f.wide == narrow {
		text, at := substitute(body, []byte(old), []byte(now), a.All)
		if text == nil {
			return nil, a.refuse(show, f.decode(was.content), len(at), lineNumbers(body, at))
		}
		out = text
	} else {
		units, tail := f.units(body)
		text, at := substitute(units, utf16.Encode([]rune(old)), utf16.Encode([]rune(now)), a.All)
		if text == nil {
			return nil, a.refuse(show, f.decode(was.content), len(at), lineNumbers(units, at))
		}
		out = append(f.bytes(text), tail...)
	}
	after := append(append(make([]byte, 0, len(mark)+len(out)), mark...), out...)
	if len(after) > maxKept {
		return nil, argument("After the edit %q would be larger than %s.", show, size(maxKept))
	}
	if shaOf(after) == was.sha {
		return nil, argument("The edit would leave %q as it is.", show)
	}
	return after, nil
}

// refuse says why a passage was not replaced, with what helps to find it.
func (a editArgs) refuse(show, text string, found int, lines []int) error {
	if found > 1 {
		return argument("The old passage stands %d times in %q (%s). Give more of the text around it, or set all to true.",
			found, show, lineList(lines))
	}
	return argument("The old passage stands 0 times in %q.%s", show, nearest(text, a.Old))
}
