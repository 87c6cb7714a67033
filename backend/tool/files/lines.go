package files

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxLine is how many bytes of one line are kept; the rest is counted.
const maxLine = 4 << 10

// line is one line of a text file as valid UTF-8 without its end.
type line struct {
	text string
	// more counts the bytes of the line that were not kept.
	more int
	// broken says that bytes which are no text were replaced.
	broken bool
}

// lineReader reads a text file of any form and size line by line; every kind of
// line end counts.
type lineReader struct {
	in *bufio.Reader
	// read counts bytes of the file.
	read int64
	buf  []byte
	more int
}

// newLineReader starts behind the byte order mark.
func newLineReader(f io.Reader, form form) *lineReader {
	r := &lineReader{}
	counted := &counter{in: f, read: &r.read}
	r.in = bufio.NewReaderSize(counted, 64<<10)
	// A failing read shows again at the first line.
	_, _ = r.in.Discard(len(form.bom))
	if form.wide != narrow {
		r.in = bufio.NewReaderSize(&wideReader{in: r.in, form: form}, 64<<10)
	}
	return r
}

type counter struct {
	in   io.Reader
	read *int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	*c.read += int64(n)
	return n, err
}

// next returns the next line, or io.EOF after the last.
func (r *lineReader) next() (line, error) {
	r.buf, r.more = r.buf[:0], 0
	some := false
	for {
		c, err := r.in.ReadByte()
		if errors.Is(err, io.EOF) && some {
			return r.line(), nil
		}
		if err != nil {
			return line{}, err
		}
		some = true
		switch {
		case c == '\n':
			return r.line(), nil
		case c == '\r':
			if following, err := r.in.Peek(1); err == nil && following[0] == '\n' {
				_, _ = r.in.Discard(1)
			}
			return r.line(), nil
		case len(r.buf) < maxLine:
			r.buf = append(r.buf, c)
		default:
			r.more++
		}
	}
}

func (r *lineReader) line() line {
	buf := r.buf
	if r.more > 0 {
		// The cut may have fallen inside a character.
		for back := 1; back < utf8.UTFMax && back <= len(buf); back++ {
			if utf8.RuneStart(buf[len(buf)-back]) {
				if !utf8.FullRune(buf[len(buf)-back:]) {
					r.more += back
					buf = buf[:len(buf)-back]
				}
				break
			}
		}
	}
	if utf8.Valid(buf) {
		return line{text: string(buf), more: r.more}
	}
	return line{text: strings.ToValidUTF8(string(buf), "\ufffd"), more: r.more, broken: true}
}

// wideReader turns UTF-16 into UTF-8.
type wideReader struct {
	in   *bufio.Reader
	form form
	out  []byte
	held rune
}

func (w *wideReader) Read(p []byte) (int, error) {
	for len(w.out) == 0 {
		u, err := w.unit()
		if err != nil {
			return 0, err
		}
		r := rune(u)
		if utf16.IsSurrogate(r) {
			second, err := w.unit()
			if err != nil {
				r = utf8.RuneError
			} else if joined := utf16.DecodeRune(r, rune(second)); joined != utf8.RuneError {
				r = joined
			} else {
				r, w.held = utf8.RuneError, rune(second)+1
			}
		}
		w.out = utf8.AppendRune(w.out, r)
	}
	n := copy(p, w.out)
	w.out = w.out[n:]
	return n, nil
}

// unit reads one code unit, first one that was read too far.
func (w *wideReader) unit() (uint16, error) {
	if w.held != 0 {
		u := uint16(w.held - 1)
		w.held = 0
		return u, nil
	}
	var pair [2]byte
	if _, err := io.ReadFull(w.in, pair[:]); err != nil {
		return 0, io.EOF
	}
	if w.form.wide == littleEndian {
		pair[0], pair[1] = pair[1], pair[0]
	}
	return uint16(pair[0])<<8 | uint16(pair[1]), nil
}
