package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"countersign/backend/autostart"
	"countersign/backend/config"
	"countersign/backend/gateway"
	"countersign/backend/host"
	"countersign/backend/store"
	"countersign/frontend"
)

// ready is the one line that serve prints when it can be used. URL is the page,
// Open the same page entered with the ticket; the ticket is good once, for the
// page within a minute or for pairing a device within ten.
type ready struct {
	URL    string `json:"url"`
	WS     string `json:"ws"`
	Ticket string `json:"ticket"`
	Open   string `json:"open"`
	PID    int    `json:"pid"`
}

// stopTime bounds a clean stop.
const stopTime = 10 * time.Second

func serveCommand(g *globals) *cobra.Command {
	var listen, tokenFile, login string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the host without a window, with its page on loopback",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if login != "" {
				return atLogin(cmd, g, login)
			}
			if !cmd.Flags().Changed("listen") {
				listen = ""
			}
			return serve(cmd.Context(), g, listen, tokenFile, logger(cmd.ErrOrStderr(), verbose), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&listen, "listen", anyPort, "address on loopback; port 0 takes a free one. Without it, that of the settings")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "file (mode 0600) whose content lets clients read and write")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "log what happens, also when it is well")
	cmd.Flags().StringVar(&login, "at-login", "", "on, off or status: whether the host starts by itself when you log in; starts nothing now")
	// A host that starts at login takes what the settings say.
	for _, other := range []string{"listen", "token-file", "verbose"} {
		cmd.MarkFlagsMutuallyExclusive("at-login", other)
	}
	return cmd
}

func logger(w io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

func serve(ctx context.Context, g *globals, listen, tokenFile string, log *slog.Logger, out io.Writer) error {
	dir, err := g.dir()
	if err != nil {
		return err
	}
	login, err := autostart.New()
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, host.Options{
		Home: dir, Version: version, Logger: log, Frontend: frontend.Dist(), TokenFile: tokenFile,
		Startup: func(s config.Startup) error { return login.Apply(autostart.For(s, dir)) },
	})
	if err != nil {
		return openError(err, dir)
	}
	if err := listenOn(h, listen); err != nil {
		return errors.Join(err, closeHost(h))
	}
	server := h.Server()
	ticket, _ := h.Gateway().Tickets().New(gateway.ForEither)
	line := ready{URL: server.URL(), WS: server.WS(), Ticket: ticket, Open: gateway.EnterURL(server.URL(), ticket), PID: os.Getpid()}
	if err := json.NewEncoder(out).Encode(line); err != nil {
		return errors.Join(fmt.Errorf("print address: %w", err), closeHost(h))
	}
	<-ctx.Done()
	return closeHost(h)
}

// anyPort is where the page is when neither a flag nor the settings say.
const anyPort = "127.0.0.1:0"

// listenOn opens the port that the flag names. Without one that of the settings,
// which is open already, stays.
func listenOn(h *host.Host, listen string) error {
	if listen == "" {
		if h.Server() != nil {
			return nil
		}
		listen = anyPort
	}
	return h.Listen(listen)
}

func closeHost(h *host.Host) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	return h.Close(ctx)
}

func openError(err error, dir string) error {
	var locked *store.LockedError
	if errors.As(err, &locked) {
		return fmt.Errorf("another Countersign runs on %s; use it, or stop it first", dir)
	}
	return err
}
