//go:build desktop_e2e

package windowtest

import (
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"countersign/app/traymsg"
	"countersign/app/windowtest/screen"
)

// helperUnderTest is the tray helper alone, with this test as its window.
type helperUnderTest struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *traymsg.Writer
	lines chan traymsg.Line
	ended chan error
}

func startHelper(t *testing.T, d *screen.Desktop) *helperUnderTest {
	t.Helper()
	h := &helperUnderTest{cmd: d.Command(program(t, "countersign-tray")), lines: make(chan traymsg.Line, 100), ended: make(chan error, 1)}
	in, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.in, h.out = in, traymsg.NewWriter(in)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		r := traymsg.NewReader(out)
		for {
			l, err := r.Read()
			if err != nil {
				break
			}
			h.lines <- l
		}
		h.ended <- h.cmd.Wait()
	}()
	return h
}

func (h *helperUnderTest) next(t *testing.T, what string) traymsg.Line {
	t.Helper()
	select {
	case l := <-h.lines:
		return l
	case <-time.After(20 * time.Second):
		t.Fatalf("no %s within 20 s", what)
		panic("unreachable")
	}
}

func (h *helperUnderTest) tell(t *testing.T, lines ...traymsg.Line) {
	t.Helper()
	for _, l := range lines {
		if err := h.out.Write(l); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTrayHelperShowsEachStateByItsOwnPicture(t *testing.T) {
	d := screen.Start(t, screen.Options{NoKeychain: true})
	panel := d.StartTrayHost()
	h := startHelper(t, d)
	if l := h.next(t, "word of the tray"); l.Ready == nil || !l.Ready.Watcher {
		t.Fatalf("the helper says %+v, want a tray", l)
	}
	d.Wait("the icon", func() bool { return panel.Registrations() > 0 })
	seen := map[string]traymsg.Status{}
	for _, s := range traymsg.Statuses() {
		h.tell(t, traymsg.Line{State: &traymsg.State{State: s, Count: 3, Title: "It is " + string(s)}})
		d.Wait("the state "+string(s), func() bool { _, tip := panel.Title(); return tip == "It is "+string(s) })
		if title, _ := panel.Title(); !strings.Contains(title, "(3)") {
			t.Errorf("%s: title %q lacks the count", s, title)
		}
		if other, twice := seen[panel.Pixels()]; twice {
			t.Errorf("%s looks like %s", s, other)
		}
		seen[panel.Pixels()] = s
	}
}

func TestTrayHelperOffersAndRefuses(t *testing.T) {
	d := screen.Start(t, screen.Options{NoKeychain: true})
	panel := d.StartTrayHost()
	h := startHelper(t, d)
	h.next(t, "word of the tray")
	h.tell(t, traymsg.Line{Menu: &traymsg.Menu{Waiting: []traymsg.Waiting{
		{ID: "plain", Nonce: "n1", What: "ls my_file", Where: "/w"},
		{ID: "risky", Nonce: "n2", What: "rm -r /", HighRisk: true},
	}}})
	panel.Click("ls my_file", "Allow once")
	if l := h.next(t, "click"); l.Click == nil || *l.Click != (traymsg.Click{Kind: traymsg.Allow, ID: "plain", Nonce: "n1"}) {
		t.Errorf("Allow once sent %+v", l.Click)
	}
	if _, ok := panel.Find("rm -r /", "Allow once"); ok {
		t.Error("a question of high risk can be allowed from the tray")
	}
	// The library reports clicks on disabled rows; they must come to nothing. What follows them shows that they did.
	for _, path := range [][]string{{"ls my_file", "ls my_file"}, {"ls my_file", "in /w"}} {
		row, ok := panel.Find(path...)
		if !ok || row.Enabled {
			t.Fatalf("row %v: %+v, %t; want one that cannot be chosen", path, row, ok)
		}
		if err := panel.Choose(row); err != nil {
			t.Fatal(err)
		}
	}
	panel.Click("rm -r /", "Show")
	if l := h.next(t, "click"); l.Click == nil || l.Click.Kind != traymsg.Show || l.Click.ID != "risky" {
		t.Errorf("after clicks on disabled rows comes %+v", l.Click)
	}
	stale, ok := panel.Find("ls my_file", "Deny")
	if !ok {
		t.Fatal("there is no Deny")
	}
	h.tell(t, traymsg.Line{Menu: &traymsg.Menu{Waiting: []traymsg.Waiting{{ID: "other", Nonce: "n3", What: "pwd"}}}})
	d.Wait("the new menu", func() bool { _, ok := panel.Find("pwd", "Deny"); return ok })
	if err := panel.Choose(stale); err != nil {
		t.Logf("the click on a row that is gone: %v", err)
	}
	panel.Click("Pause agent")
	if l := h.next(t, "click"); l.Click == nil || l.Click.Kind != traymsg.Pause {
		t.Errorf("a click in a menu of before answers another question: %+v", l.Click)
	}
	if err := panel.Activate(); err != nil {
		t.Fatal(err)
	}
	if l := h.next(t, "click"); l.Click == nil || l.Click.Kind != traymsg.Open {
		t.Errorf("a click on the icon sent %+v", l.Click)
	}
}

func TestTrayHelperTellsWhenThePanelGoesAndComes(t *testing.T) {
	d := screen.Start(t, screen.Options{NoKeychain: true})
	h := startHelper(t, d)
	if l := h.next(t, "word of the tray"); l.Ready == nil || l.Ready.Watcher {
		t.Fatalf("without a panel: %+v", l)
	}
	panel := d.StartTrayHost()
	if l := h.next(t, "word of the panel"); l.Ready == nil || !l.Ready.Watcher {
		t.Fatalf("with a panel: %+v", l)
	}
	d.Wait("the icon", func() bool { return panel.Registrations() > 0 })
	panel.Stop()
	if l := h.next(t, "word that the panel is gone"); l.Ready == nil || l.Ready.Watcher {
		t.Fatalf("after the panel: %+v", l)
	}
	again := d.StartTrayHost()
	h.next(t, "word of the next panel")
	d.Wait("the icon on the next panel", func() bool { return again.Registrations() > 0 })
}

func TestTrayHelperEndsWithItsInput(t *testing.T) {
	for name, o := range map[string]screen.Options{"with a bus": {NoKeychain: true}, "without a bus": {NoBus: true}} {
		t.Run(name, func(t *testing.T) {
			d := screen.Start(t, o)
			h := startHelper(t, d)
			if l := h.next(t, "word of the tray"); l.Ready == nil || l.Ready.Watcher {
				t.Fatalf("without a panel: %+v", l)
			}
			if err := h.in.Close(); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-h.ended:
				if err != nil {
					t.Errorf("it ended by %v", err)
				}
			case <-time.After(5 * time.Second):
				t.Error("it stays after its input has ended")
			}
		})
	}
}
