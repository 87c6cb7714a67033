package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"countersign/app/traymsg"
)

// Limits of what a menu can show. An approval whose text does not fit whole can only be shown, never allowed here:
// nobody allows what they could not read.
const (
	maxWaiting = 8
	maxRunning = 5
	maxDetail  = 8
	maxText    = 100 // runes
)

// entry is one row of the menu, before any desktop is asked to draw it.
type entry struct {
	label     string
	separator bool
	// click is what choosing the row sends; a row without it is only to be read.
	click    *traymsg.Click
	children []entry
}

// layout decides the whole menu from what the window said last.
func layout(m traymsg.Menu) []entry {
	var rows []entry
	for i, w := range m.Waiting {
		if i == maxWaiting {
			rows = append(rows, entry{
				label: fmt.Sprintf("%d more in the window…", len(m.Waiting)-maxWaiting), click: &traymsg.Click{Kind: traymsg.Open},
			})
			break
		}
		rows = append(rows, waitingRow(w))
	}
	if len(rows) > 0 {
		rows = append(rows, entry{separator: true})
	}
	if len(m.Running) > 0 {
		for i, r := range m.Running {
			if i == maxRunning {
				rows = append(rows, entry{label: fmt.Sprintf("%d more at work", len(m.Running)-maxRunning)})
				break
			}
			title, _ := plain(r.Title)
			rows = append(rows, entry{label: "Working: " + title})
		}
		rows = append(rows, entry{separator: true})
	}
	pause := entry{label: "Pause agent", click: &traymsg.Click{Kind: traymsg.Pause}}
	if m.Paused {
		pause = entry{label: "Resume agent", click: &traymsg.Click{Kind: traymsg.Resume}}
	}
	return append(rows,
		entry{label: "Open Countersign", click: &traymsg.Click{Kind: traymsg.Open}},
		pause,
		entry{separator: true},
		entry{label: "Quit", click: &traymsg.Click{Kind: traymsg.Quit}},
	)
}

func waitingRow(w traymsg.Waiting) entry {
	what, whole := plain(w.What)
	where, whereWhole := plain(w.Where)
	click := func(k traymsg.Kind) *traymsg.Click { return &traymsg.Click{Kind: k, ID: w.ID, Nonce: w.Nonce} }
	row := entry{label: what, children: []entry{{label: what}}}
	if where != "" {
		row.children = append(row.children, entry{label: "in " + where})
	}
	if len(w.Detail) > maxDetail {
		row.children = append(row.children, entry{label: fmt.Sprintf("%d lines of changes: Show to read them", len(w.Detail))})
	} else {
		for _, line := range w.Detail {
			text, _ := plain(line)
			row.children = append(row.children, entry{label: text})
		}
	}
	row.children = append(row.children, entry{separator: true})
	if !w.HighRisk && whole && whereWhole && what != "" {
		row.children = append(row.children,
			entry{label: "Allow once", click: click(traymsg.Allow)},
			entry{label: "Deny", click: click(traymsg.Deny)},
		)
	}
	row.children = append(row.children, entry{label: "Show", click: click(traymsg.Show)})
	return row
}

// plain makes text fit for one row and reports whether it still says everything: line breaks, control characters and
// marks that reorder text could make a row read as something else than what would be done.
func plain(s string) (text string, whole bool) {
	whole = utf8.ValidString(s)
	var b strings.Builder
	for _, r := range strings.TrimSpace(s) {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			whole = false
			r = ' '
		}
		b.WriteRune(r)
	}
	runes := []rune(b.String())
	if len(runes) > maxText {
		return string(runes[:maxText-1]) + "…", false
	}
	return string(runes), whole
}

// escape doubles the character that a menu would take for the mark of a shortcut.
func escape(label string, mnemonic string) string {
	if mnemonic == "" {
		return label
	}
	return strings.ReplaceAll(label, mnemonic, mnemonic+mnemonic)
}
