package files

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// view is a change as a person sees it.
type view struct {
	sentence string
	diff     string
	cut      bool
	lines    int
	notes    []string
}

func viewOf(show string, was present, after []byte) view {
	form := formOf(after)
	b := splitLines(form.decode(after))
	switch {
	case !was.exists:
		return newView(show, fmt.Sprintf("Write %s (new file, %s)", show, count(len(b), "line", "lines")), "/dev/null", b)
	case was.binary() || was.content == nil:
		kind := "large file"
		if was.binary() {
			kind = binaryName(was.head)
		}
		v := newView(show, fmt.Sprintf("Replace all of %s with %s", show, count(len(b), "line", "lines")), show, b)
		v.notes = append(v.notes, fmt.Sprintf("The former content (%s, %s) is not shown.", kind, size(was.size)))
		return v
	}
	old := formOf(was.content)
	a := splitLines(old.decode(was.content))
	spans := diffLines(a, b)
	v := view{lines: changedLines(spans)}
	v.sentence = fmt.Sprintf("Change %s in %s", count(v.lines, "line", "lines"), show)
	if len(spans) > 0 {
		v.diff, v.cut = unified(show, show, a, b, spans)
	}
	v.notes = notesOf(old, form, endings(a), endings(b))
	if v.lines == 0 {
		v.sentence = "Write " + show + " as it is (no line changes)"
	}
	return v
}

// changedLines counts lines as a person does: a replaced line is one.
func changedLines(spans []span) int {
	n := 0
	for _, s := range spans {
		n += max(s.a1-s.a0, s.b1-s.b0)
	}
	return n
}

// newView shows all of the new content.
func newView(show, sentence, from string, b []string) view {
	v := view{sentence: sentence, lines: len(b)}
	if len(b) > 0 {
		v.diff, v.cut = unified(from, show, nil, b, diffLines(nil, b))
	}
	return v
}

// notesOf tells of changes that a diff of lines does not show plainly.
func notesOf(old, now form, oldEnds, nowEnds []string) []string {
	var notes []string
	if old != now {
		notes = append(notes, fmt.Sprintf("The text changes from %s to %s.", old.name(), now.name()))
	}
	if len(oldEnds) > 0 && len(nowEnds) > 0 && !slices.Equal(oldEnds, nowEnds) {
		notes = append(notes, fmt.Sprintf("The line ends change from %s to %s.", names(oldEnds), names(nowEnds)))
	}
	return notes
}

func names(ends []string) string {
	out := make([]string, len(ends))
	for i, end := range ends {
		out[i] = endingNames[end]
	}
	return strings.Join(out, " and ")
}

// riskyPlaces are files that something runs or obeys by itself, so that changing
// one can start a command later that nobody asks about.
var riskyPlaces = []struct{ part, why string }{
	{"/.git/hooks/", "git runs this file by itself"},
	{"/.git/config", "git obeys this file and can run commands from it"},
	{"/.ssh/", "it decides who can log in"},
	{"/.envrc", "the shell runs this file on entering the folder"},
	{"/.vscode/", "the editor can run commands from this file"},
	{"/.idea/", "the editor can run commands from this file"},
	{"/autostart/", "programs here start at login"},
	{"/LaunchAgents/", "programs here start at login"},
	{"/.config/systemd/", "services here start by themselves"},
	{"/.bashrc", "the shell runs this file"}, {"/.bash_profile", "the shell runs this file"},
	{"/.profile", "the shell runs this file"}, {"/.zshrc", "the shell runs this file"}, {"/.zprofile", "the shell runs this file"},
	{"/.zshenv", "the shell runs this file"}, {"/.config/fish/", "the shell runs this file"},
	{"/.github/workflows/", "the build service runs commands from this file"},
	{"/.npmrc", "package tools obey this file"}, {"/.gitattributes", "git can run filters named in this file"},
}

// fileRisk says why changing a file is more than changing a file, or nothing.
func fileRisk(abs string, was present) string {
	path := filepath.ToSlash(abs)
	for _, r := range riskyPlaces {
		if strings.HasSuffix(r.part, "/") && strings.Contains(path, r.part) || strings.HasSuffix(path, r.part) {
			return "Careful: " + r.why + "."
		}
	}
	if was.exists && was.mode&0o111 != 0 {
		return "Careful: this file is a program; what you allow here is what it will do."
	}
	return ""
}
