package host

import (
	"context"
	"errors"
	"time"

	"countersign/backend/protocol"
	"countersign/backend/registry"
	"countersign/backend/store"
)

func deviceView(d registry.Device) protocol.Device {
	return protocol.Device{
		DeviceID: d.ID, Name: d.Name, Platform: d.Platform, Scopes: d.Scopes, PairedAtMs: d.PairedAtMs, LastSeenMs: d.LastSeenMs,
	}
}

// Find implements gateway.Devices.
func (d devices) Find(ctx context.Context, id protocol.DeviceID) (found protocol.Device, ok bool, err error) {
	err = d.h.db.Read(ctx, func(tx *store.ReadTx) error {
		dev, err := registry.GetDevice(tx, id)
		if errors.Is(err, registry.ErrNotFound) {
			return nil
		}
		found, ok = deviceView(dev), err == nil
		return err
	})
	return found, ok, err
}

// Add implements gateway.Devices.
func (d devices) Add(ctx context.Context, dev protocol.Device) error {
	return d.h.db.Write(ctx, func(tx *store.Tx) error {
		return registry.AddDevice(tx, registry.Device{
			ID: dev.DeviceID, Name: dev.Name, Platform: dev.Platform, Scopes: dev.Scopes, PairedAtMs: dev.PairedAtMs,
		})
	})
}

// Touch implements gateway.Devices.
func (d devices) Touch(ctx context.Context, id protocol.DeviceID, at time.Time) error {
	return d.h.db.Write(ctx, func(tx *store.Tx) error { return registry.TouchDevice(tx, id, at.UnixMilli()) })
}

// Remove implements gateway.Devices.
func (d devices) Remove(ctx context.Context, id protocol.DeviceID) error {
	err := d.h.db.Write(ctx, func(tx *store.Tx) error { return registry.RemoveDevice(tx, id, d.h.nowMs()) })
	if errors.Is(err, registry.ErrNotFound) {
		return nil
	}
	return err
}

// List implements gateway.Devices.
func (d devices) List(ctx context.Context) ([]protocol.Device, error) {
	out := []protocol.Device{}
	err := d.h.db.Read(ctx, func(tx *store.ReadTx) error {
		all, err := registry.Devices(tx)
		for _, dev := range all {
			out = append(out, deviceView(dev))
		}
		return err
	})
	return out, err
}
