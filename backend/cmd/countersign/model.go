package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"countersign/backend/host"
	"countersign/backend/protocol"
)

func modelCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "model", Short: "Add, list and remove models"}
	list := &cobra.Command{
		Use: "list", Short: "List models", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := models[protocol.ModelsList](cmd.Context(), g, protocol.MethodModelsList, protocol.ModelsListParams{})
			if err != nil {
				return err
			}
			return show(cmd, g, out, func(w io.Writer) { modelTable(w, out) })
		},
	}
	remove := &cobra.Command{
		Use: "remove NAME", Short: "Remove a model and its key", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := models[protocol.OKResult](cmd.Context(), g, protocol.MethodModelsRemove, protocol.ModelsRemoveParams{Name: args[0]})
			if err != nil {
				return err
			}
			return show(cmd, g, out, func(w io.Writer) { fmt.Fprintf(w, "Removed %s. A key it had is no longer in the keychain.\n", args[0]) })
		},
	}
	cmd.AddCommand(modelAddCommand(g), list, remove)
	return cmd
}

func modelAddCommand(g *globals) *cobra.Command {
	var p protocol.ModelsAddParams
	var provider string
	var keyStdin bool
	cmd := &cobra.Command{
		Use: "add --name NAME --provider anthropic|openai|practice", Short: "Add a model; its key goes into the keychain", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			p.Provider = protocol.ModelProvider(provider)
			if !p.NoKey && p.Provider != protocol.ProviderPractice {
				if p.Key, err = readKey(cmd, keyStdin); err != nil {
					return err
				}
			}
			out, err := models[protocol.ModelsAddResult](cmd.Context(), g, protocol.MethodModelsAdd, p)
			if err != nil {
				return err
			}
			return show(cmd, g, out.Model, func(w io.Writer) { fmt.Fprintf(w, "Added %s.\n", out.Model.Name) })
		},
	}
	cmd.Flags().StringVar(&p.Name, "name", "", "name of the model in your settings")
	cmd.Flags().StringVar(&provider, "provider", "", "anthropic, openai (also for compatible servers) or practice")
	cmd.Flags().StringVar(&p.BaseURL, "base-url", "", "address of a compatible server")
	cmd.Flags().StringVar(&p.Model, "model", "", "model, as the provider calls it")
	cmd.Flags().BoolVar(&keyStdin, "key-stdin", false, "read the key from standard input")
	cmd.Flags().BoolVar(&p.NoKey, "no-key", false, "the server needs no key")
	cmd.Flags().BoolVar(&p.Default, "default", false, "use it where nothing else is chosen")
	cmd.MarkFlagsMutuallyExclusive("key-stdin", "no-key")
	for _, name := range []string{"name", "provider"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return cmd
}

// readKey takes a key from standard input, or asks for it without showing it. It
// is never an argument, where other programs could read it.
func readKey(cmd *cobra.Command, fromStdin bool) (string, error) {
	if fromStdin {
		line, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 64<<10)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read key: %w", err)
		}
		return strings.TrimSpace(line), nil
	}
	fd := int(os.Stdin.Fd())
	if !term.IsTerminal(fd) {
		return "", errors.New("give the key with --key-stdin, or say --no-key where none is needed")
	}
	fmt.Fprint(cmd.ErrOrStderr(), "Key (not shown): ")
	raw, err := term.ReadPassword(fd)
	fmt.Fprintln(cmd.ErrOrStderr())
	if err != nil {
		return "", fmt.Errorf("read key: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// models makes a call about models at the running host; where none runs, the
// settings of the data directory are changed directly.
func models[R any](ctx context.Context, g *globals, m protocol.Method, params any) (R, error) {
	if c, err := dial(ctx, g, reading()); err == nil {
		var out R
		err := call(ctx, c, m, params, &out)
		return out, errors.Join(err, c.Close())
	}
	var out R
	dir, err := g.dir()
	if err != nil {
		return out, err
	}
	result, err := host.Models(ctx, dir, slog.New(slog.DiscardHandler), m, params)
	if err != nil {
		return out, err
	}
	out, ok := result.(R)
	if !ok {
		return out, fmt.Errorf("understand answer of %s", m)
	}
	return out, nil
}

func modelTable(w io.Writer, out protocol.ModelsList) {
	rows := make([][]string, len(out.Models))
	for i, m := range out.Models {
		state := "ready"
		if !m.Available {
			state = m.UnavailableReason
		}
		mark := ""
		if m.Default {
			mark = "default"
		}
		rows[i] = []string{m.Name, string(m.Provider), m.Model, m.BaseURL, mark, state}
	}
	table(w, []string{"NAME", "PROVIDER", "MODEL", "ADDRESS", "", "STATE"}, rows)
}
