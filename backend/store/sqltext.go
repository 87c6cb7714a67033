package store

import (
	"slices"
	"strings"
)

// This file reads just enough of SQL to compare two definitions that SQLite
// has accepted: tokens, and the items of a CREATE TABLE body.

// tokens splits SQL and drops comments and spaces. Quoted text stays one token.
func tokens(sql string) []string {
	var out []string
	for i := 0; i < len(sql); {
		n := tokenLength(sql[i:])
		text := sql[i : i+n]
		i += n
		if !isSpace(text[0]) && !strings.HasPrefix(text, "--") && !strings.HasPrefix(text, "/*") {
			out = append(out, text)
		}
	}
	return out
}

func tokenLength(s string) int {
	switch c := s[0]; {
	case isSpace(c):
		return lengthWhile(s, isSpace)
	case strings.HasPrefix(s, "--"):
		return endAfter(s, "\n", 2)
	case strings.HasPrefix(s, "/*"):
		return endAfter(s, "*/", 2)
	case c == '\'' || c == '"' || c == '`':
		return quotedLength(s, c)
	case c == '[':
		return endAfter(s, "]", 1)
	case isWord(c):
		return lengthWhile(s, isWord)
	}
	return 1
}

func lengthWhile(s string, is func(byte) bool) int {
	for i := range len(s) {
		if !is(s[i]) {
			return i
		}
	}
	return len(s)
}

func endAfter(s, mark string, from int) int {
	if i := strings.Index(s[from:], mark); i >= 0 {
		return from + i + len(mark)
	}
	return len(s)
}

// quotedLength counts a doubled quote as part of the text.
func quotedLength(s string, quote byte) int {
	for i := 1; i < len(s); i++ {
		if s[i] != quote {
			continue
		}
		if i+1 < len(s) && s[i+1] == quote {
			i++
			continue
		}
		return i + 1
	}
	return len(s)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// canonical is the form in which two equal definitions are equal strings:
// without comments, quotes around plain names, letter case outside of texts.
func canonical(toks []string) string {
	out := make([]string, len(toks))
	for i, t := range toks {
		out[i] = canonicalToken(t)
	}
	return strings.Join(out, " ")
}

func canonicalToken(t string) string {
	switch t[0] {
	case '\'':
		return t
	case '"', '`', '[':
		if name := unquote(t); name != "" && lengthWhile(name, isWord) == len(name) {
			return strings.ToLower(name)
		}
		return t
	}
	return strings.ToLower(t)
}

func unquote(t string) string {
	switch q := t[0]; q {
	case '"', '`':
		return strings.ReplaceAll(t[1:len(t)-1], string([]byte{q, q}), string(q))
	case '[':
		return t[1 : len(t)-1]
	}
	return t
}

// table is a CREATE TABLE taken apart.
type table struct {
	columns     []column
	constraints []string // canonical, sorted
	options     string   // canonical, what follows the body: STRICT, WITHOUT ROWID
}

type column struct {
	name string // lower case
	text string // as declared, without comments
	form string // canonical
}

func (t table) column(name string) (column, bool) {
	i := slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
	if i < 0 {
		return column{}, false
	}
	return t.columns[i], true
}

// parseTable takes a CREATE TABLE apart as SQLite stores it.
func parseTable(sql string) table {
	var t table
	toks := tokens(sql)
	open := slices.Index(toks, "(")
	if open < 0 {
		return t
	}
	depth, start := 0, open+1
	for i := open; i < len(toks); i++ {
		switch toks[i] {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth == 0 || depth == 1 && toks[i] == "," {
			t.add(toks[start:i])
			start = i + 1
		}
		if depth == 0 {
			t.options = canonical(toks[i+1:])
			break
		}
	}
	slices.Sort(t.constraints)
	return t
}

func (t *table) add(item []string) {
	if len(item) == 0 {
		return
	}
	switch strings.ToUpper(item[0]) {
	case "CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN":
		t.constraints = append(t.constraints, canonical(item))
		return
	}
	t.columns = append(t.columns, column{
		name: strings.ToLower(unquote(item[0])),
		text: strings.Join(item, " "),
		form: canonical(item),
	})
}

// canonical leaves out the order of columns: every statement names them, and
// an added column stands last wherever it was declared.
func (t table) canonical(name string) string {
	forms := make([]string, len(t.columns))
	for i, c := range t.columns {
		forms[i] = c.form
	}
	slices.Sort(forms)
	return "table " + name + " ( " + strings.Join(append(forms, t.constraints...), " , ") + " ) " + t.options
}
