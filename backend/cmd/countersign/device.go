package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"countersign/backend/host"
	"countersign/backend/protocol"
	"countersign/backend/secret"
)

// deviceKeyName is where this device's key lies in the keychain.
const deviceKeyName = "device/command-line"

// deviceScopes are what a paired command line may do.
func deviceScopes() []protocol.Scope {
	return []protocol.Scope{protocol.ScopeRead, protocol.ScopeWrite, protocol.ScopeModels, protocol.ScopeApprovals, protocol.ScopeQuestions}
}

func deviceCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "device", Short: "Pair this command line, so that it may decide approvals"}
	var ticket string
	pair := &cobra.Command{
		Use: "pair --ticket T", Short: "Pair with a ticket that the window shows or `countersign serve` printed", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, err := pairDevice(cmd.Context(), g, ticket)
			if err != nil {
				return err
			}
			return show(cmd, g, map[string]protocol.DeviceID{"deviceId": id}, func(w io.Writer) {
				fmt.Fprintln(w, "Paired. This command line may now decide approvals.")
			})
		},
	}
	pair.Flags().StringVar(&ticket, "ticket", "", "single-use ticket")
	if err := pair.MarkFlagRequired("ticket"); err != nil {
		panic(err) // the flag is defined above
	}
	cmd.AddCommand(pair)
	return cmd
}

// pairDevice makes a key, pairs it, and keeps it only once the host has agreed.
func pairDevice(ctx context.Context, g *globals, ticket string) (protocol.DeviceID, error) {
	key, err := g.deviceKey(ctx)
	if errors.Is(err, errNoKey) {
		_, key, err = ed25519.GenerateKey(rand.Reader)
	}
	if err != nil {
		return "", err
	}
	if err := g.canKeep(ctx); err != nil {
		return "", err
	}
	c, err := dial(ctx, g, access{scopes: deviceScopes(), key: key, bootstrap: strings.TrimSpace(ticket)})
	if err != nil {
		return "", err
	}
	if err := errors.Join(c.Close(), g.keepKey(ctx, key)); err != nil {
		return "", err
	}
	return host.DeviceID(key), nil
}

// errNoKey says that this command line has no key yet.
var errNoKey = errors.New("this command line is not paired; pair it with `countersign device pair --ticket T`, with a ticket that the window shows or `countersign serve` printed")

// deciding is the access of a paired command line.
func (g *globals) deciding(ctx context.Context) (access, error) {
	key, err := g.deviceKey(ctx)
	if err != nil {
		return access{}, err
	}
	return access{scopes: deviceScopes(), key: key}, nil
}

func (g *globals) vault() (*secret.Vault, error) {
	dir, err := g.dir()
	if err != nil {
		return nil, err
	}
	return host.Vault(dir, slog.New(slog.DiscardHandler)), nil
}

func (g *globals) deviceKey(ctx context.Context) (ed25519.PrivateKey, error) {
	text, err := g.readKey(ctx)
	if err != nil {
		return nil, err
	}
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New("the stored key of this command line is damaged; remove it and pair again")
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

func (g *globals) readKey(ctx context.Context) (string, error) {
	if g.keyFile != "" {
		return readKeyFile(g.keyFile)
	}
	v, err := g.vault()
	if err != nil {
		return "", err
	}
	text, err := v.Get(ctx, deviceKeyName)
	if errors.Is(err, secret.ErrNotFound) {
		return "", errNoKey
	}
	return text, keychainHint(err)
}

func readKeyFile(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoKey
	}
	if err != nil {
		return "", fmt.Errorf("read key file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("others can read the key file %s; run: chmod 600 %s", path, path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read key file: %w", err)
	}
	return string(raw), nil
}

// canKeep finds out before pairing whether the key could be kept, so that a
// ticket is not used up for nothing.
func (g *globals) canKeep(ctx context.Context) error {
	if g.keyFile != "" {
		_, before := os.Stat(g.keyFile)
		f, err := os.OpenFile(g.keyFile, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return fmt.Errorf("make key file: %w", err)
		}
		if errors.Is(before, fs.ErrNotExist) {
			return errors.Join(f.Close(), os.Remove(g.keyFile)) // pairing may still be refused
		}
		return f.Close()
	}
	v, err := g.vault()
	if err != nil {
		return err
	}
	if s := v.Status(ctx); !s.Usable() {
		return keychainHint(&secret.UnavailableError{Status: s})
	}
	return nil
}

func keychainHint(err error) error {
	var unavailable *secret.UnavailableError
	if errors.As(err, &unavailable) {
		return fmt.Errorf("%w Or keep the key in a file of your own with --key-file FILE", unavailable)
	}
	return err
}

func (g *globals) keepKey(ctx context.Context, key ed25519.PrivateKey) error {
	text := base64.StdEncoding.EncodeToString(key.Seed())
	if g.keyFile != "" {
		if err := os.WriteFile(g.keyFile, []byte(text+"\n"), 0o600); err != nil {
			return fmt.Errorf("write key file: %w", err)
		}
		return os.Chmod(g.keyFile, 0o600)
	}
	v, err := g.vault()
	if err != nil {
		return err
	}
	return v.Set(ctx, deviceKeyName, text)
}
