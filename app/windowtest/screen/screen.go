//go:build linux

// Package screen starts a private desktop for tests: an X server without a screen, a session bus, a window manager and
// an unlocked keychain, with a home of its own.
//
// It owns those processes and ends them with the test; nothing of the machine's own session is touched. It refuses to
// run where its programs are missing: build/deps.sh installs them. Only tests import it.
package screen

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// Options say what the desktop has.
type Options struct {
	// NoBus leaves the session bus out, NoKeychain the keychain.
	NoBus, NoKeychain bool
}

// Desktop is a running private desktop.
type Desktop struct {
	t       testing.TB
	Home    string
	Display string
	Bus     string // address, empty without a bus
	env     []string
}

// Start brings the desktop up and ends it with the test.
func Start(t testing.TB, o Options) *Desktop {
	t.Helper()
	d := prepare(t)
	d.startX()
	if !o.NoBus {
		d.startBus()
		if !o.NoKeychain {
			d.startKeychain()
		}
	} else {
		d.env = append(d.env, "DBUS_SESSION_BUS_ADDRESS=disabled:")
	}
	d.Start("openbox")
	return d
}

// StartBus brings up a session bus alone and returns its address.
func StartBus(t testing.TB) string {
	t.Helper()
	d := prepare(t)
	d.startBus()
	return d.Bus
}

func prepare(t testing.TB) *Desktop {
	t.Helper()
	d := &Desktop{t: t, Home: t.TempDir()}
	run := filepath.Join(d.Home, "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	d.env = []string{
		"HOME=" + d.Home, "XDG_RUNTIME_DIR=" + run, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"XDG_CONFIG_HOME=" + filepath.Join(d.Home, ".config"), "XDG_DATA_HOME=" + filepath.Join(d.Home, ".local/share"),
		"XDG_CACHE_HOME=" + filepath.Join(d.Home, ".cache"), "NO_AT_BRIDGE=1", "GDK_BACKEND=x11",
		"LIBGL_ALWAYS_SOFTWARE=1",
	}
	return d
}

// Env is the environment of a program on this desktop, with more settings after it.
func (d *Desktop) Env(more ...string) []string { return append(append([]string{}, d.env...), more...) }

// Command prepares a program on this desktop. It is killed with the test, its children too.
func (d *Desktop) Command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(d.t.Context(), name, args...)
	cmd.Env = d.Env()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Start runs a program in the background until the test ends.
func (d *Desktop) Start(name string, args ...string) *exec.Cmd {
	d.t.Helper()
	cmd := d.Command(name, args...)
	d.launch(cmd)
	return cmd
}

func (d *Desktop) launch(cmd *exec.Cmd) {
	d.t.Helper()
	if err := cmd.Start(); err != nil {
		d.t.Fatalf("start %s: %v (build/deps.sh installs what is missing)", cmd.Path, err)
	}
	d.t.Cleanup(func() {
		// A process that has ended already is what is wanted.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
}

// Output runs a program to its end and returns what it printed.
func (d *Desktop) Output(name string, args ...string) (string, error) {
	out, err := d.Command(name, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// startX lets the server choose a free display and tell which.
func (d *Desktop) startX() {
	d.t.Helper()
	cmd := d.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1400x900x24", "-nolisten", "tcp")
	d.Display = ":" + d.firstLine(cmd)
	d.env = append(d.env, "DISPLAY="+d.Display)
}

func (d *Desktop) startBus() {
	d.t.Helper()
	cmd := d.Command("dbus-daemon", "--session", "--nofork", "--print-address=3")
	d.Bus = d.firstLine(cmd)
	d.env = append(d.env, "DBUS_SESSION_BUS_ADDRESS="+d.Bus)
}

// firstLine starts the command and returns the first line it writes to file descriptor 3.
func (d *Desktop) firstLine(cmd *exec.Cmd) string {
	d.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		d.t.Fatal(err)
	}
	defer r.Close()
	cmd.ExtraFiles = []*os.File{w}
	d.launch(cmd)
	if err := w.Close(); err != nil {
		d.t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		d.t.Fatal(err)
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		d.t.Fatalf("%s did not come up: %v", cmd.Path, err)
	}
	return strings.TrimSpace(line)
}

// startKeychain unlocks a new keychain, with the password on standard input as the login manager would give it.
func (d *Desktop) startKeychain() {
	d.t.Helper()
	cmd := d.Command("gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets")
	cmd.Stdin = strings.NewReader("test")
	d.launch(cmd)
	conn := d.Connect()
	d.Wait("the keychain", func() bool { return Owned(conn, "org.freedesktop.secrets") })
}

// Connect opens a connection to the session bus, closed with the test.
func (d *Desktop) Connect() *dbus.Conn {
	d.t.Helper()
	conn, err := dbus.Connect(d.Bus)
	if err != nil {
		d.t.Fatalf("connect to the private bus: %v", err)
	}
	d.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Owned reports whether somebody answers to a name on the bus.
func Owned(conn *dbus.Conn, name string) bool {
	var owned bool
	err := conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, name).Store(&owned)
	return err == nil && owned
}

// Wait asks again and again, for at most half a minute, until ok says yes.
func (d *Desktop) Wait(what string, ok func() bool) {
	d.t.Helper()
	if !Until(d.t.Context(), 30*time.Second, ok) {
		d.t.Fatalf("%s did not come within 30 s", what)
	}
}

// Until asks ten times a second until ok says yes; false when the time is over.
func Until(ctx context.Context, within time.Duration, ok func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return ok()
		case <-tick.C:
		}
	}
	return true
}

// Windows lists the visible windows whose title matches a pattern, by number.
func (d *Desktop) Windows(title string) []string {
	// xdotool fails when there is none.
	out, err := d.Output("xdotool", "search", "--onlyvisible", "--name", title)
	if err != nil {
		return nil
	}
	return strings.Fields(out)
}

// Shoot saves a picture of the whole screen where the gallery is wanted, else in the test's folder, and returns its
// path.
func (d *Desktop) Shoot(name string) string {
	d.t.Helper()
	dir := os.Getenv("COUNTERSIGN_GALLERY")
	if dir == "" {
		dir = d.t.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		d.t.Fatal(err)
	}
	path := filepath.Join(dir, name+".png")
	if out, err := d.Output("import", "-window", "root", path); err != nil {
		d.t.Fatalf("take a picture: %v: %s", err, out)
	}
	return path
}

// Say passes what a program prints to the test's log.
func (d *Desktop) Say(name string, r io.Reader) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		d.t.Logf("%s: %s", name, lines.Text())
	}
}

// Alive lists processes of this desktop whose command line holds text, as "pid command". They are recognised by their
// home, so that the machine's own are never meant.
func (d *Desktop) Alive(text string) []string {
	d.t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		d.t.Fatal(err)
	}
	var out []string
	for _, dir := range entries {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !strings.Contains(string(env), "HOME="+d.Home+"\x00") {
			continue
		}
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || len(line) == 0 {
			continue
		}
		command := strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ")
		if strings.Contains(command, text) {
			out = append(out, fmt.Sprintf("%s %s", filepath.Base(dir), command))
		}
	}
	return out
}
