// Package autostart keeps the switches for starting with the computer and after a crash.
//
// It owns the files or registry values that each system reads at login: an XDG autostart entry and a systemd user unit
// on Linux (a second entry where systemd is not), LaunchAgents on macOS, values of the Run key on Windows. It promises that Apply is repeatable, touches
// nothing but its own entries, and writes a file whole or not at all. It starts and stops nothing now: what it sets
// counts from the next login.
package autostart

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"countersign/backend/config"
)

// Settings are the switches.
type Settings struct {
	// Window opens the window, hidden in the tray, at login.
	Window bool
	// Serve runs the host without a window at login.
	Serve bool
	// Restart starts what began at login again when it ends by a fault.
	Restart bool
	// Home is the data directory, empty for the usual one.
	Home string
}

// For is what the owner's settings mean for a data directory. It is named only where it is not the usual one, so that
// the entries stay valid when the usual one moves.
func For(s config.Startup, home string) Settings {
	out := Settings{Window: s.OpenAtLogin, Serve: s.ServeAtLogin, Restart: s.RestartAfterCrash, Home: home}
	if usual, err := config.ConventionalDir(); err == nil && usual == home {
		out.Home = ""
	}
	return out
}

// Entries are the places in which the two programs are set to start at login; empty where one is not.
type Entries struct {
	Window string `json:"window,omitempty"`
	Serve  string `json:"serve,omitempty"`
}

// Switch sets what happens at login. It is safe for concurrent use as long as nobody else writes its entries.
type Switch struct {
	dirs     folders
	programs folder
}

// folder is where the programs lie.
type folder string

// New makes the switch for the programs that lie beside the running one.
func New() (*Switch, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	dirs, err := userFolders()
	if err != nil {
		return nil, err
	}
	return &Switch{dirs: dirs, programs: folder(filepath.Dir(self))}, nil
}

func (f folder) path(name string) string { return filepath.Join(string(f), name+exeSuffix) }

// windowArgv is the command that opens the window at login. Where the system does not restart programs itself, a guard
// does.
func (f folder) windowArgv(s Settings, guard bool) []string {
	argv := []string{f.path("countersign-desktop")}
	if guard && s.Restart {
		argv = append(argv, "--guard", "--", argv[0])
	}
	return withHome(append(argv, "--hidden"), s)
}

// serveArgv is the command that runs the host at login. The guard is part of the desktop program, which need not be
// there; without it nothing restarts the host.
func (f folder) serveArgv(s Settings, guard bool) []string {
	argv := []string{f.path("countersign")}
	desktop := f.path("countersign-desktop")
	if guard && s.Restart && exists(desktop) {
		argv = []string{desktop, "--guard", "--", argv[0]}
	}
	return withHome(append(argv, "serve"), s)
}

func withHome(argv []string, s Settings) []string {
	if s.Home == "" {
		return argv
	}
	return append(argv, "--home", s.Home)
}

// write puts content at path in one step, making the folders above it; it leaves an equal file alone.
func write(path, content string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == content {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make folder for login entry: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".countersign-*")
	if err != nil {
		return fmt.Errorf("write login entry: %w", err)
	}
	_, err = temp.WriteString(content)
	err = errors.Join(err, temp.Chmod(0o644), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write login entry %s: %w", path, err), os.Remove(temp.Name()))
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// present is path where something is there, else empty.
func present(path string) string {
	if exists(path) {
		return path
	}
	return ""
}

// remove deletes an entry; one that is not there is fine.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove login entry: %w", err)
	}
	return nil
}

// clean refuses what no entry can hold: a line break would begin a new setting.
func clean(argv []string) error {
	for _, arg := range argv {
		if strings.ContainsAny(arg, "\n\r\x00") {
			return fmt.Errorf("the path %q cannot be started at login: it holds a line break", arg)
		}
	}
	return nil
}
