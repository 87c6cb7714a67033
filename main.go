// Command countersign-desktop is Countersign's native window, with the whole host inside it.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"countersign/app"
	"countersign/backend/config"
	"countersign/frontend"
)

// version is set by the linker.
var version = "dev"

//go:embed build/linux/icons/hicolor/128x128/apps/countersign.png
var icon []byte

func main() {
	flags, err := app.ParseFlags(os.Args[1:], os.Stderr)
	switch {
	case err != nil:
		os.Exit(2)
	case flags.Version:
		fmt.Println("countersign-desktop", version)
	case flags.Guard != nil:
		os.Exit(app.Guard(slog.New(slog.NewTextHandler(os.Stderr, nil)), flags.Guard))
	default:
		if err := run(flags); err != nil {
			fmt.Fprintln(os.Stderr, "countersign:", err)
			os.Exit(1)
		}
	}
}

// run opens nothing but the log by itself: the host opens once the window exists.
func run(flags app.Flags) error {
	home, err := config.Dir(flags.Home)
	if err != nil {
		return err
	}
	log, logFile, err := app.OpenLog(home, slog.LevelInfo)
	if err != nil {
		return err
	}
	outcome, err := app.Run(app.Options{
		Home: home, Page: frontend.Dist(), Icon: icon, Logger: log, Version: version, Hidden: flags.Hidden,
		Open: app.OpenHost(home, version, frontend.Dist(), log), Raise: app.RaiseWindow(home, version),
	})
	if outcome == app.Restart {
		err = app.Again(time.Now()) // returns only when it cannot
	}
	return errors.Join(err, logFile.Close())
}
