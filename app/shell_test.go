package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/app/notify"
	"countersign/app/traymsg"
)

// fakeDesktop remembers what was asked of the window system and answers Ask as told.
type fakeDesktop struct {
	mu   sync.Mutex
	did  []string
	keep bool
}

func (d *fakeDesktop) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.did = append(d.did, what)
}

func (d *fakeDesktop) all() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.did, " ")
}

func (d *fakeDesktop) Show()     { d.note("show") }
func (d *fakeDesktop) Hide()     { d.note("hide") }
func (d *fakeDesktop) Minimise() { d.note("minimise") }
func (d *fakeDesktop) Quit()     { d.note("quit") }
func (d *fakeDesktop) Exec(string) {
}
func (d *fakeDesktop) Emit(name string, data ...any) { d.note(fmt.Sprint(name, data)) }
func (d *fakeDesktop) Ask(string, string) bool       { d.note("ask"); return !d.keep }
func (d *fakeDesktop) ChooseFolder(title string) (string, error) {
	d.note("choose:" + title)
	return "/home/sam/Documents", nil
}
func (d *fakeDesktop) Tell(_ string, message string) { d.note("tell:" + message) }

// fakeNotes keeps what is on screen.
type fakeNotes struct {
	mu     sync.Mutex
	broken bool
	shown  map[string]int // how often each key was shown
	closed []string
}

func (f *fakeNotes) Show(_ context.Context, n notify.Notification) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return notify.ErrUnavailable
	}
	f.shown[n.Key]++
	return nil
}

func (f *fakeNotes) Close(_ context.Context, key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = append(f.closed, key)
	return nil
}

func (f *fakeNotes) Stop() {}

// fakeHost decides whatever it is asked, or refuses.
type fakeHost struct {
	views chan View
	mu    sync.Mutex
	did   []string
	err   error
}

func (h *fakeHost) Serve(ctx context.Context, t Transport) error { return echo(ctx, t) }
func (h *fakeHost) Views() <-chan View                           { return h.views }
func (h *fakeHost) Close(context.Context) error                  { close(h.views); return nil }

func (h *fakeHost) Decide(_ context.Context, id, nonce string, allow bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.did = append(h.did, fmt.Sprint(id, nonce, allow))
	return h.err
}

func (h *fakeHost) SetPaused(_ context.Context, paused bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.did = append(h.did, fmt.Sprint("paused ", paused))
	return h.err
}

func (h *fakeHost) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.did, " ")
}

type never map[string]bool

func (n never) First(what string) bool {
	first := !n[what]
	n[what] = true
	return first
}

type rig struct {
	*shell
	desk  *fakeDesktop
	notes *fakeNotes
	host  *fakeHost
}

// newRig is a shell with everything around it faked; no helper is started.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{desk: &fakeDesktop{}, notes: &fakeNotes{shown: map[string]int{}}, host: &fakeHost{views: make(chan View)}}
	r.shell = newShell(slog.New(slog.DiscardHandler), "/nonexistent",
		func(func(string)) notify.Notifier { return r.notes }, never{})
	r.win = r.desk
	r.serve(r.host)
	t.Cleanup(r.end)
	return r
}

func (r *rig) look(waiting ...traymsg.Waiting) {
	r.host.views <- View{Menu: traymsg.Menu{Waiting: waiting}}
	synctest.Wait()
}

func TestClosingTheWindow(t *testing.T) {
	for name, tc := range map[string]struct {
		watcher, keep, quitting bool
		wantAlive               bool
		want                    string
	}{
		"with a tray":                      {watcher: true, wantAlive: true, want: "hide"},
		"without a tray, to keep running":  {keep: true, wantAlive: true, want: "ask minimise"},
		"without a tray, to quit":          {want: "ask"},
		"after Quit, with a tray":          {watcher: true, quitting: true},
		"after Quit, without a tray":       {quitting: true},
		"no tray is asked about each time": {keep: true, wantAlive: true, want: "ask minimise"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.desk.keep, r.watcher, r.quitting = tc.keep, tc.watcher, tc.quitting
			if got := r.beforeClose(); got != tc.wantAlive {
				t.Errorf("%s: stays alive %t, want %t", name, got, tc.wantAlive)
			}
			if got := r.desk.all(); got != tc.want {
				t.Errorf("%s: did %q, want %q", name, got, tc.want)
			}
		})
	}
}

func TestHiddenWindowComesBackWhenTheTrayIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.watching(true)
		r.beforeClose()
		r.watching(false)
		<-time.After(lostTrayGrace / 2)
		r.watching(true) // the panel was only restarted
		<-time.After(lostTrayGrace)
		if got := r.desk.all(); got != "hide" {
			t.Errorf("a panel that restarts: %q", got)
		}
		r.watching(false)
		<-time.After(lostTrayGrace + time.Second)
		if got := r.desk.all(); got != "hide show" {
			t.Errorf("a panel that stays away: %q", got)
		}
	})
}

func TestMissingTrayIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.watching(false)
		r.watching(false)
		<-time.After(lostTrayGrace)
		synctest.Wait()
		if got := r.notes.shown["no tray"]; got != 1 {
			t.Errorf("said %d times", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.watching(false)
		r.watching(true) // the panel came up while we started
		<-time.After(lostTrayGrace)
		synctest.Wait()
		if got := r.notes.shown["no tray"]; got != 0 {
			t.Errorf("said %d times of a tray that is there", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.notes.broken = true
		r.watching(false)
		<-time.After(lostTrayGrace)
		synctest.Wait()
		if got := r.desk.all(); got != "tell:"+saysNoTray {
			t.Errorf("without notifications: %q, want a dialog", got)
		}
	})
}

func TestNotificationStaysUntilDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a, b := traymsg.Waiting{ID: "a", What: "ls"}, traymsg.Waiting{ID: "b", What: "ls"}
		r.look(a)
		r.look(a, b)
		r.look(a, b)
		if r.notes.shown["a"] != 1 || r.notes.shown["b"] != 1 || len(r.notes.closed) != 0 {
			t.Errorf("shown %v, closed %v", r.notes.shown, r.notes.closed)
		}
		r.look(b)
		r.look()
		if got := strings.Join(r.notes.closed, " "); got != "a b" {
			t.Errorf("closed %q, want a b", got)
		}
	})
}

func TestTrayMayAnswerOnlyWhatItWasTold(t *testing.T) {
	waiting := []traymsg.Waiting{
		{ID: "a", Nonce: "1", What: "ls"},
		{ID: "risky", Nonce: "2", What: "rm", HighRisk: true},
	}
	for name, tc := range map[string]struct {
		click      traymsg.Click
		host, desk string
	}{
		"allow":               {traymsg.Click{Kind: traymsg.Allow, ID: "a", Nonce: "1"}, "a1true", ""},
		"deny":                {traymsg.Click{Kind: traymsg.Deny, ID: "a", Nonce: "1"}, "a1false", ""},
		"another nonce":       {traymsg.Click{Kind: traymsg.Allow, ID: "a", Nonce: "0"}, "", ""},
		"another id":          {traymsg.Click{Kind: traymsg.Allow, ID: "x", Nonce: "1"}, "", ""},
		"allow high risk":     {traymsg.Click{Kind: traymsg.Allow, ID: "risky", Nonce: "2"}, "", "show show-approval[risky]"},
		"deny high risk":      {traymsg.Click{Kind: traymsg.Deny, ID: "risky", Nonce: "2"}, "risky2false", ""},
		"show":                {traymsg.Click{Kind: traymsg.Show, ID: "a"}, "", "show show-approval[a]"},
		"open":                {traymsg.Click{Kind: traymsg.Open}, "", "show"},
		"quit":                {traymsg.Click{Kind: traymsg.Quit}, "", "quit"},
		"pause":               {traymsg.Click{Kind: traymsg.Pause}, "paused true", ""},
		"resume":              {traymsg.Click{Kind: traymsg.Resume}, "paused false", ""},
		"something of itself": {traymsg.Click{Kind: "format"}, "", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.look(waiting...)
			r.clicked(tc.click)
			synctest.Wait()
			if got := r.host.all(); got != tc.host {
				t.Errorf("%s: the host was asked %q, want %q", name, got, tc.host)
			}
			if got := r.desk.all(); got != tc.desk {
				t.Errorf("%s: the window did %q, want %q", name, got, tc.desk)
			}
		})
	}
}

func TestRefusedDecisionIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.host.err = errors.New("decided elsewhere")
		r.look(traymsg.Waiting{ID: "a", Nonce: "1", What: "ls"})
		r.clicked(traymsg.Click{Kind: traymsg.Allow, ID: "a", Nonce: "1"})
		synctest.Wait()
		if r.notes.shown["decision"] != 1 || r.desk.all() != "show show-approval[a]" {
			t.Errorf("notes %v, window %q", r.notes.shown, r.desk.all())
		}
	})
}

func TestDeadPageStartsTheWindowAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.beat.beat()
		r.work.Go(r.guardPage)
		<-time.After(beatMissing + 2*beatEvery)
		if !r.restarting() || r.desk.all() != "quit" {
			t.Errorf("restarting %t, window %q", r.restarting(), r.desk.all())
		}
	})
}

func TestShowBeforeTheWindowExistsIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.win = nil
		r.show()
		r.begin(r.desk, true)
		synctest.Wait()
		if got := r.desk.all(); !strings.HasPrefix(got, "show") {
			t.Errorf("did %q, want show first", got)
		}
	})
}

func TestWhatWasSaidIsRemembered(t *testing.T) {
	dir := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	if !newSaid(dir, log).First("a") || !newSaid(dir, log).First("b") {
		t.Error("new things count as said")
	}
	if newSaid(dir, log).First("a") {
		t.Error("a is said twice")
	}
}

func TestThePageGetsAPathFromTheSystemsChooserAndNothingElse(t *testing.T) {
	r := newRig(t)
	path, err := r.page.ChooseFolder()
	if err != nil || path != "/home/sam/Documents" || r.desk.all() != "choose:"+asksFolder {
		t.Errorf("chose %q, %v; the desktop was asked to %s", path, err, r.desk.all())
	}
	windowless := newShell(slog.New(slog.DiscardHandler), "/nonexistent", func(func(string)) notify.Notifier { return r.notes }, never{})
	t.Cleanup(windowless.end)
	if path, err := windowless.page.ChooseFolder(); !errors.Is(err, errClosing) || path != "" {
		t.Errorf("without a window it answers %q, %v", path, err)
	}
}
