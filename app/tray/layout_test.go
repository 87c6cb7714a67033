package main

import (
	"fmt"
	"strings"
	"testing"

	"countersign/app/traymsg"
)

// walk lists every row, children after their parent.
func walk(rows []entry) []entry {
	var out []entry
	for _, r := range rows {
		out = append(out, r)
		out = append(out, walk(r.children)...)
	}
	return out
}

func kinds(rows []entry, id string) string {
	var out []string
	for _, r := range walk(rows) {
		if r.click != nil && r.click.ID == id {
			out = append(out, string(r.click.Kind))
		}
	}
	return strings.Join(out, " ")
}

func TestOnlyAWholeAndHarmlessQuestionCanBeAllowed(t *testing.T) {
	for name, tc := range map[string]struct {
		w    traymsg.Waiting
		want string
	}{
		"ordinary":          {traymsg.Waiting{What: "ls -la", Where: "~/notes"}, "allow deny show"},
		"no place":          {traymsg.Waiting{What: "ls -la"}, "allow deny show"},
		"high risk":         {traymsg.Waiting{What: "rm -r x", HighRisk: true}, "show"},
		"too long":          {traymsg.Waiting{What: strings.Repeat("x", maxText+1)}, "show"},
		"just fits":         {traymsg.Waiting{What: strings.Repeat("ä", maxText)}, "allow deny show"},
		"second line":       {traymsg.Waiting{What: "ls\nrm -r ~"}, "show"},
		"reordered":         {traymsg.Waiting{What: "cat \u202egpj.exe"}, "show"},
		"invisible":         {traymsg.Waiting{What: "cat a\u200bb"}, "show"},
		"broken text":       {traymsg.Waiting{What: "cat \xff"}, "show"},
		"place is too long": {traymsg.Waiting{What: "ls", Where: strings.Repeat("/x", maxText)}, "show"},
		"nothing":           {traymsg.Waiting{}, "show"},
	} {
		tc.w.ID, tc.w.Nonce = "a1", "n1"
		rows := layout(traymsg.Menu{Waiting: []traymsg.Waiting{tc.w}})
		if got := kinds(rows, "a1"); got != tc.want {
			t.Errorf("%s: offers %q, want %q", name, got, tc.want)
		}
		for _, r := range walk(rows) {
			if r.click != nil && r.click.ID != "" && r.click.Nonce != "n1" {
				t.Errorf("%s: %q is not bound to the question", name, r.label)
			}
			if strings.ContainsAny(r.label, "\n\u202e\u200b") {
				t.Errorf("%s: row %q can mislead", name, r.label)
			}
		}
	}
}

func TestShortChangeIsShownAndALongOneCounted(t *testing.T) {
	text := func(lines int) string {
		w := traymsg.Waiting{ID: "a", What: "write notes.md", Detail: make([]string, lines)}
		for i := range w.Detail {
			w.Detail[i] = fmt.Sprintf("+line %d", i)
		}
		var out []string
		for _, r := range walk(layout(traymsg.Menu{Waiting: []traymsg.Waiting{w}})) {
			out = append(out, r.label)
		}
		return strings.Join(out, "|")
	}
	if got := text(2); !strings.Contains(got, "+line 0|+line 1|") {
		t.Errorf("short: %s", got)
	}
	if got := text(maxDetail + 1); strings.Contains(got, "+line") || !strings.Contains(got, "9 lines of changes") {
		t.Errorf("long: %s", got)
	}
}

func TestMenuAlwaysEndsWithOpenPauseQuit(t *testing.T) {
	many := traymsg.Menu{Paused: true}
	for i := range 30 {
		many.Waiting = append(many.Waiting, traymsg.Waiting{ID: fmt.Sprint(i), What: "ls"})
		many.Running = append(many.Running, traymsg.Running{ID: fmt.Sprint(i), Title: "work"})
	}
	for name, tc := range map[string]struct {
		m    traymsg.Menu
		want string
	}{
		"empty": {traymsg.Menu{}, "Open Countersign|Pause agent||Quit"},
		"many":  {many, "Open Countersign|Resume agent||Quit"},
	} {
		rows := layout(tc.m)
		var labels []string
		for _, r := range rows[len(rows)-4:] {
			labels = append(labels, r.label)
		}
		if got := strings.Join(labels, "|"); got != tc.want {
			t.Errorf("%s: ends with %q, want %q", name, got, tc.want)
		}
	}
	rows := layout(many)
	if len(rows) > maxWaiting+maxRunning+8 {
		t.Errorf("%d rows: the menu grows without bound", len(rows))
	}
	if rows[maxWaiting].label != "22 more in the window…" {
		t.Errorf("row after the shown approvals is %q", rows[maxWaiting].label)
	}
}

func TestEscapeKeepsTheTextThatIsShown(t *testing.T) {
	for _, tc := range [][3]string{{"my_file", "_", "my__file"}, {"a && b", "&", "a &&&& b"}, {"my_file", "", "my_file"}} {
		if got := escape(tc[0], tc[1]); got != tc[2] {
			t.Errorf("escape(%q, %q) = %q, want %q", tc[0], tc[1], got, tc[2])
		}
	}
}

func TestEveryStateHasAPicture(t *testing.T) {
	seen := map[string]traymsg.Status{}
	for _, s := range traymsg.Statuses() {
		icon, template, err := picture(s)
		if err != nil || len(icon) == 0 || len(template) == 0 {
			t.Errorf("%s: %d and %d bytes, %v", s, len(icon), len(template), err)
		}
		if other, twice := seen[string(icon)]; twice {
			t.Errorf("%s and %s share a picture", s, other)
		}
		seen[string(icon)] = s
	}
	if _, _, err := picture("dancing"); err == nil {
		t.Error("an unknown state has a picture")
	}
}
