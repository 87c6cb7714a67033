package autostart

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const exeSuffix = ""

// folders is where login entries lie.
type folders struct {
	config string
	// systemd says that the system reads user units.
	systemd bool
}

func userFolders() (folders, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return folders{}, fmt.Errorf("find your settings folder: %w", err)
	}
	// The folder says that systemd runs the system; see sd_booted(3).
	return folders{config: dir, systemd: exists("/run/systemd/system")}, nil
}

func (d folders) entry() string { return filepath.Join(d.config, "autostart", "countersign.desktop") }
func (d folders) serveEntry() string {
	return filepath.Join(d.config, "autostart", "countersign-serve.desktop")
}
func (d folders) unit() string {
	return filepath.Join(d.config, "systemd", "user", "countersign-login.service")
}
func (d folders) wanted() string {
	return filepath.Join(d.config, "systemd", "user", "default.target.wants", "countersign-login.service")
}

// Apply makes the next login do what s says.
func (w *Switch) Apply(s Settings) error { return errors.Join(w.window(s), w.serve(s)) }

// Entries says what the next login does.
func (w *Switch) Entries() (Entries, error) {
	out := Entries{Window: present(w.dirs.entry()), Serve: present(w.dirs.wanted())}
	if out.Serve == "" {
		out.Serve = present(w.dirs.serveEntry())
	}
	return out, nil
}

// window uses an autostart entry rather than a unit, for only the desktop knows when there is a screen. Desktops do not
// restart what they started, so a guard does.
func (w *Switch) window(s Settings) error {
	if !s.Window {
		return remove(w.dirs.entry())
	}
	argv := w.programs.windowArgv(s, true)
	if err := clean(argv); err != nil {
		return err
	}
	return write(w.dirs.entry(), desktopEntry("Opens Countersign in the tray", argv))
}

func desktopEntry(comment string, argv []string) string {
	return "[Desktop Entry]\nType=Application\nName=Countersign\nComment=" + comment + "\n" +
		"Exec=" + desktopExec(argv) + "\nIcon=countersign\nTerminal=false\nX-GNOME-Autostart-enabled=true\n"
}

// serve is a systemd user unit where systemd is, since it needs no screen and is restarted; else an autostart entry.
func (w *Switch) serve(s Settings) error {
	if !s.Serve || w.dirs.systemd {
		if err := remove(w.dirs.serveEntry()); err != nil {
			return err
		}
	}
	if !s.Serve || !w.dirs.systemd {
		if err := errors.Join(remove(w.dirs.wanted()), remove(w.dirs.unit())); err != nil {
			return err
		}
	}
	switch {
	case !s.Serve:
		return nil
	case w.dirs.systemd:
		return w.serveUnit(s)
	}
	argv := w.programs.serveArgv(s, true)
	if err := clean(argv); err != nil {
		return err
	}
	return write(w.dirs.serveEntry(), desktopEntry("Runs Countersign without a window", argv))
}

// serveUnit writes a systemd user unit, enabled by the link that systemctl would make.
func (w *Switch) serveUnit(s Settings) error {
	argv := w.programs.serveArgv(s, false)
	if err := clean(argv); err != nil {
		return err
	}
	restart := "no"
	if s.Restart {
		restart = "on-failure"
	}
	unit := "[Unit]\nDescription=Countersign without a window\nStartLimitIntervalSec=300\nStartLimitBurst=5\n\n" +
		"[Service]\nExecStart=" + unitExec(argv) + "\nRestart=" + restart + "\nRestartSec=2\nUMask=0077\n\n" +
		"[Install]\nWantedBy=default.target\n"
	if err := write(w.dirs.unit(), unit); err != nil {
		return err
	}
	if target, err := os.Readlink(w.dirs.wanted()); err == nil && target == w.dirs.unit() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(w.dirs.wanted()), 0o755); err != nil {
		return fmt.Errorf("enable login unit: %w", err)
	}
	if err := remove(w.dirs.wanted()); err != nil {
		return err
	}
	if err := os.Symlink(w.dirs.unit(), w.dirs.wanted()); err != nil {
		return fmt.Errorf("enable login unit: %w", err)
	}
	return nil
}

// desktopExec quotes by the rules of the desktop entry specification: quotes and backslashes inside double quotes, then
// once more for the file, and a doubled percent sign.
func desktopExec(argv []string) string {
	inner := strings.NewReplacer(`\`, `\\\\`, `"`, `\\"`, "`", "\\\\`", `$`, `\\$`, `%`, `%%`)
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = `"` + inner.Replace(arg) + `"`
	}
	return strings.Join(out, " ")
}

// unitExec quotes by the rules of systemd's command lines.
func unitExec(argv []string) string {
	inner := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`)
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = `"` + inner.Replace(arg) + `"`
	}
	return strings.Join(out, " ")
}
