package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"countersign/backend/protocol"
	"countersign/backend/tool"
	"countersign/backend/tool/internal/place"
)

// Bounds of one search.
const (
	defaultHits    = 100
	maxHits        = 1000
	maxSearchDepth = 64
	maxSearched    = 50000
	// maxSearchFile and maxSearchBytes bound the bytes of one file and of all.
	maxSearchFile  = 32 << 20
	maxSearchBytes = 1 << 30
	// hitWidth is how many bytes of a matching line are shown, around the match.
	hitWidth = 300
)

// leftOut are folders that are searched only when the path names them: they hold
// what tools made and drown what people wrote.
var leftOut = []string{".git", "node_modules"}

// Search finds lines of text files.
type Search struct{}

type searchArgs struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob,omitempty"`
	Regex      bool   `json:"regex"`
	IgnoreCase bool   `json:"ignoreCase"`
	Limit      int    `json:"limit"`
}

// Spec describes the tool.
func (Search) Spec() tool.Spec {
	return spec("search", "Find lines in text files. Shows each as path:line: text, in the order of the paths.", protocol.ClassRead, readClass, `{
  "type": "object", "additionalProperties": false, "required": ["pattern"],
  "properties": {
    "pattern": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "The text to find, within one line"},
    "path": {"type": "string", "description": "A folder or file to search; the workspace unless told"},
    "glob": {"type": "string", "maxLength": 500, "description": "Only files like this: *.md, src/**/*.{ts,tsx}"},
    "regex": {"type": "boolean", "description": "The pattern is a regular expression (RE2)"},
    "ignoreCase": {"type": "boolean", "description": "Upper and lower case are the same"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How many lines to show at most; 100 unless told"}
  }
}`)
}

// Plan checks the pattern and finds the place; see tool.Tool.
func (Search) Plan(_ context.Context, env tool.Env, raw json.RawMessage) (tool.Plan, error) {
	var a searchArgs
	if err := tool.Decode(raw, &a); err != nil {
		return tool.Plan{}, err
	}
	if a.Path == "" {
		a.Path = "."
	}
	if a.Limit == 0 {
		a.Limit = defaultHits
	}
	a.Limit = min(max(a.Limit, 1), maxHits)
	if _, err := a.compile(); err != nil {
		return tool.Plan{}, err
	}
	p, s, err := resolve(env, a.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	defer p.Close()
	if s.RequireDir() != nil {
		if err := s.RequireFile(); err != nil {
			return tool.Plan{}, err
		}
	}
	return readPlan("search", a, s, fmt.Sprintf("Search %s for %q", folderName(s.Show), shorten(a.Pattern)))
}

// matcher is what a search looks for.
type matcher struct {
	re   *regexp.Regexp
	glob glob
}

func (a searchArgs) compile() (matcher, error) {
	if a.Pattern == "" {
		return matcher{}, argument("The pattern is empty.")
	}
	expr := a.Pattern
	if !a.Regex {
		if strings.ContainsAny(expr, "\r\n") {
			return matcher{}, argument("The pattern has a line end in it; a search finds text within one line.")
		}
		expr = regexp.QuoteMeta(expr)
	}
	if a.IgnoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return matcher{}, argument("The regular expression cannot be understood: %s.", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	m := matcher{re: re}
	if a.Glob != "" {
		if m.glob, err = newGlob(a.Glob); err != nil {
			return matcher{}, err
		}
	}
	return m, nil
}

// Do searches; see tool.Tool.
func (Search) Do(ctx context.Context, env tool.Env, plan tool.Plan, _ tool.Progress) (tool.Result, error) {
	var a searchArgs
	if err := tool.Decode(plan.Args, &a); err != nil {
		return tool.Result{}, asChanged(err)
	}
	m, err := a.compile()
	if err != nil {
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
	h := hunt{place: p, matcher: m, limit: a.Limit}
	if err := h.start(ctx, s); err != nil {
		switch {
		case ctx.Err() != nil:
			return stopped(ctx)
		case errors.Is(err, tool.ErrPlanChanged):
			return tool.Result{}, err
		}
		return failed(s.Show, err)
	}
	return tool.Result{
		Content: h.text(), Outcome: protocol.OutcomeDone, Items: h.hits, Taint: protocol.TaintLocal, Source: s.Show,
		Evidence: protocol.Evidence{BytesRead: h.bytes},
	}, nil
}

// hunt is a search as it runs.
type hunt struct {
	place   *place.Place
	matcher matcher
	limit   int

	out     strings.Builder
	hits    int
	files   int
	bytes   int64
	full    bool
	large   []string
	skipped map[string]bool
	unread  int
	// moved says that a file found was another one, or none, when it was opened.
	moved bool
}

// errEnough ends a walk that has all it may show.
var errEnough = errors.New("enough")

func (h *hunt) start(ctx context.Context, s place.Spot) error {
	h.skipped = map[string]bool{}
	var err error
	if s.Info.IsDir() {
		var dir *os.Root
		if dir, err = h.place.OpenDir(s); err != nil {
			return asChanged(err)
		}
		defer func() { _ = dir.Close() }()
		err = h.folder(ctx, dir, s.Abs, "", 0)
	} else {
		if err := s.RequireFile(); err != nil {
			return asChanged(err)
		}
		var dir *os.Root
		if dir, err = h.place.OpenParent(s); err != nil {
			return asChanged(err)
		}
		defer func() { _ = dir.Close() }()
		if err = h.file(ctx, dir, s.Info, s.Show); err == nil && h.moved {
			return fmt.Errorf("%w: %s is another file now", tool.ErrPlanChanged, s.Show)
		}
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (h *hunt) folder(ctx context.Context, dir *os.Root, abs, rel string, depth int) error {
	entries, whole, err := readFolder(h.place, dir, abs)
	if err != nil || !whole || depth > maxSearchDepth {
		h.unread++
		if depth > maxSearchDepth || err != nil {
			return nil
		}
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		below := join(rel, e.Name())
		switch {
		case e.IsDir() && slices.Contains(leftOut, e.Name()):
			h.skipped[e.Name()] = true
		case e.IsDir():
			sub, err := h.place.Enter(dir, e.Name())
			if err != nil {
				h.unread++
				continue
			}
			err = h.folder(ctx, sub, filepath.Join(abs, e.Name()), below, depth+1)
			_ = sub.Close()
			if err != nil {
				return err
			}
		case e.Mode().IsRegular() && h.matcher.glob.matches(below, e.Name()):
			if err := h.file(ctx, dir, e, h.place.Show(filepath.Join(abs, e.Name()))); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *hunt) file(ctx context.Context, dir *os.Root, e fs.FileInfo, show string) error {
	if e.Size() > maxSearchFile {
		h.large = append(h.large, show)
		return nil
	}
	if h.files++; h.files > maxSearched || h.bytes > maxSearchBytes {
		h.full = true
		return errEnough
	}
	f, _, err := place.OpenFile(dir, e.Name())
	if err != nil {
		h.moved = h.moved || errors.Is(err, tool.ErrPlanChanged) || errors.Is(err, fs.ErrNotExist)
		h.unread++
		return nil
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, headSize)
	n, _ := io.ReadFull(f, head)
	form := formOf(head[:n])
	if isKnownBinary(head[:n]) || isBinary(head[:n], form) {
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		h.unread++
		return nil
	}
	return h.lines(ctx, newLineReader(f, form), show)
}

func (h *hunt) lines(ctx context.Context, in *lineReader, show string) error {
	defer func() { h.bytes += in.read }()
	for number := 1; ; number++ {
		if number%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		l, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			h.unread++
			return nil
		}
		found := h.matcher.re.FindStringIndex(l.text)
		if found == nil {
			continue
		}
		if h.hits == h.limit {
			h.full = true
			return errEnough
		}
		h.hits++
		fmt.Fprintf(&h.out, "%s:%d: %s\n", printable(show), number, around(l.text, found[0], found[1]))
	}
}

// around is the part of a line that holds a match.
func around(text string, from, to int) string {
	if len(text) <= hitWidth {
		return text
	}
	start := max(0, min(from-hitWidth/3, len(text)-hitWidth))
	end := min(len(text), max(start+hitWidth, min(to, start+2*hitWidth)))
	part := strings.ToValidUTF8(text[start:end], "")
	if start > 0 {
		part = "…" + part
	}
	if end < len(text) {
		part += "…"
	}
	return part
}

func (h *hunt) text() string {
	out := h.out.String()
	if h.hits == 0 {
		out = "Nothing found in " + count(h.files, "file", "files") + ".\n"
	}
	var notes []string
	if h.full {
		notes = append(notes, "There is more: this is what the limits allow. Narrow the search by path or glob.")
	}
	for _, name := range leftOut {
		if h.skipped[name] {
			notes = append(notes, name+" was left out; name it in path to search it.")
		}
	}
	if n := len(h.large); n > 0 {
		notes = append(notes, fmt.Sprintf("Too large to search: %s.", strings.Join(h.large[:min(n, 5)], ", ")))
	}
	if h.unread > 0 {
		notes = append(notes, count(h.unread, "file or folder", "files or folders")+" could not be read.")
	}
	if len(notes) > 0 {
		out += "[" + strings.Join(notes, " ") + "]\n"
	}
	return out
}
