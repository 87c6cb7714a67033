package host

import (
	"context"
	"errors"
	"time"

	"countersign/backend/gateway"
	"countersign/backend/protocol"
	"countersign/backend/registry"
	"countersign/backend/store"
)

// browsers offers the registry's browsers to the gateway.
type browsers struct{ h *Host }

var _ gateway.Browsers = browsers{}

func browserView(b registry.Browser) protocol.Browser {
	return protocol.Browser{
		BrowserID: b.ID, Name: b.Name, CreatedAtMs: b.CreatedAtMs, LastUsedMs: b.LastUsedMs, ExpiresAtMs: b.ExpiresAtMs,
	}
}

// Find implements gateway.Browsers.
func (b browsers) Find(ctx context.Context, cookieHash string) (found protocol.Browser, ok bool, err error) {
	err = b.h.db.Read(ctx, func(tx *store.ReadTx) error {
		row, err := registry.FindBrowser(tx, cookieHash)
		if errors.Is(err, registry.ErrNotFound) {
			return nil
		}
		found, ok = browserView(row), err == nil
		return err
	})
	return found, ok, err
}

// Add implements gateway.Browsers.
func (b browsers) Add(ctx context.Context, add protocol.Browser, cookieHash string) error {
	return b.h.db.Write(ctx, func(tx *store.Tx) error {
		return registry.AddBrowser(tx, registry.Browser{
			ID: add.BrowserID, CookieHash: cookieHash, Name: add.Name,
			CreatedAtMs: add.CreatedAtMs, LastUsedMs: add.LastUsedMs, ExpiresAtMs: add.ExpiresAtMs,
		})
	})
}

// Renew implements gateway.Browsers.
func (b browsers) Renew(ctx context.Context, id protocol.BrowserID, at, until time.Time) error {
	return b.h.db.Write(ctx, func(tx *store.Tx) error {
		return registry.RenewBrowser(tx, id, at.UnixMilli(), until.UnixMilli())
	})
}

// Remove implements gateway.Browsers.
func (b browsers) Remove(ctx context.Context, id protocol.BrowserID) error {
	err := b.h.db.Write(ctx, func(tx *store.Tx) error { return registry.RemoveBrowser(tx, id, b.h.nowMs()) })
	if errors.Is(err, registry.ErrNotFound) {
		return nil
	}
	return err
}

// List implements gateway.Browsers.
func (b browsers) List(ctx context.Context) ([]protocol.Browser, error) {
	out := []protocol.Browser{}
	err := b.h.db.Read(ctx, func(tx *store.ReadTx) error {
		all, err := registry.Browsers(tx)
		for _, row := range all {
			out = append(out, browserView(row))
		}
		return err
	})
	return out, err
}
