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
)

// folders names the registry key that Windows reads at login.
type folders struct{ key string }

func userFolders() (folders, error) { return folders{key: runKey}, nil }

// Apply makes the next login do what s says.
func (w *Switch) Apply(s Settings) error {
	return errors.Join(
		w.value("Countersign", s.Window, w.programs.windowArgv(s, true)),
		w.value("Countersign serve", s.Serve, w.programs.serveArgv(s, true)),
	)
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
