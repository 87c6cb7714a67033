package exec

import "strings"

// shellCommand is one simple command of a shell text, as far as it can be read.
type shellCommand struct {
	argv []string
	// piped says that another command's output is its input.
	piped bool
	// writes says that output is redirected into a file.
	writes bool
}

// shellCommands reads shell text for the warnings of a card. It is a reader for
// hints and no parser: the text is shown whole, is always high risk and can only
// be allowed as exactly that text, so a command it misses costs a warning and
// nothing else.
func shellCommands(text string) []shellCommand {
	r := shellReader{text: text}
	for r.at < len(r.text) {
		r.step()
	}
	r.endCommand(false)
	return r.out
}

type shellReader struct {
	text string
	at   int
	out  []shellCommand
	cur  shellCommand
	word strings.Builder
	// some says that a word has begun, be it empty ("").
	some bool
	// target says that the next word is a redirection's file.
	target bool
}

func (r *shellReader) step() {
	c := r.text[r.at]
	r.at++
	switch c {
	case ' ', '\t':
		r.endWord()
	case '\n', ';', '(', ')', '{', '}', '`':
		r.endCommand(false)
	case '&':
		r.endCommand(false)
	case '|':
		pipe := r.at >= len(r.text) || r.text[r.at] != '|'
		r.endCommand(pipe)
		if !pipe {
			r.at++
		}
	case '>', '<':
		r.endWord()
		r.target = true
		if c == '>' {
			r.cur.writes = true
		}
		for r.at < len(r.text) && strings.IndexByte(">&|", r.text[r.at]) >= 0 {
			r.at++
		}
	case '#':
		if !r.some {
			r.skipLine()
			return
		}
		r.word.WriteByte(c)
	case '\\':
		if r.at < len(r.text) {
			r.word.WriteByte(r.text[r.at])
			r.some = true
			r.at++
		}
	case '\'', '"':
		r.quoted(c)
	case '$':
		if r.at < len(r.text) && r.text[r.at] == '(' {
			r.endCommand(false)
			r.at++
			return
		}
		r.word.WriteByte(c)
		r.some = true
	default:
		r.word.WriteByte(c)
		r.some = true
	}
}

// quoted reads to the closing quote. A substitution inside double quotes runs as
// well, so its text is read as commands of its own.
func (r *shellReader) quoted(quote byte) {
	r.some = true
	start := r.at
	for r.at < len(r.text) && r.text[r.at] != quote {
		if quote == '"' && r.text[r.at] == '\\' && r.at+1 < len(r.text) {
			r.at++
		}
		r.word.WriteByte(r.text[r.at])
		r.at++
	}
	inner := r.text[start:min(r.at, len(r.text))]
	r.at = min(r.at+1, len(r.text))
	if quote == '"' {
		if _, after, ok := strings.Cut(inner, "$("); ok {
			r.out = append(r.out, shellCommands(after)...)
		}
		if parts := strings.Split(inner, "`"); len(parts) > 2 {
			r.out = append(r.out, shellCommands(parts[1])...)
		}
	}
}

func (r *shellReader) skipLine() {
	if end := strings.IndexByte(r.text[r.at:], '\n'); end >= 0 {
		r.at += end
		return
	}
	r.at = len(r.text)
}

func (r *shellReader) endWord() {
	if r.some {
		switch word := r.word.String(); {
		case r.target:
			// Throwing output away is no write.
			if word == "/dev/null" || strings.Trim(word, "0123456789-") == "" {
				r.cur.writes = false
			}
			r.target = false
		case len(r.cur.argv) == 0 && (isAssignment(word) || isKeyword(word)):
		default:
			r.cur.argv = append(r.cur.argv, word)
		}
	}
	r.word.Reset()
	r.some = false
}

func (r *shellReader) endCommand(pipe bool) {
	r.endWord()
	if len(r.cur.argv) > 0 || r.cur.writes {
		r.out = append(r.out, r.cur)
	}
	r.cur = shellCommand{piped: pipe}
	r.target = false
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

func isKeyword(word string) bool {
	switch word {
	case "if", "then", "else", "elif", "fi", "while", "until", "for", "do", "done", "case", "esac", "!", "[[", "]]":
		return true
	}
	return false
}
