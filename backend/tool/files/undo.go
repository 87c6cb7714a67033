package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"countersign/backend/protocol"
	"countersign/backend/tool"
	"countersign/backend/tool/internal/place"
)

// Undo puts a file back to before: its former content and mode, or its absence.
// It first demands that the file is still as the change left it, by its hash
// afterSHA256; else it is a *tool.ConflictError and nothing is touched. Folders that
// the change made stay. Like every path, before.Path must lie in a writable folder
// of env (*tool.DeniedError) and lead there without a link.
func Undo(ctx context.Context, env tool.Env, before tool.FileState, afterSHA256 string) (tool.Result, error) {
	if afterSHA256 == "" {
		return tool.Result{}, errors.New("undo: the hash of the changed file is missing")
	}
	if before.Exists && shaOf(before.Content) != before.SHA256 {
		return tool.Result{}, errors.New("undo: the kept content does not match its hash")
	}
	p, s, err := resolve(env, before.Path)
	if err != nil {
		return tool.Result{}, asConflict(before.Path, err)
	}
	defer p.Close()
	if s.Abs != before.Path || s.RequireFileOrNothing() != nil {
		return tool.Result{}, conflict(s.Show, "is reached by another way now")
	}
	if err := s.RequireWritable(); err != nil {
		return tool.Result{}, err
	}
	now, err := look(ctx, p, s)
	if err != nil {
		return tool.Result{}, asConflict(s.Show, err)
	}
	if err := undoable(s.Show, now, before, afterSHA256); err != nil {
		return tool.Result{}, err
	}
	c := change{spot: s, was: now, after: before.Content}
	if !before.Exists {
		return c.remove(ctx, p, before)
	}
	return c.restore(ctx, p, before)
}

func undoable(show string, now present, before tool.FileState, afterSHA256 string) error {
	switch {
	case now.exists && now.sha == afterSHA256:
		return nil
	case now.exists == before.Exists && now.sha == before.SHA256:
		return &tool.ConflictError{Sentence: show + " is already as it was before; there is nothing to undo.", AlreadyRestored: true}
	case !now.exists:
		return conflict(show, "has been removed since")
	}
	return conflict(show, "has been changed since")
}

func conflict(show, how string) error {
	return &tool.ConflictError{Sentence: fmt.Sprintf("%s %s, so it was left as it is. Compare it with the receipt and change it by hand.", show, how)}
}

// asConflict keeps a refusal of the place and turns what moved into a conflict.
func asConflict(show string, err error) error {
	var argument *tool.ArgumentError
	if errors.Is(err, tool.ErrPlanChanged) || errors.As(err, &argument) {
		return conflict(show, "is reached by another way now")
	}
	return err
}

func (c *change) restore(ctx context.Context, p *place.Place, before tool.FileState) (tool.Result, error) {
	dir, err := p.OpenParent(c.spot)
	if err != nil {
		return tool.Result{}, asConflict(c.spot.Show, err)
	}
	defer func() { _ = dir.Close() }()
	r := replacement{
		dir: dir, name: c.spot.Name(), temp: tempNameOf("undo " + before.Path + " " + before.SHA256), content: before.Content,
		mode: fs.FileMode(before.Mode).Perm(), owner: c.was.info,
	}
	err = r.write()
	if err == nil {
		err = c.verify(ctx, p, dir)
	}
	if err == nil {
		err = r.swap(true)
	}
	if err != nil {
		r.drop()
		return c.undoFailed(ctx, err)
	}
	lines := viewOf(c.spot.Show, c.was, before.Content).lines
	return c.undone(dir, before, lines), nil
}

func (c *change) remove(ctx context.Context, p *place.Place, before tool.FileState) (tool.Result, error) {
	dir, err := p.OpenParent(c.spot)
	if err != nil {
		return tool.Result{}, asConflict(c.spot.Show, err)
	}
	defer func() { _ = dir.Close() }()
	if err := c.verify(ctx, p, dir); err != nil {
		return c.undoFailed(ctx, err)
	}
	if err := dir.Remove(c.spot.Name()); err != nil {
		return c.undoFailed(ctx, err)
	}
	lines := 0
	if c.was.content != nil {
		lines = len(splitLines(formOf(c.was.content).decode(c.was.content)))
	}
	return c.undone(dir, before, lines), nil
}

func (c *change) undoFailed(ctx context.Context, err error) (tool.Result, error) {
	if errors.Is(err, tool.ErrPlanChanged) {
		return tool.Result{}, conflict(c.spot.Show, "was changed at this moment")
	}
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	return failed(c.spot.Show, err)
}

func (c *change) undone(dir *os.Root, before tool.FileState, lines int) tool.Result {
	existed := true
	note := ""
	if syncDir(dir) != nil {
		note = "done; the disk did not confirm the folder's entry yet"
	}
	did := "Restored " + c.spot.Show + " as it was."
	if !before.Exists {
		did = "Removed " + c.spot.Show + ", which did not exist before."
	}
	return tool.Result{
		Content: did, Outcome: protocol.OutcomeDone, Lines: lines, Taint: protocol.TaintLocal, Source: c.spot.Show,
		Evidence: protocol.Evidence{
			BytesWritten: int64(len(before.Content)), HashBefore: c.was.sha, HashAfter: before.SHA256, ExistedBefore: &existed, Note: note,
		},
	}
}
