package autostart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const exeSuffix = ""

// folders is where login entries lie.
type folders struct{ agents string }

func userFolders() (folders, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return folders{}, fmt.Errorf("find your home folder: %w", err)
	}
	return folders{agents: filepath.Join(home, "Library", "LaunchAgents")}, nil
}

// Apply makes the next login do what s says.
func (w *Switch) Apply(s Settings) error {
	return errors.Join(
		w.agent("app.countersign.desktop", s.Window, w.programs.windowArgv(s, false), s.Restart),
		w.agent("app.countersign.serve", s.Serve, w.programs.serveArgv(s, false), s.Restart),
	)
}

// Entries says what the next login does.
func (w *Switch) Entries() (Entries, error) {
	return Entries{Window: present(w.plist("app.countersign.desktop")), Serve: present(w.plist("app.countersign.serve"))}, nil
}

func (w *Switch) plist(label string) string { return filepath.Join(w.dirs.agents, label+".plist") }

// agent writes a LaunchAgent; launchd itself restarts what did not end well.
func (w *Switch) agent(label string, on bool, argv []string, restart bool) error {
	path := w.plist(label)
	if !on {
		return remove(path)
	}
	if err := clean(argv); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` +
		"\n<plist version=\"1.0\"><dict>\n<key>Label</key><string>" + label + "</string>\n<key>ProgramArguments</key><array>\n")
	for _, arg := range argv {
		b.WriteString("<string>")
		if err := xml.EscapeText(&b, []byte(arg)); err != nil {
			return fmt.Errorf("write login entry: %w", err)
		}
		b.WriteString("</string>\n")
	}
	b.WriteString("</array>\n<key>RunAtLoad</key><true/>\n")
	if restart {
		b.WriteString("<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>\n")
	}
	b.WriteString("</dict></plist>\n")
	return write(path, b.String())
}
