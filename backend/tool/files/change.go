package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"countersign/backend/protocol"
	"countersign/backend/tool"
	"countersign/backend/tool/internal/place"
)

// change is one planned replacement of a file's content.
type change struct {
	plan  tool.Plan
	spot  place.Spot
	was   present
	after []byte
	// lines counts changed lines.
	lines int
}

// detail is the part of a plan that says what will be there; Resolve compares
// with it after a crash.
type detail struct {
	AfterSHA256 string `json:"afterSha256"`
	AfterBytes  int64  `json:"afterBytes"`
	Lines       int    `json:"lines"`
	// Mode is the permission bits the file will have.
	Mode uint32 `json:"mode"`
}

const newFileMode = 0o644

// content computes what a file will hold from what it holds.
type content func(show string, was present) ([]byte, error)

// prepare finds the file and works out the whole change without any effect.
func prepare(ctx context.Context, p *place.Place, name, path string, args any, after content) (change, error) {
	s, err := p.Resolve(path)
	if err != nil {
		return change{}, err
	}
	if err := s.RequireFileOrNothing(); err != nil {
		return change{}, err
	}
	if err := s.RequireWritable(); err != nil {
		return change{}, err
	}
	for _, missing := range s.Missing() {
		if err := place.CheckNewName(missing); err != nil {
			return change{}, err
		}
	}
	c := change{spot: s}
	if c.was, err = look(ctx, p, s); err != nil {
		return change{}, err
	}
	if c.was.exists && c.was.mode&0o200 == 0 {
		return change{}, argument("%q is marked read-only, so it is left alone.", s.Show)
	}
	if c.after, err = after(s.Show, c.was); err != nil {
		return change{}, err
	}
	return c, c.fill(name, args)
}

func (c *change) fill(name string, args any) error {
	view := viewOf(c.spot.Show, c.was, c.after)
	c.lines = view.lines
	mode := uint32(newFileMode)
	if c.was.exists {
		mode = uint32(c.was.mode)
	}
	raw, err := tool.Encode(args)
	if err != nil {
		return err
	}
	rest, err := tool.Encode(detail{AfterSHA256: shaOf(c.after), AfterBytes: int64(len(c.after)), Lines: view.lines, Mode: mode})
	if err != nil {
		return err
	}
	s := c.spot
	c.plan = tool.Plan{
		Tool: name, Args: raw, Target: s.Show, Detail: rest,
		Paths:  []tool.PlanPath{{Path: s.Abs, Write: true, Outside: s.Outside, Exists: c.was.exists, SHA256: c.was.sha}},
		Card:   c.card(view),
		Before: c.before(),
	}
	return nil
}

// before is what undo puts back; nil when the former content is too large to
// keep.
func (c *change) before() *tool.FileState {
	if !c.was.exists {
		return &tool.FileState{Path: c.spot.Abs}
	}
	if c.was.content == nil {
		return nil
	}
	return &tool.FileState{
		Path: c.spot.Abs, Exists: true, Mode: uint32(c.was.mode), Content: c.was.content, SHA256: c.was.sha,
	}
}

func (c *change) card(v view) tool.Card {
	where := "your workspace"
	if c.spot.Outside {
		where = "a folder you added"
	}
	reach := []string{fmt.Sprintf("Changes only %s, in %s.", c.spot.Show, where)}
	if n := len(c.spot.Missing()); n > 1 {
		reach = append(reach, fmt.Sprintf("Makes the folder %s.", path.Dir(c.spot.Show)))
	}
	warnings := v.notes
	if c.was.exists && c.was.content == nil {
		warnings = append(warnings, fmt.Sprintf("It cannot be undone: the file is %s, and at most %s are kept.", size(c.was.size), size(maxKept)))
	} else {
		reach = append(reach, "It can be undone from its receipt.")
	}
	if hasOtherNames(c.was.info) {
		warnings = append(warnings, "The file has another name (a hard link), which keeps the former content.")
	}
	risk := fileRisk(c.spot.Abs, c.was)
	if risk != "" {
		warnings = append([]string{risk}, warnings...)
	}
	return tool.Card{
		Sentence: v.sentence, Diff: v.diff, Truncated: v.cut, Reach: reach,
		HighRisk: risk != "", Warning: strings.Join(warnings, " "),
	}
}

// planChange is Plan of write and edit.
func planChange(ctx context.Context, env tool.Env, name, path string, args any, after content) (tool.Plan, error) {
	p, err := place.Open(env)
	if err != nil {
		return tool.Plan{}, err
	}
	defer p.Close()
	c, err := prepare(ctx, p, name, path, args, after)
	return c.plan, err
}

// doChange is Do of write and edit: it works the change out again, refuses when
// anything differs from the plan, and applies it.
func doChange(ctx context.Context, env tool.Env, plan tool.Plan, path string, args any, after content) (tool.Result, error) {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	p, err := place.Open(env)
	if err != nil {
		return tool.Result{}, err
	}
	defer p.Close()
	c, err := prepare(ctx, p, plan.Tool, path, args, after)
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	if err != nil {
		return tool.Result{}, asChanged(err)
	}
	if tool.PlanHash(c.plan) != tool.PlanHash(plan) {
		return tool.Result{}, fmt.Errorf("%w: %s has other content now", tool.ErrPlanChanged, c.spot.Show)
	}
	note, err := c.replace(ctx, p)
	switch {
	case errors.Is(err, tool.ErrPlanChanged):
		return tool.Result{}, err
	case ctx.Err() != nil && err != nil:
		return stopped(ctx)
	case err != nil:
		return failed(c.spot.Show, err)
	}
	return c.result(note), nil
}

func (c *change) result(note string) tool.Result {
	existed := c.was.exists
	did := "Changed " + count(c.lines, "line", "lines") + " in " + c.spot.Show
	if !existed {
		did = "Wrote the new file " + c.spot.Show + " with " + count(c.lines, "line", "lines")
	}
	after := shaOf(c.after)
	return tool.Result{
		Content: fmt.Sprintf("%s (now %s).", did, size(int64(len(c.after)))), Outcome: protocol.OutcomeDone,
		Evidence: protocol.Evidence{
			BytesWritten: int64(len(c.after)), HashBefore: c.was.sha, HashAfter: after, ExistedBefore: &existed, Note: note,
		},
		AfterSHA256: c.undoHash(after), Lines: c.lines, Taint: protocol.TaintLocal, Source: c.spot.Show,
	}
}

// undoHash is empty when there is no former content to restore.
func (c *change) undoHash(after string) string {
	if c.was.exists && c.was.content == nil {
		return ""
	}
	return after
}

// resolveChange is Resolve of write and edit: the content tells whether the
// change happened.
func resolveChange(ctx context.Context, env tool.Env, plan tool.Plan) (tool.Result, bool, error) {
	var d detail
	if err := json.Unmarshal(plan.Detail, &d); err != nil || len(plan.Paths) != 1 {
		return tool.Result{}, false, nil
	}
	want := plan.Paths[0]
	p, s, err := resolve(env, want.Path)
	if err != nil {
		return tool.Result{}, false, nil
	}
	defer p.Close()
	if s.Abs != want.Path || s.RequireFileOrNothing() != nil {
		return tool.Result{}, false, nil
	}
	now, err := look(ctx, p, s)
	if err != nil {
		return tool.Result{}, false, err
	}
	c := change{spot: s, was: present{exists: want.Exists, sha: want.SHA256, content: []byte{}}, lines: d.Lines}
	switch {
	case now.exists && now.sha == d.AfterSHA256:
		sweep(p, s, plan)
		c.after = now.content
		r := c.result("found in place after an interruption")
		r.Evidence.BytesWritten, r.Evidence.HashAfter = d.AfterBytes, d.AfterSHA256
		if plan.Before == nil {
			r.AfterSHA256 = ""
		} else {
			r.AfterSHA256 = d.AfterSHA256
		}
		return r, true, nil
	case now.exists == want.Exists && now.sha == want.SHA256:
		sweep(p, s, plan)
		return tool.Result{
			Content: s.Show + " was not changed.", IsError: true, Outcome: protocol.OutcomeFailed,
			Evidence: protocol.Evidence{Note: "did not happen", HashBefore: want.SHA256, ExistedBefore: &want.Exists},
		}, true, nil
	}
	return tool.Result{}, false, nil
}

// changedMode says that a file would come out with other rights than those that
// were allowed; its content is among the paths of the plan.
func changedMode(before, after tool.Plan) []string {
	var was, is detail
	if json.Unmarshal(before.Detail, &was) != nil || json.Unmarshal(after.Detail, &is) != nil || was.Mode == is.Mode {
		return nil
	}
	return []string{fmt.Sprintf("the permissions of %s became %04o, which were %04o", after.Target, is.Mode, was.Mode)}
}

func argument(format string, args ...any) error {
	return &tool.ArgumentError{Sentence: fmt.Sprintf(format, args...)}
}
