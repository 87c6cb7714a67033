//go:build linux

package screen

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	watcherName = "org.kde.StatusNotifierWatcher"
	watcherPath = "/StatusNotifierWatcher"
	itemName    = "org.kde.StatusNotifierItem"
	menuName    = "com.canonical.dbusmenu"
)

// TrayHost plays the part of a panel: it takes the registrations of tray icons and works their menus. It is safe for
// concurrent use.
type TrayHost struct {
	t    testing.TB
	d    *Desktop
	conn *dbus.Conn

	mu    sync.Mutex // guards items
	items []dbus.Sender
}

// StartTrayHost becomes the panel of the desktop.
func (d *Desktop) StartTrayHost() *TrayHost {
	d.t.Helper()
	h := &TrayHost{t: d.t, d: d, conn: d.Connect()}
	if err := h.conn.Export(registrar{h}, watcherPath, watcherName); err != nil {
		d.t.Fatal(err)
	}
	reply, err := h.conn.RequestName(watcherName, dbus.NameFlagDoNotQueue)
	if err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		d.t.Fatalf("become the tray host: %v, %v", reply, err)
	}
	return h
}

// Stop takes the panel away, as when it crashes.
func (h *TrayHost) Stop() {
	h.t.Helper()
	if err := h.conn.Close(); err != nil {
		h.t.Fatal(err)
	}
}

// registrar has only the method that icons call.
type registrar struct{ h *TrayHost }

// RegisterStatusNotifierItem notes an icon by its sender.
func (r registrar) RegisterStatusNotifierItem(_ string, sender dbus.Sender) *dbus.Error {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	r.h.items = append(r.h.items, sender)
	return nil
}

// Registrations counts the icons that have ever come.
func (h *TrayHost) Registrations() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.items)
}

// newest is the icon that came last and whether there is one.
func (h *TrayHost) newest() (dbus.Sender, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.items) == 0 {
		return "", false
	}
	return h.items[len(h.items)-1], true
}

// Title returns the title and the text under the pointer of the newest icon.
func (h *TrayHost) Title() (title, tooltip string) {
	sender, ok := h.newest()
	if !ok {
		return "", ""
	}
	item := h.conn.Object(string(sender), "/StatusNotifierItem")
	if v, err := item.GetProperty(itemName + ".Title"); err == nil {
		title, _ = v.Value().(string)
	}
	if v, err := item.GetProperty(itemName + ".ToolTip"); err == nil {
		if parts, ok := v.Value().([]any); ok && len(parts) > 2 {
			tooltip, _ = parts[2].(string)
		}
	}
	return title, tooltip
}

// Pixels returns the picture of the newest icon, to tell states apart.
func (h *TrayHost) Pixels() string {
	sender, ok := h.newest()
	if !ok {
		return ""
	}
	v, err := h.conn.Object(string(sender), "/StatusNotifierItem").GetProperty(itemName + ".IconPixmap")
	if err != nil {
		return ""
	}
	return fmt.Sprint(v.Value())
}

// Activate is a click with the main button on the icon.
func (h *TrayHost) Activate() error {
	sender, ok := h.newest()
	if !ok {
		return fmt.Errorf("no icon to click")
	}
	return h.conn.Object(string(sender), "/StatusNotifierItem").Call(itemName+".Activate", 0, int32(0), int32(0)).Err
}

// Row is one row of a menu.
type Row struct {
	ID      int32
	Label   string
	Enabled bool
	Rows    []Row
}

// Menu reads the menu of the newest icon. It asks twice, for the first answer leaves submenus out.
func (h *TrayHost) Menu() ([]Row, error) {
	sender, ok := h.newest()
	if !ok {
		return nil, fmt.Errorf("no icon has come")
	}
	var root layout
	for range 2 {
		var revision uint32
		err := h.menu(sender).Call(menuName+".GetLayout", 0, int32(0), int32(-1), []string{}).Store(&revision, &root)
		if err != nil {
			return nil, fmt.Errorf("read the menu: %w", err)
		}
	}
	return rows(root.Children)
}

func (h *TrayHost) menu(sender dbus.Sender) dbus.BusObject {
	return h.conn.Object(string(sender), "/StatusNotifierItem/menu")
}

// layout is a menu on the wire.
type layout struct {
	ID       int32
	Props    map[string]dbus.Variant
	Children []dbus.Variant
}

func rows(children []dbus.Variant) ([]Row, error) {
	var out []Row
	for _, child := range children {
		var l layout
		parts, ok := child.Value().([]any)
		if !ok {
			return nil, fmt.Errorf("a row of the menu is %s", child.Signature())
		}
		if err := dbus.Store(parts, &l.ID, &l.Props, &l.Children); err != nil {
			return nil, fmt.Errorf("read a row of the menu: %w", err)
		}
		r := Row{ID: l.ID, Enabled: true}
		if v, ok := l.Props["label"].Value().(string); ok {
			// Underscores mark shortcuts unless doubled.
			r.Label = strings.ReplaceAll(v, "__", "_")
		}
		if v, ok := l.Props["enabled"].Value().(bool); ok {
			r.Enabled = v
		}
		inner, err := rows(l.Children)
		if err != nil {
			return nil, err
		}
		r.Rows = inner
		out = append(out, r)
	}
	return out, nil
}

// Find returns the row at a path of labels. Each label matches a row that begins with it.
func (h *TrayHost) Find(path ...string) (Row, bool) {
	found, err := h.Menu()
	if err != nil {
		return Row{}, false
	}
	var at Row
	for _, label := range path {
		ok := false
		for _, r := range found {
			if r.Label != "" && strings.HasPrefix(r.Label, label) {
				at, ok, found = r, true, r.Rows
				break
			}
		}
		if !ok {
			return Row{}, false
		}
	}
	return at, true
}

// Click waits for a row and chooses it.
func (h *TrayHost) Click(path ...string) {
	h.t.Helper()
	var row Row
	h.d.Wait("the menu row "+strings.Join(path, " › "), func() (ok bool) {
		row, ok = h.Find(path...)
		return ok
	})
	if err := h.Choose(row); err != nil {
		h.t.Fatalf("click %v: %v", path, err)
	}
}

// Choose sends the click on a row, enabled or not, as a careless panel would.
func (h *TrayHost) Choose(row Row) error {
	sender, ok := h.newest()
	if !ok {
		return fmt.Errorf("no icon to click")
	}
	return h.menu(sender).Call(menuName+".Event", 0, row.ID, "clicked", dbus.MakeVariant(""), uint32(time.Now().Unix())).Err
}
