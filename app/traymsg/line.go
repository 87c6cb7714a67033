// Package traymsg is the language between the window and its tray helper: one JSON object a line, over the helper's
// standard input and output. Each line holds exactly one of the fields of Line.
//
// It owns the line types and their reading and writing. It promises that a line is whole or an error, and refuses lines
// longer than MaxLine, so that a confused peer cannot fill the memory of the other. It knows nothing of menus or
// windows and imports nothing of ours.
package traymsg

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// MaxLine is the longest line either side accepts, in bytes, its line feed apart.
const MaxLine = 256 << 10

// Status is what the tray's picture says.
type Status string

// The states of the tray, each with a picture of its own shape.
const (
	Idle     Status = "idle"
	Working  Status = "working"
	NeedsYou Status = "needs-you"
	Paused   Status = "paused"
	Degraded Status = "degraded"
	Offline  Status = "offline"
)

// Statuses lists every state, for those who must have a picture or a word for each.
func Statuses() []Status { return []Status{Idle, Working, NeedsYou, Paused, Degraded, Offline} }

// Kind is what the owner chose.
type Kind string

// The choices of the menu. Allow, Deny and Show concern one approval.
const (
	Open   Kind = "open"
	Quit   Kind = "quit"
	Pause  Kind = "pause"
	Resume Kind = "resume"
	Allow  Kind = "allow"
	Deny   Kind = "deny"
	Show   Kind = "show"
)

// Line is one message; exactly one field is set.
type Line struct {
	State *State `json:"state,omitempty"` // to the helper
	Menu  *Menu  `json:"menu,omitempty"`  // to the helper
	Ready *Ready `json:"ready,omitempty"` // from the helper
	Click *Click `json:"click,omitempty"` // from the helper
}

// State is the picture and the words beside it.
type State struct {
	State Status `json:"state"`
	// Count is how many approvals wait.
	Count int `json:"count"`
	// Title is one plain sentence, shown when the pointer rests on the icon.
	Title string `json:"title"`
}

// Menu is what the menu offers.
type Menu struct {
	Waiting []Waiting `json:"waiting"`
	Running []Running `json:"running"`
	Paused  bool      `json:"paused"`
}

// Waiting is an approval that waits for the owner.
type Waiting struct {
	ID string `json:"id"`
	// Nonce binds a click to the question that was shown: it comes back with the click.
	Nonce string `json:"nonce"`
	// What is exactly what would be done; Where is the folder, host or chat it would happen in.
	What  string `json:"what"`
	Where string `json:"where"`
	// Detail is the change itself, line by line, where it is short enough for a menu.
	Detail []string `json:"detail,omitempty"`
	// HighRisk ones offer Show only: the window shows all there is to know.
	HighRisk bool `json:"highRisk"`
}

// Running is a run at work.
type Running struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Ready says that the helper lives, at its start and whenever Watcher changes.
type Ready struct {
	// Watcher says whether the desktop shows tray icons at all. While it is false a hidden window cannot be
	// brought back from the tray.
	Watcher bool `json:"watcher"`
}

// Click is a choice of the owner. ID and Nonce are those of the approval, empty otherwise.
type Click struct {
	Kind  Kind   `json:"kind"`
	ID    string `json:"id,omitempty"`
	Nonce string `json:"nonce,omitempty"`
}

// ErrMalformed is a line that is not JSON, too long, or has not exactly one field. The peer is of another version or
// broken: end the conversation.
var ErrMalformed = errors.New("malformed tray line")

func (l Line) fields() int {
	n := 0
	for _, set := range []bool{l.State != nil, l.Menu != nil, l.Ready != nil, l.Click != nil} {
		if set {
			n++
		}
	}
	return n
}

// Reader reads lines. It is not safe for concurrent use.
type Reader struct{ lines *bufio.Scanner }

// NewReader reads from r until its end.
func NewReader(r io.Reader) *Reader {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxLine+2)
	return &Reader{lines}
}

// Read returns the next line. The end of the stream is io.EOF; a bad line is ErrMalformed.
func (r *Reader) Read() (Line, error) {
	if !r.lines.Scan() {
		switch err := r.lines.Err(); {
		case err == nil:
			return Line{}, io.EOF
		case errors.Is(err, bufio.ErrTooLong):
			return Line{}, fmt.Errorf("%w: longer than %d bytes", ErrMalformed, MaxLine)
		default:
			return Line{}, fmt.Errorf("read tray line: %w", err)
		}
	}
	var l Line
	if err := json.Unmarshal(r.lines.Bytes(), &l); err != nil {
		return Line{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if n := l.fields(); n != 1 {
		return Line{}, fmt.Errorf("%w: %d fields", ErrMalformed, n)
	}
	return l, nil
}

// Writer writes lines, each in one write. It is safe for concurrent use.
type Writer struct {
	mu sync.Mutex // guards w
	w  io.Writer
}

// NewWriter writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write sends one line. It fails with ErrMalformed on a line the peer would refuse, else when the stream is closed.
func (w *Writer) Write(l Line) error {
	if n := l.fields(); n != 1 {
		return fmt.Errorf("%w: %d fields", ErrMalformed, n)
	}
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode tray line: %w", err)
	}
	if len(data) > MaxLine {
		return fmt.Errorf("%w: longer than %d bytes", ErrMalformed, MaxLine)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.w.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("write tray line: %w", err)
	}
	return nil
}
