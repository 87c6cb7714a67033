package practice

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	whetherForm = form(`(?:whether|if) (?:i should |you should |to |we should )?(.+)`)
	choiceForm  = form(`(.+?)\s*[:?]\s*(.+)`)
	choiceSign  = regexp.MustCompile(`(?i)\s*,\s*(?:or\s+)?|\s+or\s+`)
)

// question reads what comes after "ask me".
func question(text string) action {
	text = strings.TrimSpace(text)
	if m := whetherForm.FindStringSubmatch(text); m != nil {
		return action{kind: kindAsk, text: sentence("should I "+strings.TrimSuffix(m[1], "?")) + "?", options: []string{"Yes", "No"}}
	}
	if isQuoted(text) {
		return action{kind: kindAsk, text: unquote(text), options: nil}
	}
	if m := choiceForm.FindStringSubmatch(text); m != nil {
		var options []string
		for _, o := range choiceSign.Split(strings.TrimRight(m[2], "?. "), -1) {
			if o = unquote(strings.TrimSpace(o)); o != "" {
				options = append(options, o)
			}
		}
		if len(options) > 1 {
			return action{kind: kindAsk, text: sentence(unquote(m[1])) + "?", options: options}
		}
	}
	if !strings.HasSuffix(text, "?") {
		text += "?"
	}
	return action{kind: kindAsk, text: sentence(text)}
}

// sentence begins text with a capital letter.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 || first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
