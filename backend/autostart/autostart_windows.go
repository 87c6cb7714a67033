package autostart

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/windows/registry"
)

const (
	exeSuffix = ".exe"
	runKey    = `Software\Microsoft\Windows\CurrentVersion\Run`
	// The names of the values; the installer removes the same.
	windowValue = "Countersign"
	serveValue  = "Countersign serve"
)

// folders names the registry key that Windows reads at login.
type folders struct{ key string }

func userFolders() (folders, error) { return folders{key: runKey}, nil }

// Apply makes the next login do what s says.
func (w *Switch) Apply(s Settings) error {
	return errors.Join(
		w.value(windowValue, s.Window, w.programs.windowArgv(s, true)),
		w.value(serveValue, s.Serve, w.programs.serveArgv(s, true)),
	)
}

// Entries says what the next login does.
func (w *Switch) Entries() (Entries, error) {
	key, err := registry.OpenKey(registry.CURRENT_USER, w.dirs.key, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return Entries{}, nil
	}
	if err != nil {
		return Entries{}, fmt.Errorf("open the Run key: %w", err)
	}
	defer key.Close()
	at := func(name string) string {
		if _, _, err := key.GetStringValue(name); err != nil {
			return ""
		}
		return `HKCU\` + w.dirs.key + `\` + name
	}
	return Entries{Window: at(windowValue), Serve: at(serveValue)}, nil
}

func (w *Switch) value(name string, on bool, argv []string) error {
	key, _, err := registry.CreateKey(registry.CURRENT_USER, w.dirs.key, registry.SET_VALUE)
	if err != nil {
		return fmt.Errorf("open the Run key: %w", err)
	}
	defer key.Close()
	if !on {
		if err := key.DeleteValue(name); err != nil && !errors.Is(err, registry.ErrNotExist) {
			return fmt.Errorf("remove login entry: %w", err)
		}
		return nil
	}
	if err := clean(argv); err != nil {
		return err
	}
	line := ""
	for i, arg := range argv {
		if i > 0 {
			line += " "
		}
		line += syscall.EscapeArg(arg)
	}
	if err := key.SetStringValue(name, line); err != nil {
		return fmt.Errorf("write login entry: %w", err)
	}
	return nil
}
