package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"countersign/backend/protocol"
	"countersign/backend/tool"
	"countersign/backend/tool/internal/place"
)

// Bounds of one read.
const (
	defaultLines = 2000
	maxLines     = 10000
	// maxShownBytes bounds what goes to the model.
	maxShownBytes = 100 << 10
	// maxCounted bounds how far the rest of a file is read to count its lines.
	maxCounted = 64 << 20
	// checkEvery is how many lines pass between two looks at the context.
	checkEvery = 1000
)

// Read shows a part of a text file.
type Read struct{}

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

// Spec describes the tool.
func (Read) Spec() tool.Spec {
	return spec("read", "Read a text file, or a part of it by lines. Says what was left out.", protocol.ClassRead, readClass, `{
  "type": "object", "additionalProperties": false, "required": ["path"],
  "properties": {
    "path": {"type": "string", "minLength": 1, "description": "The file, from the workspace or absolute"},
    "offset": {"type": "integer", "minimum": 1, "maximum": 1000000000, "description": "The first line to show, from 1"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 10000, "description": "How many lines to show; 2000 unless told"}
  }
}`)
}

// Plan finds the file; see tool.Tool.
func (Read) Plan(_ context.Context, env tool.Env, raw json.RawMessage) (tool.Plan, error) {
	var a readArgs
	if err := tool.Decode(raw, &a); err != nil {
		return tool.Plan{}, err
	}
	a.Offset = max(a.Offset, 1)
	if a.Limit == 0 {
		a.Limit = defaultLines
	}
	a.Limit = min(max(a.Limit, 1), maxLines)
	p, s, err := resolve(env, a.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	defer p.Close()
	if err := s.RequireFile(); err != nil {
		return tool.Plan{}, err
	}
	return readPlan("read", a, s, "Read "+s.Show)
}

// Do reads; see tool.Tool.
func (Read) Do(ctx context.Context, env tool.Env, plan tool.Plan, _ tool.Progress) (tool.Result, error) {
	var a readArgs
	if err := tool.Decode(plan.Args, &a); err != nil {
		return tool.Result{}, asChanged(err)
	}
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	p, s, err := again(env, plan, a.Path)
	if err != nil {
		return tool.Result{}, err
	}
	defer p.Close()
	dir, err := p.OpenParent(s)
	if err != nil {
		return tool.Result{}, asChanged(err)
	}
	defer func() { _ = dir.Close() }()
	f, info, err := place.OpenFile(dir, s.Name())
	if errors.Is(err, tool.ErrPlanChanged) {
		return tool.Result{}, err
	}
	if err != nil {
		return failed(s.Show, err)
	}
	defer func() { _ = f.Close() }()
	return a.read(ctx, s.Show, f, info.Size())
}

func (a readArgs) read(ctx context.Context, show string, f *os.File, length int64) (tool.Result, error) {
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return failed(show, err)
	}
	head = head[:n]
	form := formOf(head)
	if isKnownBinary(head) || isBinary(head, form) {
		what := fmt.Sprintf("%s is no text (%s, %s), so it cannot be shown.", show, binaryName(head), size(length))
		return tool.Result{
			Content: what, IsError: true, Outcome: protocol.OutcomeFailed, Taint: protocol.TaintLocal, Source: show,
			Evidence: protocol.Evidence{BytesRead: int64(n), Error: what},
		}, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return failed(show, err)
	}
	e := excerpt{args: a, in: newLineReader(f, form)}
	if err := e.collect(ctx); err != nil {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		return failed(show, err)
	}
	return tool.Result{
		Content: e.text(show, form), Outcome: protocol.OutcomeDone, Items: e.shown, Lines: e.shown, Taint: protocol.TaintLocal, Source: show,
		Evidence: protocol.Evidence{BytesRead: e.in.read},
	}, nil
}

// excerpt collects the asked lines and counts the others.
type excerpt struct {
	args   readArgs
	in     *lineReader
	out    strings.Builder
	seen   int
	shown  int
	broken bool
	// full says that the byte bound was reached before the asked lines.
	full bool
	// uncounted says that the file goes on beyond what was counted.
	uncounted bool
}

func (e *excerpt) collect(ctx context.Context) error {
	for {
		if e.seen%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		done := e.full || e.seen >= e.args.Offset-1+e.args.Limit
		if done && e.in.read > maxCounted {
			e.uncounted = true
			return nil
		}
		l, err := e.in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		e.seen++
		if !done && e.seen >= e.args.Offset {
			e.add(l)
		}
	}
}

func (e *excerpt) add(l line) {
	if e.out.Len()+len(l.text) > maxShownBytes {
		e.full = true
		return
	}
	e.broken = e.broken || l.broken
	e.out.WriteString(l.text)
	if l.more > 0 {
		fmt.Fprintf(&e.out, " […%s more bytes of this line]", thousands(int64(l.more)))
	}
	e.out.WriteString("\n")
	e.shown++
}

func (e *excerpt) text(show string, f form) string {
	var notes []string
	last := e.args.Offset - 1 + e.shown
	total := thousands(int64(e.seen))
	if e.uncounted {
		total = "more than " + total
	}
	switch {
	case e.seen == 0:
		return show + " is empty."
	case e.shown == 0 && !e.full:
		return fmt.Sprintf("%s has %s; there is no line %d.", show, count(e.seen, "line", "lines"), e.args.Offset)
	case last < e.seen || e.uncounted:
		notes = append(notes, fmt.Sprintf("Lines %d to %d of %s. Read on with offset %d.", e.args.Offset, last, total, last+1))
	case e.args.Offset > 1:
		notes = append(notes, fmt.Sprintf("Lines %d to %d of %s, the end.", e.args.Offset, last, total))
	}
	if e.broken {
		notes = append(notes, "Bytes that are no UTF-8 are shown as \ufffd.")
	}
	if f.wide != narrow {
		notes = append(notes, "The file is "+f.name()+".")
	}
	if len(notes) == 0 {
		return e.out.String()
	}
	return e.out.String() + "\n[" + strings.Join(notes, " ") + "]"
}
