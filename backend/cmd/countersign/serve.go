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
	var listen, tokenFile string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the host without a window, with its page on loopback",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), g, listen, tokenFile, logger(cmd.ErrOrStderr(), verbose), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address on loopback; port 0 takes a free one")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "file (mode 0600) whose content lets clients read and write")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "log what happens, also when it is well")
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
	h, err := host.Open(ctx, host.Options{Home: dir, Version: version, Logger: log, Frontend: frontend.Dist(), TokenFile: tokenFile})
	if err != nil {
		return openError(err, dir)
	}
	if err := h.Listen(listen); err != nil {
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
