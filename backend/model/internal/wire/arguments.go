package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxPreview bounds what of broken arguments is kept: sent back whole they would
// make the next request as large as the fault.
const maxPreview = 1 << 10

// Arguments turns what a model wrote as a call's arguments into what the
// contract promises. Nothing, blanks and null are the empty object; an object is
// kept as it was written; an object that was encoded twice is decoded once; all
// else becomes a JSON string of at most 1 KiB.
func Arguments(written string) json.RawMessage {
	trimmed := strings.TrimSpace(written)
	if trimmed == "" || trimmed == "null" {
		return json.RawMessage("{}")
	}
	if isObject(trimmed) {
		return json.RawMessage(trimmed)
	}
	var inner string
	if json.Unmarshal([]byte(trimmed), &inner) == nil && isObject(strings.TrimSpace(inner)) {
		return json.RawMessage(strings.TrimSpace(inner))
	}
	return preview(written)
}

func isObject(s string) bool {
	return strings.HasPrefix(s, "{") && utf8.ValidString(s) && json.Valid([]byte(s))
}

// preview is the start of what was written with its length, as a JSON string.
func preview(written string) json.RawMessage {
	note := ""
	for most := min(len(written), maxPreview-2); ; most = most * 3 / 4 {
		if most < len(written) {
			note = fmt.Sprintf("… (%d bytes)", len(written))
		}
		quoted := quote(strings.ToValidUTF8(cut(written, most), "�") + note)
		if len(quoted) <= maxPreview {
			return quoted
		}
	}
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func quote(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("wire: encode a string: " + err.Error())
	}
	return bytes.TrimSpace(b.Bytes())
}

// Object is a call's arguments as providers take them back: an object, whatever
// the model once wrote.
func Object(arguments json.RawMessage) json.RawMessage {
	trimmed := bytes.TrimSpace(arguments)
	if isObject(string(trimmed)) {
		return trimmed
	}
	if len(trimmed) == 0 || string(trimmed) == "null" {
		return json.RawMessage("{}")
	}
	if !json.Valid(trimmed) {
		trimmed = preview(string(trimmed))
	}
	return json.RawMessage(`{"invalid_arguments":` + string(trimmed) + `}`)
}
