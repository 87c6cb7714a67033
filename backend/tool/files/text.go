package files

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // DecodeConfig reads the size of pictures
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// form is how text lies in a file.
type form struct {
	// bom is the byte order mark at the start, if any.
	bom string
	// wide is 0 for UTF-8 and other one-byte text, else the UTF-16 byte order.
	wide order
}

type order byte

const (
	narrow order = iota
	littleEndian
	bigEndian
)

const (
	bomUTF8  = "\xEF\xBB\xBF"
	bomLE    = "\xFF\xFE"
	bomBE    = "\xFE\xFF"
	headSize = 8 << 10
)

// formOf reads the byte order mark. UTF-16 without one cannot be told from
// binary data and is treated as such.
func formOf(head []byte) form {
	switch {
	case bytes.HasPrefix(head, []byte(bomUTF8)):
		return form{bom: bomUTF8}
	case bytes.HasPrefix(head, []byte(bomLE)):
		return form{bom: bomLE, wide: littleEndian}
	case bytes.HasPrefix(head, []byte(bomBE)):
		return form{bom: bomBE, wide: bigEndian}
	}
	return form{}
}

func (f form) name() string {
	switch f.wide {
	case littleEndian:
		return "UTF-16 (little endian)"
	case bigEndian:
		return "UTF-16 (big endian)"
	}
	if f.bom != "" {
		return "UTF-8 with a byte order mark"
	}
	return "UTF-8"
}

// units splits UTF-16 bytes after the mark; tail is a last odd byte.
func (f form) units(body []byte) (units []uint16, tail []byte) {
	units = make([]uint16, len(body)/2)
	for i := range units {
		a, b := uint16(body[2*i]), uint16(body[2*i+1])
		if f.wide == littleEndian {
			a, b = b, a
		}
		units[i] = a<<8 | b
	}
	return units, body[2*len(units):]
}

func (f form) bytes(units []uint16) []byte {
	out := make([]byte, 0, 2*len(units))
	for _, u := range units {
		if f.wide == littleEndian {
			out = append(out, byte(u), byte(u>>8))
		} else {
			out = append(out, byte(u>>8), byte(u))
		}
	}
	return out
}

// decode is the text of a file without its mark; bytes that are no text stay as
// they are.
func (f form) decode(content []byte) string {
	body := content[len(f.bom):]
	if f.wide == narrow {
		return string(body)
	}
	units, tail := f.units(body)
	return string(utf16.Decode(units)) + string(tail)
}

// isBinary judges by the start of a file: a NUL, or many control characters.
func isBinary(head []byte, f form) bool {
	if f.wide != narrow {
		return false
	}
	head = head[:min(len(head), headSize)]
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	control := 0
	for _, c := range head {
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b && c != '\b' {
			control++
		}
	}
	return control*10 > len(head)
}

// magic is the start of files that people know by name.
var magic = []struct{ start, name string }{
	{"\x89PNG\r\n\x1a\n", "PNG picture"}, {"\xff\xd8\xff", "JPEG picture"}, {"GIF8", "GIF picture"}, {"BM", "BMP picture"},
	{"%PDF-", "PDF document"}, {"PK\x03\x04", "ZIP archive or office document"}, {"\x1f\x8b", "gzip archive"},
	{"\x7fELF", "program"}, {"MZ", "program"}, {"\xfe\xed\xfa", "program"}, {"\xcf\xfa\xed\xfe", "program"},
	{"SQLite format 3\x00", "SQLite database"}, {"7z\xbc\xaf", "7z archive"}, {"ID3", "sound"}, {"OggS", "sound"},
}

// binaryName says in words what a binary file is.
func binaryName(head []byte) string {
	if bytes.HasPrefix(head, []byte("RIFF")) && len(head) > 12 && string(head[8:12]) == "WEBP" {
		return "WebP picture"
	}
	for _, m := range magic {
		if !bytes.HasPrefix(head, []byte(m.start)) {
			continue
		}
		if config, _, err := image.DecodeConfig(bytes.NewReader(head)); err == nil {
			return fmt.Sprintf("%s, %d × %d", m.name, config.Width, config.Height)
		}
		return m.name
	}
	return "binary file"
}

// isKnownBinary catches pictures and documents whose start happens to hold no
// NUL.
func isKnownBinary(head []byte) bool {
	return bytes.HasPrefix(head, []byte("%PDF-")) || bytes.HasPrefix(head, []byte("\x89PNG")) || bytes.HasPrefix(head, []byte("\xff\xd8\xff"))
}

// splitLines cuts text after each line end ("\n", "\r\n" or a lone "\r"), which
// stays with its line.
func splitLines(text string) []string {
	lines := make([]string, 0, strings.Count(text, "\n")+1)
	start := 0
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' || text[i] == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			lines = append(lines, text[start:i+1])
			start = i + 1
		}
	}
	if start < len(text) {
		lines = append(lines, text[start:])
	}
	return lines
}

// cutEnd takes the line end off a line.
func cutEnd(line string) (body, end string) {
	body = strings.TrimSuffix(line, "\n")
	body = strings.TrimSuffix(body, "\r")
	return body, line[len(body):]
}

// endings names the line ends that occur, most frequent first.
func endings(lines []string) []string {
	counts := map[string]int{}
	for _, line := range lines {
		if _, end := cutEnd(line); end != "" {
			counts[end]++
		}
	}
	var names []string
	for _, end := range []string{"\n", "\r\n", "\r"} {
		at := 0
		for at < len(names) && counts[names[at]] >= counts[end] {
			at++
		}
		if counts[end] > 0 {
			names = append(names[:at], append([]string{end}, names[at:]...)...)
		}
	}
	return names
}

var endingNames = map[string]string{"\n": "LF", "\r\n": "CRLF", "\r": "CR"}

// visible shows characters that would make a card look other than it is:
// controls, direction overrides, bytes that are no text.
func visible(s string) string {
	plain := true
	for _, r := range s {
		if r == utf8.RuneError || isInvisible(r) {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&out, "<%02X>", s[i])
		case isInvisible(r):
			fmt.Fprintf(&out, "<U+%04X>", r)
		default:
			out.WriteString(s[i : i+n])
		}
		i += n
	}
	return out.String()
}

func isInvisible(r rune) bool {
	if r == '\t' || r == '\u200d' {
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
