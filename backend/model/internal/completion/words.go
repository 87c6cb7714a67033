package completion

import (
	"strings"

	"countersign/backend/model"
	"countersign/backend/protocol"
)

// words gathers text and thinking in their order. Servers that do not part the
// two leave tags in the text; what stands between them, and all that stands
// before a closing tag nobody opened, is thinking and never text. A tag inside
// code is text.
//
// What has been shown as text and turns out to be thinking is taken back by a
// reset, after which everything so far is shown again as what it is.
type words struct {
	emit  func(model.Delta)
	parts []part
	// rest is what has come and cannot be judged yet.
	rest   string
	inside bool
	code   codeState
	// margin is white space that is text only if text follows: models put line
	// breaks around tags.
	margin string
	fresh  bool
}

type part struct {
	thinking bool
	text     strings.Builder
}

func newWords(emit func(model.Delta)) *words { return &words{emit: emit, fresh: true, code: newCode()} }

// think takes reasoning that came as such.
func (w *words) think(text string) {
	if text != "" {
		w.add(true, text)
	}
}

// write takes a piece of content.
func (w *words) write(text string) {
	if text == "" {
		return
	}
	w.rest += text
	w.judge(false)
}

// end judges what is left: nothing more comes.
func (w *words) end() { w.judge(true) }

// judge passes on as much of rest as can be told.
func (w *words) judge(final bool) {
	at := 0
	for at < len(w.rest) {
		pass := w.outside
		if w.inside {
			pass = w.insideThinking
		}
		var known bool
		if at, known = pass(at, final); !known {
			break
		}
	}
	w.rest = w.rest[at:]
}

// insideThinking passes on up to the next tag from at, and over it. It returns
// where it has come to, and whether what stands there could be told.
func (w *words) insideThinking(at int, final bool) (int, bool) {
	i := nextTag(w.rest[at:])
	w.add(true, w.rest[at:at+i])
	at += i
	if at == len(w.rest) {
		return at, true
	}
	t, n := readTag(w.rest[at:], final)
	switch t {
	case tagMaybe:
		return at, false
	case tagNone:
		w.add(true, w.rest[at:at+n])
	case tagClose:
		w.inside, w.fresh = false, true
		w.code = newCode()
	case tagOpen, tagEmpty:
	}
	return at + n, true
}

// outside passes on text up to the next sign that matters, and over it.
func (w *words) outside(at int, final bool) (int, bool) {
	i := nextSign(w.rest[at:])
	w.text(w.rest[at : at+i])
	w.code.pass(w.rest[at : at+i])
	at += i
	if at == len(w.rest) {
		return at, true
	}
	if w.rest[at] == '\n' {
		w.text("\n")
		w.code.line()
		return at + 1, true
	}
	if w.rest[at] == '`' {
		run := len(w.rest[at:]) - len(strings.TrimLeft(w.rest[at:], "`"))
		if at+run == len(w.rest) && !final {
			return at, false
		}
		w.text(w.rest[at : at+run])
		w.code.ticks(run)
		return at + run, true
	}
	t, n := readTag(w.rest[at:], final)
	if t != tagNone && t != tagMaybe {
		quoted, known := w.code.holds(w.rest[at+n:], final)
		if !known {
			t = tagMaybe
		} else if quoted {
			t = tagNone
		}
	}
	switch t {
	case tagMaybe:
		return at, false
	case tagNone:
		w.text(w.rest[at : at+n])
		w.code.pass(w.rest[at : at+n])
	case tagOpen:
		w.inside, w.margin = true, ""
	case tagClose:
		w.recall()
	case tagEmpty:
		w.margin, w.fresh = "", true
	}
	return at + n, true
}

// text adds text, holding back white space at its beginning.
func (w *words) text(text string) {
	if w.fresh {
		w.margin += text
		if strings.TrimSpace(w.margin) == "" {
			return
		}
		text = w.margin
		if len(w.parts) > 0 {
			text = strings.TrimLeft(text, blanks)
		}
		w.margin, w.fresh = "", false
	}
	w.add(false, text)
}

func (w *words) add(thinking bool, text string) {
	if text == "" {
		return
	}
	if n := len(w.parts); n == 0 || w.parts[n-1].thinking != thinking {
		w.parts = append(w.parts, part{thinking: thinking})
	}
	w.parts[len(w.parts)-1].text.WriteString(text)
	if thinking {
		w.emit(model.Delta{Thinking: text})
		return
	}
	w.emit(model.Delta{Text: text})
}

// recall makes thinking of all text so far.
func (w *words) recall() {
	shown := false
	var all strings.Builder
	for i := range w.parts {
		shown = shown || !w.parts[i].thinking
		if all.Len() > 0 {
			all.WriteString("\n")
		}
		all.WriteString(w.parts[i].text.String())
	}
	w.margin, w.fresh, w.code = "", true, newCode()
	if !shown {
		return
	}
	w.emit(model.Delta{Reset: true})
	w.parts = nil
	w.add(true, all.String())
}

// blocks are the parts as content.
func (w *words) blocks() protocol.Blocks {
	var out protocol.Blocks
	for i := range w.parts {
		text := w.parts[i].text.String()
		switch {
		case !w.parts[i].thinking:
			out = append(out, protocol.TextBlock{Text: text})
		case strings.TrimSpace(text) != "":
			out = append(out, protocol.ThinkingBlock{Thinking: strings.TrimSpace(text)})
		}
	}
	return out
}
