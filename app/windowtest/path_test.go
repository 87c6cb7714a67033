//go:build desktop_e2e

package windowtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"countersign/app/windowtest/screen"
)

// needsYou is the page's colour for what waits for the owner; nothing else has it.
const needsYou = "#e3b663"

// focusRing is the page's colour around what has the focus.
const focusRing = "#2d4cb8"

// The main job by keyboard alone, in the real window: choose practice, ask, see the question, allow it, find the file,
// read the receipt, undo it.
func TestWholePathInTheRealWindow(t *testing.T) {
	d := screen.Start(t, screen.Options{})
	d.StartTrayHost()
	w := openWindow(t, d)
	d.Wait("the window", w.visible)
	w.waitPage(1)
	target := filepath.Join(w.home, "workspace", "notes.md")
	d.Wait("the first page", func() bool { return colours(t, d.Shoot("path-1-first-run")) > 150 })

	press(t, d, "Tab", "Tab", "Return")
	d.Wait("the practice model", func() bool { return strings.Contains(w.must("model", "list"), "practice") })
	d.Wait("the end of the first run", func() bool {
		press(t, d, "Return") // takes the name and the folder as they are proposed
		return w.setUp()
	})
	// Keys go where the focus is, so they wait for the ring around the composer.
	d.Wait("the composer", func() bool { return count(t, d.Shoot("path-1-chat"), "1000x160+300+740", focusRing) > 200 })
	if out, err := d.Output("xdotool", "type", "--delay", "20", "write notes.md: hello from the window"); err != nil {
		t.Fatalf("type: %v: %s", err, out)
	}
	press(t, d, "Return")
	d.Wait("the question", func() bool { return strings.Contains(w.must("approvals", "list"), "notes.md") })
	d.Wait("the card", func() bool {
		return same(t, d, "path-2-asked") && count(t, d.Shoot("path-2-asked"), "1000x700+300+100", needsYou) > 40
	})

	// Enter never allows: it only sends, and there is nothing to send.
	press(t, d, "Return")
	if _, err := os.Stat(target); err == nil {
		t.Fatal("the file is there before anybody allowed it")
	}
	press(t, d, "shift+Tab", "shift+Tab", "shift+Tab", "space")
	d.Wait("the file", func() bool {
		content, err := os.ReadFile(target)
		return err == nil && strings.TrimSpace(string(content)) == "hello from the window"
	})
	d.Wait("the reply", func() bool { return same(t, d, "path-3-allowed") })

	var list struct {
		Receipts []struct {
			ID       string `json:"id"`
			Sentence string `json:"sentence"`
		} `json:"receipts"`
	}
	if err := json.Unmarshal([]byte(w.must("receipts", "list", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Receipts) != 1 || !strings.Contains(list.Receipts[0].Sentence, "notes.md") {
		t.Fatalf("receipts: %+v", list.Receipts)
	}
	press(t, d, "ctrl+k")
	if out, err := d.Output("xdotool", "type", "--delay", "40", "activity"); err != nil {
		t.Fatalf("type: %v: %s", err, out)
	}
	press(t, d, "Return")
	d.Wait("the receipts", func() bool { return same(t, d, "path-4-receipts") })
	w.must("receipts", "undo", list.Receipts[0].ID)
	if _, err := os.Stat(target); !os.IsNotExist(err) {
		t.Errorf("after undoing, the file gives %v", err)
	}
	w.must("receipts", "verify")
	d.Wait("the receipt of the undo", func() bool { return same(t, d, "path-5-undone") })
}

// In the window a folder need not be typed: the page asks the shell, and the shell the system.
func TestFolderIsChosenWithTheSystemsChooser(t *testing.T) {
	d := screen.Start(t, screen.Options{})
	d.StartTrayHost()
	w := openWindow(t, d)
	d.Wait("the window", w.visible)
	w.waitPage(1)
	d.Wait("the first page", func() bool { return colours(t, d.Shoot("folder-1-first-run")) > 150 })
	press(t, d, "Tab", "Tab", "Return")
	// The ring around a whole field is longer than one around a button.
	d.Wait("the name of the agent", func() bool { return count(t, d.Shoot("folder-2-agent"), "1180x780+100+60", focusRing) > 1500 })
	press(t, d, "Tab", "Tab", "space")
	open := func() bool { return len(d.Windows("Choose a folder")) > 0 }
	d.Wait("the chooser", open)
	d.Shoot("folder-3-chooser")
	press(t, d, "Escape")
	d.Wait("the end of the chooser", func() bool { return !open() })
	press(t, d, "Tab", "Tab", "Return") // past Back to Start: what was proposed is kept
	d.Wait("the end of the first run", w.setUp)
	if _, err := os.Stat(filepath.Join(w.home, "workspace")); err != nil {
		t.Errorf("the proposed folder: %v", err)
	}
}

// setUp reports whether the first run is over.
func (w *window) setUp() bool {
	settings, err := os.ReadFile(filepath.Join(w.home, "config.json"))
	return err == nil && strings.Contains(string(settings), `"firstRunDone": true`)
}

// colours counts the colours of a picture; an empty page has few.
func colours(t *testing.T, picture string) int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "convert", picture, "-format", "%k", "info:").Output()
	if err != nil {
		t.Fatalf("count colours: %v", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// same takes the picture twice and reports whether the screen has come to rest, but for what counts seconds.
func same(t *testing.T, d *screen.Desktop, name string) bool {
	t.Helper()
	one := d.Shoot(name + "-before")
	two := d.Shoot(name)
	out, err := exec.CommandContext(t.Context(), "compare", "-metric", "AE", "-fuzz", "5%", one, two, "null:").CombinedOutput()
	if removed := os.Remove(one); removed != nil {
		t.Fatal(removed)
	}
	if err != nil && len(out) == 0 {
		t.Fatalf("compare pictures: %v", err)
	}
	different, err := strconv.ParseFloat(strings.Fields(string(out))[0], 64)
	return err == nil && different < 1500
}
