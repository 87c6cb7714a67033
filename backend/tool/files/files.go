// Package files is the tools that read and change files: read, list, search,
// write and edit, and Undo, which takes a change back.
//
// Every path goes through package place, so it stays in the agent's folders and
// follows no link out of them. A change is planned whole: the plan holds the hash
// of what is there and of what will be there, and Do refuses when either differs.
// A file is replaced in one step (a temporary file, synced, then renamed), so a
// crash leaves the old content or the new one and never a part.
//
// A change keeps the permission bits, owner and group of the file. Being a
// replacement it does not keep extended attributes, and another name of the same
// file (a hard link) keeps the former content; the card says so. An edit changes
// the asked bytes only: line ends, a byte order mark, UTF-16, a missing last line
// end and bytes that are no text stay as they are.
package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"countersign/backend/protocol"
	"countersign/backend/tool"
	"countersign/backend/tool/internal/place"
)

// group is the policy group of all file tools.
const group = "fs"

// New returns the file tools. They hold no state and are safe for concurrent
// use.
func New() []tool.Tool { return []tool.Tool{Read{}, List{}, Search{}, Write{}, Edit{}} }

var (
	readClass  = tool.Class{Repeat: tool.RepeatRead, ReadsPrivate: true}
	writeClass = tool.Class{Repeat: tool.RepeatOnce}
)

// resolve opens the folders and finds a path. The caller closes the place.
func resolve(env tool.Env, path string) (*place.Place, place.Spot, error) {
	p, err := place.Open(env)
	if err != nil {
		return nil, place.Spot{}, err
	}
	s, err := p.Resolve(path)
	if err != nil {
		p.Close()
		return nil, place.Spot{}, err
	}
	return p, s, nil
}

// readPlan is the plan of a tool that changes nothing, at a spot that exists.
func readPlan(name string, args any, s place.Spot, sentence string) (tool.Plan, error) {
	raw, err := tool.Encode(args)
	if err != nil {
		return tool.Plan{}, err
	}
	kind, err := tool.Encode(readDetail{Folder: s.Info.IsDir()})
	if err != nil {
		return tool.Plan{}, err
	}
	return tool.Plan{
		Tool: name, Args: raw, Target: s.Show, Detail: kind,
		Paths: []tool.PlanPath{{Path: s.Abs, Exists: s.Exists(), Outside: s.Outside}},
		Card:  tool.Card{Sentence: sentence, Reach: []string{"Reads " + s.Show + " and changes nothing."}},
	}, nil
}

// readDetail keeps a folder that was to be read from being taken for a file.
type readDetail struct {
	Folder bool `json:"folder"`
}

// again repeats a read's resolution for Do and refuses when the name means
// another file than planned.
func again(env tool.Env, plan tool.Plan, path string) (*place.Place, place.Spot, error) {
	p, s, err := resolve(env, path)
	if err != nil {
		return nil, s, asChanged(err)
	}
	var was readDetail
	if len(plan.Paths) != 1 || plan.Paths[0].Path != s.Abs || !s.Exists() ||
		json.Unmarshal(plan.Detail, &was) != nil || was.Folder != s.Info.IsDir() {
		p.Close()
		return nil, s, fmt.Errorf("%w: %s is gone or another file now", tool.ErrPlanChanged, path)
	}
	return p, s, nil
}

// asChanged turns what Plan would refuse into what Do reports: the plan was fine
// when it was allowed.
func asChanged(err error) error {
	var argument *tool.ArgumentError
	var denied *tool.DeniedError
	if errors.As(err, &argument) || errors.As(err, &denied) {
		return fmt.Errorf("%w: %s", tool.ErrPlanChanged, err.Error())
	}
	return err
}

// stopped is the result of a call whose context ended before it changed
// anything.
func stopped(ctx context.Context) (tool.Result, error) {
	return tool.Result{
		Content: "Stopped; nothing was changed.", IsError: true, Outcome: protocol.OutcomeStopped, NothingDone: true,
		Evidence: protocol.Evidence{Note: "stopped before anything was changed", Error: context.Cause(ctx).Error()},
	}, nil
}

// failed is the result of a call that could not be carried out and changed
// nothing.
func failed(show string, err error) (tool.Result, error) {
	reason := reasonOf(err)
	return tool.Result{
		Content: fmt.Sprintf("%s: %s Nothing was changed.", show, reason), IsError: true, Outcome: protocol.OutcomeFailed, NothingDone: true,
		Evidence: protocol.Evidence{Error: reason, Note: "nothing was changed"},
	}, nil
}

func reasonOf(err error) string {
	var argument *tool.ArgumentError
	switch {
	case errors.As(err, &argument):
		return argument.Sentence
	case errors.Is(err, syscall.ENOSPC):
		return "The disk is full."
	case errors.Is(err, syscall.EROFS):
		return "The disk is read-only."
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return "You have no permission for it."
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "The name is too long."
	}
	return strings.TrimSuffix(err.Error(), ".") + "."
}

// spec fills in what all file tools share.
func spec(name, description string, effect protocol.EffectClass, class tool.Class, schema string) tool.Spec {
	return tool.Spec{
		Name: name, Description: description, Group: group, Effect: effect, Class: class, Schema: json.RawMessage(schema),
	}
}

// count is a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(int64(n)) + " " + many
}

func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size is a number of bytes for people.
func size(n int64) string {
	const step = 1024
	switch {
	case n == 1:
		return "1 byte"
	case n < step:
		return fmt.Sprintf("%d bytes", n)
	case n < step*step:
		return fmt.Sprintf("%.1f KB", float64(n)/step)
	case n < step*step*step:
		return fmt.Sprintf("%.1f MB", float64(n)/step/step)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/step/step/step)
}
