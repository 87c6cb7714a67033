package practice

import (
	"fmt"
	"path"
	"strings"

	"countersign/backend/protocol"
)

// Bounds of what a summary repeats of one result.
const (
	maxShownLines = 60
	maxShownBytes = 6000
)

// outcome is one action with what came of it.
type outcome struct {
	action action
	result protocol.Message
}

func outcomes(s step, results []protocol.Message) []outcome {
	out := make([]outcome, len(results))
	for i, r := range results {
		out[i] = outcome{s.actions[i], r}
	}
	return out
}

// announce says what is about to be asked for.
func announce(actions []action) string {
	if len(actions) == 1 {
		return sentence(doing(actions[0])) + "."
	}
	var b strings.Builder
	b.WriteString("At the same time:\n")
	for _, a := range actions {
		b.WriteString("\n- " + doing(a))
	}
	return b.String()
}

func doing(a action) string {
	verb, rest, _ := strings.Cut(a.words(), " ")
	switch verb {
	case "write":
		verb = "writing"
	case "change":
		verb = "changing"
	case "run":
		verb = "running"
	default:
		verb += "ing"
	}
	return verb + " " + rest
}

// summary says in Markdown what was done, and what was not begun for it.
func summary(done []outcome, rest []step) string {
	var b strings.Builder
	if len(done) > 1 {
		fmt.Fprintf(&b, "%s\n\n", tally(done))
	}
	for i, o := range done {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(o.words())
	}
	var left []string
	for _, s := range rest {
		for _, a := range s.actions {
			if !s.talks() {
				left = append(left, a.words())
			}
		}
	}
	if len(left) > 0 {
		b.WriteString("\n\nI stopped there" + why(done) + ". Not begun:\n")
		for _, l := range left {
			b.WriteString("\n- " + l)
		}
	}
	return b.String()
}

// why says why the rest was not begun.
func why(done []outcome) string {
	for _, o := range done {
		if o.no() {
			return ", as you said no"
		}
	}
	return ", for what was left may depend on it"
}

func tally(done []outcome) string {
	bad := 0
	for _, o := range done {
		if o.result.IsError {
			bad++
		}
	}
	if bad == 0 {
		return fmt.Sprintf("All %d steps are done.", len(done))
	}
	return fmt.Sprintf("%d of %d steps are done, %d not.", len(done)-bad, len(done), bad)
}

// words tells one outcome.
func (o outcome) words() string {
	text := strings.Trim(o.result.Content.Text(), "\n")
	a := o.action
	if o.result.IsError {
		said := "I could not " + a.words() + "."
		if a.kind == kindExec {
			said = sentence(doing(a)) + " did not succeed." // it may have run
		}
		if text == "" {
			return said
		}
		if strings.Contains(text, "\n") {
			return said + " The answer was:\n\n" + block("", text)
		}
		return said + " The answer was: " + text
	}
	switch a.kind {
	case kindList:
		return "In " + place(a.path) + " there is:\n\n" + block("", text)
	case kindRead:
		return code(a.path) + " says:\n\n" + block(language(a.path), text)
	case kindSearch:
		return "The search for " + code(a.text) + " in " + place(a.path) + " gave:\n\n" + block("", text)
	case kindWrite:
		return "I wrote " + code(a.path) + "." + note(text)
	case kindEdit:
		return "I changed " + code(a.path) + "." + note(text)
	case kindExec:
		return "I ran " + strings.TrimPrefix(a.words(), "run ") + ". It answered:\n\n" + block("", text)
	case kindAsk:
		return "I asked: " + a.text + " You answered: **" + strings.Trim(answer(text), ".") + "**."
	}
	return text
}

// note repeats a short result behind a sentence.
func note(text string) string {
	if text == "" || len(text) > 200 || strings.Contains(text, "\n") {
		return ""
	}
	return " " + text
}

// answer takes the person's words out of the result of a question.
func answer(text string) string {
	if _, words, ok := strings.Cut(text, "answered: "); ok {
		text = words
	}
	if text = strings.TrimSpace(text); text == "" {
		return "nothing"
	}
	return text
}

// no reports whether the person said no to going on.
func (o outcome) no() bool {
	return o.action.kind == kindAsk && len(o.action.options) == 2 && o.action.options[1] == "No" &&
		strings.HasPrefix(answer(o.result.Content.Text()), "No")
}

// block sets text as a code block whose fence nothing in it can end, and says
// when it shows only a part.
func block(language, text string) string {
	if text == "" {
		return "*(nothing)*"
	}
	shown := text
	if lines := strings.SplitAfterN(text, "\n", maxShownLines+1); len(lines) > maxShownLines {
		shown = strings.Join(lines[:maxShownLines], "")
	}
	if len(shown) > maxShownBytes {
		shown = strings.ToValidUTF8(shown[:maxShownBytes], "")
	}
	fence := strings.Repeat("`", max(3, longestRun(shown)+1))
	out := fence + language + "\n" + strings.TrimRight(shown, "\n") + "\n" + fence
	if len(shown) < len(text) {
		out += "\n\n*(This is the beginning; the whole is in the step above.)*"
	}
	return out
}

// language names a file's language for a code block.
func language(file string) string {
	switch ext := strings.ToLower(path.Ext(file)); ext {
	case ".md", ".markdown":
		return "markdown"
	case ".js", ".ts", ".go", ".py", ".sh", ".json", ".yaml", ".html", ".css", ".sql", ".tsx", ".rs", ".c", ".java", ".toml":
		return ext[1:]
	}
	return ""
}
