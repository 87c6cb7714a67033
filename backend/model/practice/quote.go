package practice

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// closers are the quotes that protect what they hold, with what ends each.
var closers = map[rune]rune{'"': '"', '\'': '\'', '`': '`', '“': '”', '«': '»', '‘': '’'}

// opens returns the quote that s begins with. before is the character in front
// of s: an apostrophe inside a word opens nothing.
func opens(s string, before rune) (quote rune, ok bool) {
	quote, _ = utf8.DecodeRuneInString(s)
	if _, ok = closers[quote]; !ok {
		return 0, false
	}
	return quote, before == 0 || unicode.IsSpace(before) || strings.ContainsRune("([{:=,", before)
}

// quoted returns the length of the quoted text that s begins with, quotes
// included, or 0: a quote that nothing closes is a plain character.
func quoted(s string, before rune) int {
	open, ok := opens(s, before)
	if !ok {
		return 0
	}
	if fence := len(s) - len(strings.TrimLeft(s, "`")); fence > 1 {
		if i := strings.Index(s[fence:], s[:fence]); i >= 0 {
			return fence + i + fence
		}
		return 0
	}
	end, size := closers[open], utf8.RuneLen(open)
	for i, r := range s[size:] {
		if r != end {
			continue
		}
		stop := size + i + utf8.RuneLen(r)
		after, _ := utf8.DecodeRuneInString(s[stop:])
		if stop == len(s) || !unicode.IsLetter(after) && !unicode.IsDigit(after) {
			return stop
		}
	}
	return 0
}

// unquote takes one pair of quotes, or a code fence, off text that is quoted as
// a whole.
func unquote(text string) string {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || quoted(trimmed, 0) != len(trimmed) {
		return text
	}
	if strings.HasPrefix(trimmed, "```") {
		fence := len(trimmed) - len(strings.TrimLeft(trimmed, "`"))
		inner := trimmed[fence : len(trimmed)-fence]
		if _, body, ok := strings.Cut(inner, "\n"); ok {
			return body
		}
		return inner
	}
	_, first := utf8.DecodeRuneInString(trimmed)
	_, last := utf8.DecodeLastRuneInString(trimmed)
	return trimmed[first : len(trimmed)-last]
}

// isQuoted reports whether text is one quoted piece.
func isQuoted(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && quoted(text, 0) == len(text)
}

var (
	errQuote = errors.New("a quote is opened and never closed")
	errShell = errors.New("only a shell understands")
)

// splitWords reads a command line into its words, as a shell would without any
// of its powers: single quotes keep everything, double quotes and bare words
// know the backslash, and nothing is expanded. What would need a shell is an
// error that wraps errShell.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inside := rune(0)
	begun, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			if inside == '"' && r != '"' && r != '\\' && r != '$' && r != '`' {
				word.WriteRune('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && inside != '\'':
			escaped, begun = true, true
		case inside != 0:
			if r == inside {
				inside = 0
				continue
			}
			word.WriteRune(r)
		case r == '\'' || r == '"':
			inside, begun = r, true
		case unicode.IsSpace(r):
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		case strings.ContainsRune("|<>;&", r):
			return nil, &shellError{string(r)}
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if inside != 0 || escaped {
		return nil, errQuote
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// shellError names the sign that only a shell understands.
type shellError struct{ sign string }

// Error says what was met.
func (e *shellError) Error() string { return code(e.sign) + " is a sign that " + errShell.Error() }

// Unwrap returns errShell.
func (e *shellError) Unwrap() error { return errShell }

// commandLine writes words so that splitWords reads the same ones.
func commandLine(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune(`'"\|<>;&$*?[]{}()#~`+"`", r)
		}) {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
