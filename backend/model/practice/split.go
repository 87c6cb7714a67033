package practice

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// joint says how a piece of a request hangs on the one before it.
type joint int

const (
	// jointThen begins a new step.
	jointThen joint = iota
	// jointSoft begins a new step too, but yields to "together".
	jointSoft
	// jointTogether adds to the same step.
	jointTogether
)

type piece struct {
	text  string
	joint joint
}

var (
	thenSign     = regexp.MustCompile(`(?i)^[\s,;.]*(?:\band\s+)?\b(?:then|after that|afterwards)\b[\s,:]*`)
	togetherSign = regexp.MustCompile(`(?i)^[\s,;.]*(?:\b(?:and\s+)?(?:at the same time|in parallel|meanwhile)\b|\btogether with\b)[\s,:]*`)
	softSign     = regexp.MustCompile(`(?i)^(?:[\s,;]*\s+and\s+|\s*[;,]\s+|[.!?]\s+|\s*\n\s*)`)
	tailSign     = regexp.MustCompile(`(?i)[\s,]+(?:together|at the same time|in parallel)\s*[.!?]*$`)
	verbSign     = regexp.MustCompile(`(?i)^(?:(?:please|also|now|finally|first)[\s,]+)*(?:list|ls|dir|read|show|open|print|display|cat|view|search|find|look|grep|write|create|save|put|make|replace|change|edit|append|run|execute|exec|ask|count|think|say|help|loop|pretend|what(?:'s| is| does))\b`)
	writeSign    = regexp.MustCompile(`(?is)^(?:please\s+)?(?:write|create|save|put|make)\b[^\n:]*:`)
)

// split cuts a request where one thing ends and the next begins. Quoted text is
// never cut, and the content of a file only in front of a verb: "then" is a word
// people write.
func split(text string) []piece {
	var pieces []piece
	start, joined := 0, jointThen
	before := rune(0)
	open := make(map[rune]bool) // quotes that nothing closes up to the end
	for i := 0; i < len(text); {
		if quote, ok := opens(text[i:], before); ok && (!open[quote] || strings.HasPrefix(text[i:], "``")) {
			if n := quoted(text[i:], before); n > 0 {
				i += n
				before, _ = utf8.DecodeLastRuneInString(text[:i])
				continue
			}
			open[quote] = open[quote] || !strings.HasPrefix(text[i:], "``")
		}
		if n, j := cut(text, start, i); n > 0 {
			pieces = append(pieces, piece{text[start:i], joined})
			start, joined = i+n, j
			i, before = start, 0
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		before = r
		i += n
	}
	return together(append(pieces, piece{text[start:], joined}))
}

// cut looks for a joint at i, in the piece that began at start. It returns the
// joint's length, 0 for none.
func cut(text string, start, i int) (int, joint) {
	if i == start || !boundary(text, i) {
		return 0, 0
	}
	rest := text[i:]
	current := text[start:i]
	sign, kind := thenSign.FindString(rest), jointThen
	if sign == "" {
		sign, kind = togetherSign.FindString(rest), jointTogether
	}
	if sign == "" {
		sign, kind = softSign.FindString(rest), jointSoft
	}
	if sign == "" || strings.TrimSpace(current) == "" {
		return 0, 0
	}
	after := rest[len(sign):]
	verb := verbSign.MatchString(after)
	switch content := writeSign.FindString(strings.TrimSpace(current)); {
	case strings.TrimSpace(after) == "":
		return 0, 0
	case content != "":
		if !verb || kind == jointSoft || inLines(current, content) && !strings.Contains(sign, "\n") {
			return 0, 0
		}
	case kind == jointSoft && !verb:
		return 0, 0
	}
	return len(sign), kind
}

// inLines reports whether the content of a file began on a line of its own; then
// only a line can end it.
func inLines(current, head string) bool {
	body := strings.TrimLeft(current, " \t\n")[len(head):]
	return strings.HasPrefix(strings.TrimLeft(body, " \t"), "\n")
}

// boundary reports whether a word may begin or end at i.
func boundary(text string, i int) bool {
	a, _ := utf8.DecodeLastRuneInString(text[:i])
	b, _ := utf8.DecodeRuneInString(text[i:])
	return !isWord(a) || !isWord(b)
}

func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf
}

// together joins what a trailing "at the same time" binds: the softly joined
// pieces before it.
func together(pieces []piece) []piece {
	for i := range pieces {
		mark := tailSign.FindStringIndex(pieces[i].text)
		if mark == nil || writeSign.MatchString(pieces[i].text) {
			continue
		}
		pieces[i].text = pieces[i].text[:mark[0]] + " together"
		for k := i; k > 0 && pieces[k].joint == jointSoft; k-- {
			pieces[k].joint = jointTogether
		}
	}
	return pieces
}
