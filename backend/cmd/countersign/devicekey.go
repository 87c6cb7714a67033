package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"countersign/backend/host"
	"countersign/backend/secret"
)

// deviceKeyName is where this device's key lies in the keychain.
const deviceKeyName = "device/command-line"

// errNoKey says that this command line has no key yet.
var errNoKey = errors.New("this command line is not paired; pair it with `countersign device pair --ticket T`, with a ticket that the window shows or `countersign serve` printed")

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
