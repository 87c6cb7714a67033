package main

import (
	"fmt"
	"reflect"
	"sync"

	"countersign/app/traymsg"

	"fyne.io/systray"
)

// menu keeps the desktop's menu equal to what the window said last. It is safe for concurrent use.
type menu struct {
	out *traymsg.Writer

	mu    sync.Mutex // guards the rest, and that one rebuild ends before the next begins
	shown []entry
	drawn bool
}

// show applies a line of the parent; one that only a helper may send is an error.
func (m *menu) show(line traymsg.Line) error {
	switch {
	case line.State != nil:
		return m.showState(*line.State)
	case line.Menu != nil:
		m.showMenu(*line.Menu)
		return nil
	}
	return fmt.Errorf("%w: not for the helper", traymsg.ErrMalformed)
}

func (m *menu) showState(s traymsg.State) error {
	icon, template, err := picture(s.State)
	if err != nil {
		return err
	}
	title, _ := plain(s.Title)
	name := "Countersign"
	if s.Count > 0 {
		name = fmt.Sprintf("Countersign (%d)", s.Count)
	}
	systray.SetTemplateIcon(template, icon)
	setTitle(name, s.Count)
	systray.SetTooltip(title)
	return nil
}

// showMenu redraws only when something changed, for a redraw closes a menu that is open. Rows get new numbers each
// time and numbers are never used twice, so a click on a menu that was open meanwhile finds no row and does nothing.
func (m *menu) showMenu(want traymsg.Menu) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := layout(want)
	if m.drawn && reflect.DeepEqual(rows, m.shown) {
		return
	}
	m.shown, m.drawn = rows, true
	systray.ResetMenu()
	m.add(rows, nil)
}

func (m *menu) add(rows []entry, parent *systray.MenuItem) {
	for _, row := range rows {
		if row.separator {
			if parent == nil {
				systray.AddSeparator()
			} else {
				parent.AddSeparator()
			}
			continue
		}
		label := escape(row.label, mnemonic)
		var item *systray.MenuItem
		if parent == nil {
			item = systray.AddMenuItem(label, "")
		} else {
			item = parent.AddSubMenuItem(label, "")
		}
		if row.click == nil && len(row.children) == 0 {
			item.Disable()
		}
		if row.click != nil {
			// Ends when the row is removed, which closes its channel.
			go m.listen(item, *row.click)
		}
		m.add(row.children, item)
	}
}

// listen sends the row's click. Rows without one have no listener at all, for the library reports clicks on disabled
// rows like any others.
func (m *menu) listen(item *systray.MenuItem, click traymsg.Click) {
	for range item.ClickedCh {
		if !item.Disabled() {
			m.click(click)
		}
	}
}

func (m *menu) click(c traymsg.Click) { send(m.out, traymsg.Line{Click: &c}) }
