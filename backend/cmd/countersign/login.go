package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"countersign/backend/autostart"
	"countersign/backend/config"
	"countersign/backend/protocol"
)

// loginState is what --at-login prints: what the settings say, and what the system
// reads at login.
type loginState struct {
	Serve   bool              `json:"serve"`
	Window  bool              `json:"window"`
	Restart bool              `json:"restart"`
	Entries autostart.Entries `json:"entries"`
}

// atLogin switches the start at login on or off, or tells how it is.
func atLogin(cmd *cobra.Command, g *globals, word string) error {
	dir, err := g.dir()
	if err != nil {
		return err
	}
	login, err := autostart.New()
	if err != nil {
		return err
	}
	var s config.Startup
	switch word {
	case "status":
		s, _, err = startup(cmd.Context(), g, dir)
	case "on", "off":
		if s, err = setServeAtLogin(cmd.Context(), g, dir, word == "on"); err == nil {
			// Also where the setting was so before: its entry may be gone.
			err = login.Apply(autostart.For(s, dir))
		}
	default:
		err = fmt.Errorf("--at-login takes on, off or status, and not %q", word)
	}
	if err != nil {
		return err
	}
	out := loginState{Serve: s.ServeAtLogin, Window: s.OpenAtLogin, Restart: s.RestartAfterCrash}
	if out.Entries, err = login.Entries(); err != nil {
		return err
	}
	return show(cmd, g, out, out.print)
}

func (s loginState) print(w io.Writer) {
	switch {
	case !s.Serve && s.Entries.Serve == "":
		fmt.Fprintln(w, "Off: the host without a window does not start when you log in.")
	case !s.Serve:
		fmt.Fprintf(w, "The settings say off, but %s still starts it. Set it to off once more.\n", s.Entries.Serve)
	case s.Entries.Serve == "":
		fmt.Fprintln(w, "The settings say on, but nothing starts it when you log in. Set it to on once more.")
	default:
		fmt.Fprintf(w, "On: the host without a window starts when you log in (%s).\n", s.Entries.Serve)
		if s.Window {
			fmt.Fprintln(w, "The window is set to start at login as well, and only one of them can run on the same data.")
		}
	}
}

// startup reads the settings from the running host, or from their file where none
// runs.
func startup(ctx context.Context, g *globals, dir string) (s config.Startup, running bool, err error) {
	told, err := ask[protocol.Settings](ctx, g, reading(), protocol.MethodSettingsGet, protocol.Empty{})
	if !errors.Is(err, errNoHost) {
		return config.Startup(told.Startup), true, err
	}
	file, _, err := config.Load(dir)
	if err != nil {
		return s, false, err
	}
	return file.Current().Startup, false, nil
}

// setServeAtLogin changes the file of the settings. A running host holds it, and
// takes such a change only from its own page.
func setServeAtLogin(ctx context.Context, g *globals, dir string, on bool) (config.Startup, error) {
	s, running, err := startup(ctx, g, dir)
	if err != nil || s.ServeAtLogin == on {
		return s, err
	}
	if running {
		return s, fmt.Errorf("a Countersign runs on %s; switch this in its Settings → Startup, or stop it first", dir)
	}
	file, _, err := config.Load(dir)
	if err != nil {
		return s, err
	}
	after, err := file.Update(ctx, func(c *config.Config) error {
		c.Startup.ServeAtLogin = on
		return nil
	})
	return after.Startup, err
}
