package practice

import "strings"

// kind is what an action does.
type kind string

// Kinds that call a tool of the same name, and kinds that only talk.
const (
	kindList   kind = "list"
	kindRead   kind = "read"
	kindSearch kind = "search"
	kindWrite  kind = "write"
	kindEdit   kind = "edit"
	kindExec   kind = "exec"
	kindAsk    kind = "ask"

	kindHelp     kind = "help"
	kindIdentity kind = "identity"
	kindGreeting kind = "greeting"
	kindMarkdown kind = "markdown"
	kindCount    kind = "count"
	kindThink    kind = "think"
	kindSay      kind = "say"
	kindPretend  kind = "pretend"
	kindUnclear  kind = "unclear"
)

// tool is the name of the tool a kind needs, "" when it only talks.
func (k kind) tool() string {
	switch k {
	case kindList, kindRead, kindSearch, kindWrite, kindEdit, kindExec, kindAsk:
		return string(k)
	}
	return ""
}

// action is one thing that was asked for. Which fields mean something depends on
// the kind.
type action struct {
	kind kind
	// path is a file or folder, for exec the working folder.
	path string
	// text is the pattern, the content, the question, or what to say; for an
	// unclear action what was asked.
	text string
	// old is the text an edit replaces by text.
	old string
	// all makes an edit replace every occurrence.
	all     bool
	argv    []string
	options []string
	// offset and limit are lines; count is how far to count.
	offset, limit, count int
	// why says what is unclear.
	why string
}

// step is one turn's work: several actions when they go together. A step that
// loops is done again and again.
type step struct {
	actions []action
	loops   bool
}

func (s step) talks() bool { return s.actions[0].kind.tool() == "" }

// words says an action as a person would name it afterwards.
func (a action) words() string {
	switch a.kind {
	case kindList:
		return "list " + place(a.path)
	case kindRead:
		return "read " + code(a.path)
	case kindSearch:
		return "search for " + code(a.text) + " in " + place(a.path)
	case kindWrite:
		return "write " + code(a.path)
	case kindEdit:
		return "change " + code(a.path)
	case kindExec:
		words := "run " + code(commandLine(a.argv))
		if a.path != "" {
			words += " in " + code(a.path)
		}
		return words
	case kindAsk:
		return "ask you: " + a.text
	}
	return strings.TrimSpace(string(a.kind) + " " + a.text)
}

func place(path string) string {
	if path == "" || path == "." {
		return "this folder"
	}
	return code(path)
}

// code sets text as a code span, whatever backticks it holds.
func code(text string) string {
	text = strings.ReplaceAll(text, "\n", " ")
	if text == "" {
		return "``"
	}
	fence := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

func longestRun(text string) int {
	longest, run := 0, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
