//go:build desktop_e2e

package windowtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/app/windowtest/screen"
)

// window is the built program on a private desktop.
type window struct {
	t    *testing.T
	d    *screen.Desktop
	home string
	cmd  *exec.Cmd
	said *bytes.Buffer
	done chan error
}

// openWindow starts the program and waits until its window is there and its host answers.
func openWindow(t *testing.T, d *screen.Desktop, args ...string) *window {
	t.Helper()
	w := &window{t: t, d: d, home: filepath.Join(d.Home, "data"), said: &bytes.Buffer{}, done: make(chan error, 1)}
	w.cmd = w.program(args...)
	w.cmd.Stdout, w.cmd.Stderr = w.said, w.said
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { w.done <- w.cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL)
		if t.Failed() {
			log, err := os.ReadFile(filepath.Join(w.home, "logs", "desktop.log"))
			t.Logf("the program said:\n%s\nits log (%v):\n%s", w.said, err, log)
		}
	})
	d.Wait("the host", func() bool { _, err := w.cli("sessions", "list"); return err == nil })
	return w
}

func (w *window) program(args ...string) *exec.Cmd {
	cmd := w.d.Command(program(w.t, "countersign-desktop"), args...)
	cmd.Env = w.d.Env("COUNTERSIGN_HOME=" + w.home)
	return cmd
}

// cli runs the command line against the window's host.
func (w *window) cli(args ...string) (string, error) {
	return w.cliInput("", args...)
}

func (w *window) cliInput(input string, args ...string) (string, error) {
	cmd := w.d.Command(program(w.t, "countersign"), args...)
	cmd.Env = w.d.Env("COUNTERSIGN_HOME=" + w.home)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *window) must(args ...string) string {
	w.t.Helper()
	out, err := w.cli(args...)
	if err != nil {
		w.t.Fatalf("countersign %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// asks has the agent ask for something; it parks, which the command line tells by status 3.
func (w *window) asks(text string) {
	w.t.Helper()
	out, err := w.cli("chat", text)
	if code := exitCode(err); code != 3 {
		w.t.Fatalf("chat %q ended with %d, want 3 (parked):\n%s", text, code, out)
	}
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	return -1
}

func (w *window) usePractice() {
	w.t.Helper()
	w.must("model", "add", "--name", "Practice", "--provider", "practice", "--no-key", "--default")
}

// waitPage waits until a page speaks with the host, which the log tells: the first page, or one after a restart.
func (w *window) waitPage(number int) {
	w.t.Helper()
	w.d.Wait("the page's line", func() bool {
		log, err := os.ReadFile(filepath.Join(w.home, "logs", "desktop.log"))
		return err == nil && bytes.Count(log, []byte(`"peer":"window"`)) >= number
	})
}

func (w *window) visible() bool { return len(w.d.Windows("^Countersign$")) > 0 }

func (w *window) waitEnd(within time.Duration) {
	w.t.Helper()
	select {
	case err := <-w.done:
		if err != nil {
			w.t.Errorf("the program ended by %v", err)
		}
	case <-time.After(within):
		w.t.Fatalf("the program is still there after %s", within)
	}
}

// closeByButton closes the window as the person would.
func (w *window) closeByButton() {
	w.t.Helper()
	ids := w.d.Windows("^Countersign$")
	if len(ids) == 0 {
		w.t.Fatal("no window to close")
	}
	if out, err := w.d.Output("xdotool", "windowactivate", "--sync", ids[0], "key", "--clearmodifiers", "alt+F4"); err != nil {
		w.t.Fatalf("close the window: %v: %s", err, out)
	}
}

func TestTrayApprovalChangesAFileOnDisk(t *testing.T) {
	d := screen.Start(t, screen.Options{})
	panel := d.StartTrayHost()
	notes := screen.StartNotes(t, d.Bus, "actions")
	w := openWindow(t, d)
	d.Wait("the window", w.visible)
	w.waitPage(1)
	w.usePractice()
	target := filepath.Join(w.home, "workspace", "notes.md")

	w.asks("write notes.md: hello from the tray")
	d.Wait("the state in the tray", func() bool { title, _ := panel.Title(); return strings.Contains(title, "(1)") })
	d.Wait("the notification", func() bool { return len(notes.Shown()) == 1 })
	if got := notes.Shown()[0]; got.Urgency != 2 || got.Expiry != 0 {
		t.Errorf("the notification does not stay: %+v", got)
	}
	d.Shoot("window-needs-you")
	if _, err := os.Stat(target); err == nil {
		t.Fatal("the file is there before anybody allowed it")
	}
	menu, err := panel.Menu()
	if err != nil {
		t.Fatal(err)
	}
	panel.Click(menu[0].Label, "Allow once")
	d.Wait("the file", func() bool {
		content, err := os.ReadFile(target)
		return err == nil && strings.Contains(string(content), "hello from the tray")
	})
	d.Wait("the notification's end", func() bool { return len(notes.Shown()) == 0 })
	d.Wait("the quiet tray", func() bool { title, _ := panel.Title(); return title == "Countersign" })
	if out := w.must("receipts", "verify"); out == "" {
		t.Error("receipts verify says nothing")
	}
	d.Shoot("window-after-approval")
}

func TestTrayComesBackWhenKilled(t *testing.T) {
	d := screen.Start(t, screen.Options{NoKeychain: true})
	panel := d.StartTrayHost()
	w := openWindow(t, d)
	d.Wait("the icon", func() bool { return panel.Registrations() == 1 })
	w.usePractice()
	w.asks("write a.md: x")
	d.Wait("the approval in the tray", func() bool { _, ok := panel.Find("Open Countersign"); return ok && titled(panel, "(1)") })
	helpers := d.Alive("countersign-tray")
	if len(helpers) != 1 {
		t.Fatalf("helpers: %v, want one", helpers)
	}
	pid, err := strconv.Atoi(strings.Fields(helpers[0])[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	d.Wait("the next icon", func() bool { return panel.Registrations() == 2 })
	d.Wait("what waits, in the next icon", func() bool { return titled(panel, "(1)") })
	// The window lives, and its tray quits it.
	panel.Click("Quit")
	w.waitEnd(20 * time.Second)
	if left := d.Alive("ountersign"); len(left) > 0 {
		t.Errorf("left behind by Quit: %v", left)
	}
	if left := d.Alive("WebKit"); len(left) > 0 {
		t.Errorf("left behind by Quit: %v", left)
	}
}

func titled(panel *screen.TrayHost, part string) bool {
	title, _ := panel.Title()
	return strings.Contains(title, part)
}

func TestSecondStartRaisesTheHiddenWindow(t *testing.T) {
	d := screen.Start(t, screen.Options{NoKeychain: true})
	panel := d.StartTrayHost()
	w := openWindow(t, d)
	d.Wait("the window", w.visible)
	d.Wait("the icon", func() bool { return panel.Registrations() > 0 })
	w.closeByButton()
	d.Wait("the window to hide", func() bool { return !w.visible() })
	w.must("sessions", "list") // hidden is not ended
	began := time.Now()
	second := w.program()
	out, err := second.CombinedOutput()
	if err != nil {
		t.Fatalf("the second start ended by %v:\n%s", err, out)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the second start took %s", took)
	}
	d.Wait("the raised window", w.visible)
	if n := len(d.Windows("^Countersign$")); n != 1 {
		t.Errorf("%d windows, want 1", n)
	}
	w.closeByButton()
	d.Wait("the window to hide again", func() bool { return !w.visible() })
	panel.Click("Open Countersign")
	d.Wait("the window from the tray", w.visible)
}

func TestWithoutATrayClosingAsksAndQuitIsReachable(t *testing.T) {
	d := screen.Start(t, screen.Options{NoKeychain: true})
	notes := screen.StartNotes(t, d.Bus)
	w := openWindow(t, d)
	d.Wait("the window", w.visible)
	d.Wait("word of the missing tray", func() bool { return notes.Ever() == 1 })
	w.closeByButton()
	d.Wait("the question", w.asked)
	d.Shoot("window-close-without-tray")
	// Enter keeps it running: a hasty answer loses nothing.
	press(t, d, "Return")
	d.Wait("the minimised window", func() bool { return !w.visible() })
	w.must("sessions", "list")
	if out, err := w.program().CombinedOutput(); err != nil {
		t.Fatalf("the second start ended by %v: %s", err, out)
	}
	d.Wait("the window again", w.visible)
	w.closeByButton()
	d.Wait("the question again", w.asked)
	press(t, d, "alt+y")
	w.waitEnd(20 * time.Second)
}

// asked reports whether a dialog stands beside the window.
func (w *window) asked() bool {
	out, err := w.d.Output("xdotool", "search", "--onlyvisible", "--class", "countersign")
	return err == nil && len(strings.Fields(out)) > 1
}

func press(t *testing.T, d *screen.Desktop, keys ...string) {
	t.Helper()
	if out, err := d.Output("xdotool", append([]string{"key", "--clearmodifiers"}, keys...)...); err != nil {
		t.Fatalf("press %v: %v: %s", keys, err, out)
	}
}

func TestDeadPageIsReplaced(t *testing.T) {
	d := screen.Start(t, screen.Options{NoKeychain: true})
	panel := d.StartTrayHost()
	w := openWindow(t, d)
	d.Wait("the window", w.visible)
	d.Wait("the icon", func() bool { return panel.Registrations() > 0 })
	w.waitPage(1)
	pages := d.Alive("WebKitWebProcess")
	if len(pages) != 1 {
		t.Fatalf("page processes: %v, want one", pages)
	}
	pid, err := strconv.Atoi(strings.Fields(pages[0])[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !screen.Until(t.Context(), 60*time.Second, func() bool {
		now := d.Alive("WebKitWebProcess")
		return len(now) == 1 && !strings.HasPrefix(now[0], strconv.Itoa(pid)+" ")
	}) {
		t.Fatal("no new page within a minute")
	}
	d.Wait("the host again", func() bool { _, err := w.cli("sessions", "list"); return err == nil })
	d.Wait("the window again", w.visible)
	w.waitPage(2)
	d.Wait("the icon again", func() bool { return panel.Registrations() > 1 })
	d.Shoot("window-after-restart")
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.waitEnd(20 * time.Second)
}

func TestKeyLandsInTheSecretService(t *testing.T) {
	d := screen.Start(t, screen.Options{})
	w := openWindow(t, d)
	const canary = "sk-canary-3f9d1c"
	out, err := w.cliInput(canary+"\n", "model", "add", "--name", "Mine", "--provider", "openai",
		"--base-url", "http://127.0.0.1:9", "--model", "m", "--key-stdin")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := d.Output("secret-tool", "search", "--all", "--unlock", "service", "Countersign")
	if err != nil || !strings.Contains(got, canary) {
		t.Errorf("another program reads %v: %s", err, got)
	}
	err = filepath.WalkDir(w.home, func(p string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(p)
		if bytes.Contains(content, []byte(canary)) {
			t.Errorf("the key stands in %s", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRealPanelShowsTheIcon(t *testing.T) {
	d := screen.Start(t, screen.Options{NoKeychain: true})
	conn := d.Connect()
	panel := d.Command("xfce4-panel", "--disable-wm-check")
	panel.Env = d.Env("XFCE_PANEL_MIGRATE_DEFAULT=1")
	if err := panel.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-panel.Process.Pid, syscall.SIGKILL); _ = panel.Wait() })
	d.Wait("the panel's tray", func() bool { return screen.Owned(conn, "org.kde.StatusNotifierWatcher") })
	w := openWindow(t, d)
	d.Wait("the window", w.visible)
	w.usePractice()
	before := amber(t, d.Shoot("panel-idle"))
	w.asks("write a.md: x")
	d.Wait("the amber icon in the panel", func() bool { return amber(t, d.Shoot("panel-needs-you")) > before+20 })
}

// amber counts pixels of the colour that only "needs you" has, in the panel's strip at the top of the screen.
func amber(t *testing.T, picture string) int {
	t.Helper()
	return count(t, picture, "1400x28+0+0", "#f2a91c")
}

// count counts the pixels near a colour in a part of a picture.
func count(t *testing.T, picture, part, colour string) int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "convert", picture, "-crop", part, "-fuzz", "12%",
		"-fill", "white", "-opaque", colour, "-fuzz", "0%", "-fill", "black", "+opaque", "white",
		"-format", "%[fx:int(mean*w*h)]", "info:").Output()
	if err != nil {
		t.Fatalf("count pixels: %v", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
