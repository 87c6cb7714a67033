package completion

import (
	"regexp"
	"strings"
)

// tag is what stands at a place where a tag may begin.
type tag int

const (
	tagNone  tag = iota
	tagMaybe     // too little has come to say
	tagOpen
	tagClose
	tagEmpty // opens and closes itself
)

// blanks are what \s matches.
const blanks = " \t\r\n\f"

// longestTag bounds how much is held back for a tag.
const longestTag = 120

var (
	angleTag  = regexp.MustCompile(`(?is)^<\s*(/?)\s*(?:think|thinking|thought|thoughts|reasoning|seed:think|antml:thinking)((?:\s+[\w:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+))*)\s*(/?)\s*>`)
	bracket   = regexp.MustCompile(`^\[(/?)THINK\]`)
	diamond   = regexp.MustCompile(`^◁(/?)think▷`)
	tagNames  = []string{"think", "thinking", "thought", "thoughts", "reasoning", "seed:think", "antml:thinking"}
	literals  = []string{"[THINK]", "[/THINK]", "◁think▷", "◁/think▷"}
	tagStarts = "<[◁"
)

// nextTag is where the next tag may begin in s.
func nextTag(s string) int {
	if i := strings.IndexAny(s, tagStarts); i >= 0 {
		return i
	}
	// The first bytes of ◁ may be all that has come of it.
	for n := 1; n < len("◁"); n++ {
		if strings.HasSuffix(s, "◁"[:n]) {
			return len(s) - n
		}
	}
	return len(s)
}

// nextSign is where the next tag, backtick or line end is in s.
func nextSign(s string) int {
	i := nextTag(s)
	if j := strings.IndexAny(s[:i], "`\n"); j >= 0 {
		return j
	}
	return i
}

// readTag reads what stands at the beginning of s, and its length. When nothing
// more comes, all that is unfinished is no tag.
func readTag(s string, final bool) (tag, int) {
	if m := angleTag.FindStringSubmatch(s); m != nil {
		return tagKind(m[1], m[3]), len(m[0])
	}
	for _, form := range []*regexp.Regexp{bracket, diamond} {
		if m := form.FindStringSubmatch(s); m != nil {
			return tagKind(m[1], ""), len(m[0])
		}
	}
	if !final && mayBecomeTag(s) {
		return tagMaybe, 0
	}
	for i := range s {
		if i > 0 {
			return tagNone, i
		}
	}
	return tagNone, len(s)
}

func tagKind(before, after string) tag {
	switch {
	case before != "":
		return tagClose
	case after != "":
		return tagEmpty
	}
	return tagOpen
}

// mayBecomeTag reports whether s is the beginning of a tag.
func mayBecomeTag(s string) bool {
	for _, l := range literals {
		if strings.HasPrefix(l, s) {
			return true
		}
	}
	if s[0] != '<' || len(s) > longestTag || strings.ContainsAny(s[1:], "<>") {
		return false
	}
	word := strings.ToLower(strings.TrimLeft(s[1:], blanks))
	word = strings.TrimLeft(strings.TrimPrefix(word, "/"), blanks)
	for _, name := range tagNames {
		if strings.HasPrefix(name, word) {
			return true
		}
		if rest, ok := strings.CutPrefix(word, name); ok && strings.ContainsAny(rest[:1], blanks+"/") {
			return true
		}
	}
	return false
}

// codeState follows Markdown code, in which a tag is only an example of one.
type codeState struct {
	fenced  bool
	opened  int // the length of the code span's opening run, 0 outside one
	newLine bool
}

func newCode() codeState { return codeState{newLine: true} }

func (c *codeState) pass(text string) {
	if strings.TrimSpace(text) != "" {
		c.newLine = false
	}
}

func (c *codeState) line() { c.opened, c.newLine = 0, true }

// ticks takes a run of backticks.
func (c *codeState) ticks(run int) {
	switch {
	case c.newLine && run >= 3:
		c.fenced = !c.fenced
	case c.fenced:
	case c.opened == 0:
		c.opened = run
	case c.opened == run:
		c.opened = 0
	}
	c.newLine = false
}

// holds reports whether a tag stands in code. In a code span that is known only
// when a backtick or the end of the line has come.
func (c *codeState) holds(after string, final bool) (quoted, known bool) {
	if c.fenced {
		return true, true
	}
	if c.opened == 0 {
		return false, true
	}
	switch i := strings.IndexAny(after, "`\n"); {
	case i >= 0:
		return after[i] == '`', true
	case final:
		return false, true
	}
	return false, len(after) > 4*longestTag
}
