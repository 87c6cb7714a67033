package practice

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// name matches a path: quoted, or one word.
const name = "(`[^`]+`|\"[^\"]+\"|'[^']+'|“[^”]+”|[^\\s:,]+)"

// phrase matches quoted text, or as few words as will do.
const phrase = "(`[^`]+`|\"[^\"]*\"|'[^']*'|“[^”]*”|.+?)"

// rule reads one form of request; made is given the groups of form.
type rule struct {
	form *regexp.Regexp
	made func(m []string) []action
}

func form(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?is)^` + pattern + `$`) }

// rules are tried in order; the first that fits is meant.
func rules() []rule {
	return []rule{
		{helpForm, func([]string) []action { return one(action{kind: kindHelp}) }},
		{identityForm, func([]string) []action { return one(action{kind: kindIdentity}) }},
		{greetingForm, func([]string) []action { return one(action{kind: kindGreeting}) }},
		{markdownForm, func([]string) []action { return one(action{kind: kindMarkdown}) }},
		{countForm, func(m []string) []action { return one(action{kind: kindCount, count: number(m[1])}) }},
		{thinkForm, func(m []string) []action { return one(action{kind: kindThink, text: m[1]}) }},
		{pretendForm, func(m []string) []action { return one(action{kind: kindPretend, text: m[1]}) }},
		{sayForm, func(m []string) []action { return one(action{kind: kindSay, text: unquote(m[1])}) }},
		{askForm, func(m []string) []action { return one(question(m[1])) }},
		{runForm, func(m []string) []action { return one(command(m[1])) }},
		{appendForm, func(m []string) []action {
			return one(action{kind: kindUnclear, text: m[0], why: "I can write a whole file or replace a part of one, but not append."})
		}},
		{replaceForm, func(m []string) []action { return one(edit(m[4], m[2], m[3], m[1])) }},
		{editForm, func(m []string) []action { return one(edit(m[1], m[3], m[4], m[2])) }},
		{writeForm, func(m []string) []action { return one(write(m[1], m[2])) }},
		{writeWithForm, func(m []string) []action { return one(write(m[1], m[2])) }},
		{writeToForm, func(m []string) []action { return one(write(m[2], m[1])) }},
		{writeEmptyForm, func(m []string) []action { return one(write(m[1], "")) }},
		{searchInForm, func(m []string) []action { return one(search(m[2], m[1])) }},
		{searchForm, func(m []string) []action { return one(search(m[1], m[2])) }},
		{linesForm, func(m []string) []action { return one(lines(m[3], m[1], m[2])) }},
		{firstLinesForm, func(m []string) []action { return one(lines(m[2], "1", m[1])) }},
		{linesAfterForm, func(m []string) []action { return one(lines(m[1], m[2], m[3])) }},
		{listForm, func(m []string) []action { return list(m[1]) }},
		{filesForm, func(m []string) []action { return list(m[1]) }},
		{whatIsForm, func(m []string) []action { return whatIs(m[1]) }},
		{saysForm, func(m []string) []action { return reads(m[1]) }},
		{readForm, func(m []string) []action { return reads(m[1]) }},
	}
}

var (
	helpForm       = form(`(?:help(?: me)?|commands|what can (?:you|i) (?:do|say|ask)(?: here)?|what do you understand|\?+)`)
	identityForm   = form(`(?:(?:so |and )?are you .*\b(?:ai|a\.i\.?|bot|chatbot|robot|human|person|real|machine|claude|gpt|chatgpt|llm|model|intelligent|program)\b.*|(?:who|what) are you.*|(?:which|what) model .*|is this an? (?:ai|real model).*)`)
	greetingForm   = form(`(?:hi|hello|hey|good (?:morning|evening|afternoon|day)|thanks|thank you|ok|okay|bye)(?:\W.*)?`)
	markdownForm   = form(`show (?:me )?(?:some )?markdown`)
	countForm      = form(`count (?:up |from 1 |from one )?to (\d{1,6})`)
	thinkForm      = form(`think (?:hard |carefully |deeply )?(?:about|of|over) (.+)`)
	pretendForm    = form(`pretend (?:that |to be |to )?(.+)`)
	sayForm        = form(`(?:say|repeat|reply with|repeat after me)[:,]?\s+(.+)`)
	askForm        = form(`ask(?: me)?(?: a question)?[:,]?\s+(.+)`)
	runForm        = form(`(?:(?:run|execute|exec)(?: the)?(?: command)?:?|\$)\s+(.+)`)
	appendForm     = form(`(?:append|add)\s+.+\s+to\s+.+`)
	replaceForm    = form(`(?:replace|change)\s+(all |every )?` + phrase + `\s+(?:with|by|to|into)\s+` + phrase + `\s+(?:everywhere )?in\s+(?:the )?(?:file )?` + name)
	editForm       = form(`(?:in|edit|change)\s+(?:the )?(?:file )?` + name + `[,:]?\s+(?:and )?(?:replace|change)\s+(all |every )?` + phrase + `\s+(?:with|by|to|into)\s+` + phrase)
	writeForm      = form(`(?:write|save|create|make|put)\s+(?:an? |the )?(?:new )?(?:file )?(?:to |into |called |named )?` + name + `\s*:(?:[ \t]*\n|[ \t]*)(.*)`)
	writeWithForm  = form(`(?:write|create|make)\s+(?:an? |the )?(?:new )?(?:file )?(?:called |named )?` + name + `\s+(?:with|containing|saying|that says)(?: the)?(?: contents?| text| words?)?:?\s+(.+)`)
	writeToForm    = form(`(?:write|save|put)\s+` + phrase + `\s+(?:to|into|in)\s+(?:the |an? )?(?:new )?(?:file )?(?:called |named )?` + name)
	writeEmptyForm = form(`(?:create|make)\s+(?:an? |the )?(?:new )?(?:empty )?(?:file )?(?:called |named )?` + name)
	searchInForm   = form(`search\s+(?:the )?(?:folder |file )?` + name + `\s+for\s+(.+)`)
	searchForm     = form(`(?:search for|search|look for|grep for|grep|find)\s+(?:the (?:text|word) )?` + phrase + `(?:\s+(?:in|inside|under)\s+(?:the )?(?:folder |file |directory )?` + name + `(?: folder| file| directory)?)?`)
	linesForm      = form(`(?:read|show|print)(?: me)?\s+(?:the )?lines? (\d+)\s*(?:-|–|to|and)\s*(\d+) (?:of|from|in) (.+)`)
	firstLinesForm = form(`(?:read|show|print)(?: me)?\s+(?:the )?first (\d+) lines (?:of|from|in) (.+)`)
	linesAfterForm = form(`(?:read|show|print)(?: me)?\s+` + name + `,? (?:from )?lines? (\d+)(?:\s*(?:-|–|to)\s*(?:line )?(\d+))?`)
	listForm       = form(`(?:list|ls|dir)(?:\s+(.+))?`)
	filesForm      = form(`(?:show|give|tell)(?: me)?\s+(?:all )?(?:the |my )?(?:files|folder|contents|directory)(?:\s+(?:in|of|under)\s+(.+))?`)
	whatIsForm     = form(`(?:what(?:'s| is| files are)(?: there)? in|look (?:in|into|at))\s+(.+)`)
	saysForm       = form(`what does (.+) say`)
	readForm       = form(`(?:read|show|open|print|cat|display|view)(?: me)?\s+(.+)`)

	polite    = regexp.MustCompile(`(?i)^(?:(?:please|now|first|finally|also|and|can you|could you|would you|will you|i(?:'d| would) like you to|i want you to|let's|kindly)[\s,]+)+`)
	politeEnd = regexp.MustCompile(`(?i)(?:[\s,]+(?:please|for me|now|thanks|thank you))+[.!?]*$`)
	articles  = regexp.MustCompile(`(?i)^(?:(?:the|all|of|in|me|my|this|current|these|those|file|files|folder|folders|directory|contents?|here|everything|workspace|inside)(?:\s+|$))+`)
	folderEnd = regexp.MustCompile(`(?i)\s+(?:folder|directory|file)$`)
	listSign  = regexp.MustCompile(`(?i)\s*,\s*(?:and\s+)?|\s+and\s+`)
	inFolder  = regexp.MustCompile("(?is)^(.+?)\\s+(?:in|inside)\\s+(?:the\\s+)?(?:(?:folder|directory)\\s+(`[^`]+`|\"[^\"]+\"|\\S+)|(`[^`]+`|\"[^\"]+\"|\\S+)\\s+(?:folder|directory))$")
	inPath    = regexp.MustCompile("(?is)^(`[^`]+`|\"[^\"]+\")\\s+in\\s+(?:the\\s+)?(?:folder\\s+)?(`[^`]+`|\"[^\"]+\"|\\S+?)(?:\\s+folder)?$")
)

// parse reads a request into at least one step.
func parse(text string) []step {
	text = strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n")
	if text == "" {
		return []step{{actions: one(action{kind: kindUnclear, why: "There are no words in this message that I could follow; pictures and files I cannot look at."})}}
	}
	var steps []step
	for _, p := range split(text) {
		words, together := strings.CutSuffix(p.text, " together")
		s, loops := parsePiece(words)
		merge := p.joint == jointTogether && len(steps) > 0 && !s[0].talks() && !steps[len(steps)-1].talks()
		if together || merge {
			s = []step{{actions: flatten(s)}}
		}
		if merge {
			last := &steps[len(steps)-1]
			last.actions = append(last.actions, s[0].actions...)
			continue
		}
		s[len(s)-1].loops = loops
		steps = append(steps, s...)
	}
	return steps
}

// parsePiece reads what one piece of a request asks for, a step for each thing.
func parsePiece(text string) (steps []step, loops bool) {
	text = polite.ReplaceAllString(strings.TrimSpace(text), "")
	if rest, ok := cutWord(text, "loop"); ok {
		text, loops = rest, true
	}
	for _, a := range parseActions(text) {
		steps = append(steps, step{actions: []action{a}})
	}
	return steps, loops && !steps[len(steps)-1].talks()
}

func parseActions(text string) []action {
	if !writeSign.MatchString(text) {
		text = politeEnd.ReplaceAllString(text, "")
		text = trimStop(text)
	}
	for _, r := range rules() {
		if m := r.form.FindStringSubmatch(text); m != nil {
			if made := r.made(m); made != nil {
				return made
			}
		}
	}
	return one(action{kind: kindUnclear, text: text})
}

func one(a action) []action { return []action{a} }

func flatten(steps []step) []action {
	var out []action
	for _, s := range steps {
		out = append(out, s.actions...)
	}
	return out
}

// cutWord takes a first word off text.
func cutWord(text, word string) (string, bool) {
	if len(text) <= len(word) || !strings.EqualFold(text[:len(word)], word) || text[len(word)] != ' ' {
		return text, false
	}
	return strings.TrimSpace(text[len(word):]), true
}

// trimStop takes the full stop or question mark off the end of a sentence, but
// not the dots of "list .." nor those of quoted text.
func trimStop(text string) string {
	trimmed := strings.TrimRight(text, ".!?")
	if trimmed == "" || trimmed == text || strings.HasSuffix(trimmed, " ") || strings.HasSuffix(trimmed, "/") {
		return text
	}
	return trimmed
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

func write(path, content string) action {
	if isQuoted(content) {
		content = unquote(content)
	}
	return action{kind: kindWrite, path: unquote(path), text: content}
}

func edit(path, old, replacement, all string) action {
	return action{kind: kindEdit, path: unquote(path), old: unquote(old), text: unquote(replacement), all: all != ""}
}

func search(pattern, path string) action {
	path = unquote(path)
	switch strings.ToLower(path) {
	case "here", "this", "files", "everything", "everywhere", "all", "my":
		path = ""
	}
	return action{kind: kindSearch, text: unquote(pattern), path: path}
}

func lines(path, first, last string) action {
	from, to := number(first), number(last)
	a := action{kind: kindRead, path: object(path), offset: from}
	if to >= from {
		a.limit = to - from + 1
	}
	return a
}

// list reads what comes after "list"; options make it a command.
func list(what string) []action {
	if strings.HasPrefix(strings.TrimSpace(what), "-") {
		return one(command("ls " + what))
	}
	return each(what, func(path string) action {
		if path == "" {
			path = "."
		}
		return action{kind: kindList, path: path}
	})
}

// reads reads what comes after "read"; a name of several words must look like a
// file's, or it is a sentence that was not understood.
func reads(what string) []action {
	return each(what, func(path string) action { return action{kind: kindRead, path: path} })
}

func whatIs(what string) []action {
	path := object(what)
	if base := path[strings.LastIndex(path, "/")+1:]; strings.Contains(strings.TrimLeft(base, "."), ".") {
		return reads(what)
	}
	return list(what)
}

// each makes an action for every path in a list such as "a.md, b.md and c.md".
// It returns nil when one of them does not look like a path.
func each(what string, made func(string) action) []action {
	if isQuoted(what) {
		return one(made(unquote(what)))
	}
	var out []action
	for _, part := range listSign.Split(what, -1) {
		path := object(part)
		if strings.Contains(path, " ") && !strings.Contains(path, ".") {
			return nil
		}
		a := made(path)
		if a.path == "" {
			return nil
		}
		out = append(out, a)
	}
	return out
}

// object takes a path out of "the src folder".
func object(text string) string {
	text = strings.TrimSpace(text)
	if isQuoted(text) {
		return unquote(text)
	}
	text = articles.ReplaceAllString(text, "")
	return unquote(folderEnd.ReplaceAllString(text, ""))
}

// command reads a command line with the folder it runs in.
func command(line string) action {
	line = strings.TrimSpace(line)
	a := action{kind: kindExec}
	switch m, q := inFolder.FindStringSubmatch(line), inPath.FindStringSubmatch(line); {
	case q != nil:
		line, a.path = q[1], unquote(q[2])
	case m != nil:
		line, a.path = m[1], unquote(m[2]+m[3])
	}
	if strings.HasPrefix(line, "`") || strings.HasPrefix(line, "“") {
		line = strings.TrimSpace(unquote(line))
	} else if words, err := splitWords(line); err == nil && len(words) == 1 {
		line = words[0] // the whole line was quoted
	}
	words, err := splitWords(line)
	if strings.Trim(line, "`") == "" {
		words = nil
	}
	switch {
	case errors.Is(err, errShell):
		return action{kind: kindUnclear, text: line, why: "In this command " + err.Error() + ", and I start programs without one. Put such a line in quotes behind a shell: " + code("run sh -c "+commandLine([]string{line})) + "."}
	case err != nil:
		return action{kind: kindUnclear, text: line, why: "In this command " + err.Error() + "."}
	case len(words) == 0:
		return action{kind: kindUnclear, text: line, why: "There is no command to run."}
	}
	a.argv = words
	return a
}
