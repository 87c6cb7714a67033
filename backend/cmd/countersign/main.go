// Command countersign is the host without a window (serve) and the command line
// to a running host.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"countersign/backend/config"
)

// version is set when the program is built.
var version = "dev"

// Exit statuses that scripts may rely on.
const (
	exitDone   = 0
	exitFailed = 1
	exitParked = 3
)

// exitError ends the program with a status; words, if any, go to standard error.
type exitError struct {
	status int
	words  string
}

func (e *exitError) Error() string { return e.words }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(execute(ctx, os.Args[1:]))
}

func execute(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var exit *exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &exit):
		if exit.words != "" {
			fmt.Fprintln(os.Stderr, exit.words)
		}
		return exit.status
	}
	fmt.Fprintln(os.Stderr, "countersign:", err)
	return exitFailed
}

// globals are the flags every command has.
type globals struct {
	home    string
	json    bool
	keyFile string
}

// dir is the data directory.
func (g *globals) dir() (string, error) { return config.Dir(g.home) }

func newRoot() *cobra.Command {
	g := &globals{}
	root := &cobra.Command{
		Use:           "countersign",
		Short:         "A personal agent that asks before it acts and gives receipts for what it did",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().StringVar(&g.home, "home", "", "data directory (default: COUNTERSIGN_HOME, then the convention of the system)")
	root.PersistentFlags().BoolVar(&g.json, "json", false, "print data as JSON")
	root.PersistentFlags().StringVar(&g.keyFile, "key-file", "", "file that holds this device's key, instead of the keychain")
	root.AddCommand(serveCommand(g), chatCommand(g), approvalsCommand(g), receiptsCommand(g), sessionsCommand(g), modelCommand(g), deviceCommand(g), ticketCommand(g), doctorCommand(g))
	return root
}
