package sandbox

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// nulPicture stands for a NUL byte, which databases and terminals mistake for an
// end.
const nulPicture = "␀"

// decoder turns bytes that arrive in pieces into valid UTF-8. A character that is
// cut by the end of a piece waits for the next one.
type decoder struct {
	rest []byte
}

// write returns the text of all complete characters.
func (d *decoder) write(b []byte) string {
	if len(d.rest) > 0 {
		b = append(d.rest, b...)
	}
	keep := incompleteSuffix(b)
	text := clean(b[:len(b)-keep])
	d.rest = append([]byte(nil), b[len(b)-keep:]...)
	return text
}

// close returns what never became a whole character.
func (d *decoder) close() string {
	text := clean(d.rest)
	d.rest = nil
	return text
}

// incompleteSuffix is the number of bytes at the end that may be the beginning of
// a character.
func incompleteSuffix(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// clean replaces each invalid byte and each NUL.
func clean(b []byte) string {
	var out strings.Builder
	out.Grow(len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			out.WriteRune(utf8.RuneError)
		case r == 0:
			out.WriteString(nulPicture)
		default:
			out.Write(b[:n])
		}
		b = b[n:]
	}
	return out.String()
}

// capture keeps the head and the tail of a stream in bounded memory.
type capture struct {
	limit int
	total int64
	head  []byte
	tail  []byte // a ring of the last bytes once it is full
	next  int    // where the ring continues
}

func newCapture(limit int64) *capture {
	return &capture{limit: int(max(limit, 2))}
}

func (c *capture) write(b []byte) {
	c.total += int64(len(b))
	if room := c.limit/2 - len(c.head); room > 0 {
		n := min(room, len(b))
		c.head = append(c.head, b[:n]...)
		b = b[n:]
	}
	size := c.limit - c.limit/2
	if len(b) >= size {
		c.tail = append(c.tail[:0], b[len(b)-size:]...)
		c.next = 0
		return
	}
	if room := size - len(c.tail); room > 0 {
		n := min(room, len(b))
		c.tail = append(c.tail, b[:n]...)
		b = b[n:]
	}
	for len(b) > 0 {
		n := copy(c.tail[c.next:], b)
		c.next = (c.next + n) % size
		b = b[n:]
	}
}

// text returns what was kept, with a mark where something is missing, and how
// many bytes are missing.
func (c *capture) text() (string, int64) {
	tail := append(append([]byte(nil), c.tail[c.next:]...), c.tail[:c.next]...)
	if c.total == int64(len(c.head)+len(tail)) {
		return clean(append(append([]byte(nil), c.head...), tail...)), 0
	}
	head := c.head[:len(c.head)-incompleteSuffix(c.head)]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) && len(tail) > c.limit/2-utf8.UTFMax {
		tail = tail[1:]
	}
	cut := c.total - int64(len(head)+len(tail))
	return clean(head) + fmt.Sprintf("\n[… %d bytes left out …]\n", cut) + clean(tail), cut
}

// live limits what is passed on as it arrives.
type live struct {
	stream  string
	out     func(Chunk)
	left    int64
	decoder decoder
}

func (l *live) write(b []byte) {
	if l.out == nil || l.left <= 0 {
		return
	}
	cut := int64(len(b)) > l.left
	if cut {
		b = b[:l.left]
	}
	l.left -= int64(len(b))
	l.emit(l.decoder.write(b))
	if cut || l.left == 0 {
		l.left = 0
		l.emit(l.decoder.close() + "\n[… more output follows and is not shown here …]\n")
	}
}

func (l *live) close() {
	if l.out != nil {
		l.emit(l.decoder.close())
	}
}

func (l *live) emit(text string) {
	if text != "" {
		l.out(Chunk{Stream: l.stream, Text: text})
	}
}
