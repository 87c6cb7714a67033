package files

import (
	"regexp"
	"strings"
)

// glob matches paths with "/" between names: "*" and "?" stay within one name,
// "**" crosses names, "{a,b}" is a choice, "[a-z]" and "[!a-z]" one character. A
// pattern without "/" is for the last name alone.
type glob struct {
	re       *regexp.Regexp
	nameOnly bool
}

func newGlob(pattern string) (glob, error) {
	re, err := regexp.Compile("(?s)^" + globExpr(strings.TrimPrefix(pattern, "./")) + "$")
	if err != nil {
		return glob{}, argument("The glob %q cannot be understood.", shorten(pattern))
	}
	return glob{re: re, nameOnly: !strings.Contains(pattern, "/")}, nil
}

func globExpr(pattern string) string {
	var out strings.Builder
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			if strings.HasPrefix(pattern[i:], "**/") {
				out.WriteString("(?:.*/)?")
				i += 2
			} else if strings.HasPrefix(pattern[i:], "**") {
				out.WriteString(".*")
				i++
			} else {
				out.WriteString("[^/]*")
			}
		case '?':
			out.WriteString("[^/]")
		case '[':
			end := strings.IndexByte(pattern[i+1:], ']')
			if end <= 0 {
				out.WriteString(`\[`)
				continue
			}
			set := strings.ReplaceAll(pattern[i+1:i+1+end], `\`, `\\`)
			if set[0] == '!' {
				set = "^" + set[1:]
			}
			out.WriteString("[" + strings.ReplaceAll(set, "[", `\[`) + "]")
			i += end + 1
		case '{':
			depth++
			out.WriteString("(?:")
		case '}':
			if depth == 0 {
				out.WriteString(`\}`)
				continue
			}
			depth--
			out.WriteString(")")
		case ',':
			if depth > 0 {
				out.WriteString("|")
			} else {
				out.WriteString(",")
			}
		default:
			// A byte of a longer character is literal as it is.
			if c < 0x80 {
				out.WriteString(regexp.QuoteMeta(string(rune(c))))
			} else {
				out.WriteByte(c)
			}
		}
	}
	return out.String()
}

// matches takes a path relative to where the search starts, and its last name.
func (g glob) matches(rel, name string) bool {
	if g.re == nil {
		return true
	}
	if g.nameOnly {
		return g.re.MatchString(name)
	}
	return g.re.MatchString(rel)
}
