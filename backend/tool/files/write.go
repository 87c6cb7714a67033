package files

import (
	"context"
	"encoding/json"

	"countersign/backend/protocol"
	"countersign/backend/tool"
)

// Write replaces a whole file, or makes it with the folders on its way.
type Write struct{}

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Spec describes the tool.
func (Write) Spec() tool.Spec {
	return spec("write",
		"Write a whole text file, replacing what it held; missing folders are made. To change a part of a file use edit.",
		protocol.ClassWrite, writeClass, `{
  "type": "object", "additionalProperties": false, "required": ["path", "content"],
  "properties": {
    "path": {"type": "string", "minLength": 1, "description": "The file, from the workspace or absolute"},
    "content": {"type": "string", "description": "The whole new content, exactly as it shall be"}
  }
}`)
}

func (a writeArgs) after(string, present) ([]byte, error) { return []byte(a.Content), nil }

// Plan works out the change with its diff; see tool.Tool.
func (w Write) Plan(ctx context.Context, env tool.Env, raw json.RawMessage) (tool.Plan, error) {
	var a writeArgs
	if err := tool.Decode(raw, &a); err != nil {
		return tool.Plan{}, err
	}
	return planChange(ctx, env, "write", a.Path, a, a.after)
}

// Do replaces the file in one step; see tool.Tool.
func (w Write) Do(ctx context.Context, env tool.Env, plan tool.Plan, _ tool.Progress) (tool.Result, error) {
	var a writeArgs
	if err := tool.Decode(plan.Args, &a); err != nil {
		return tool.Result{}, asChanged(err)
	}
	return doChange(ctx, env, plan, a.Path, a, a.after)
}

// Resolve tells by the content whether an interrupted write happened.
func (w Write) Resolve(ctx context.Context, env tool.Env, plan tool.Plan) (tool.Result, bool, error) {
	return resolveChange(ctx, env, plan)
}

// Changed says what differs between two plans; see tool.Comparer.
func (Write) Changed(before, after tool.Plan) []string { return changedMode(before, after) }
