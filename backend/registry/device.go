package registry

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

// Device is a paired program. Its id is the hash of its public key, so the key
// itself need not be kept: whoever connects brings it.
type Device struct {
	ID         protocol.DeviceID
	Name       string
	Platform   string
	Scopes     []protocol.Scope
	PairedAtMs int64
	LastSeenMs int64
}

// AddDevice pairs a device; pairing again replaces its name and scopes.
func AddDevice(tx *store.Tx, d Device) error {
	scopes, err := json.Marshal(d.Scopes)
	if err != nil {
		return fmt.Errorf("encode scopes: %w", err)
	}
	_, err = tx.Exec(`INSERT INTO devices (device_id, name, platform, scopes_json, paired_at_ms, last_seen_ms)
		VALUES (?1, ?2, ?3, ?4, ?5, ?5)
		ON CONFLICT (device_id) DO UPDATE SET name = ?2, platform = ?3, scopes_json = ?4, paired_at_ms = ?5`,
		string(d.ID), d.Name, d.Platform, string(scopes), d.PairedAtMs)
	if err != nil {
		return fmt.Errorf("pair device: %w", err)
	}
	tx.Emit(store.Change{Kind: ChangeDevice, Key: string(d.ID), AtMs: d.PairedAtMs})
	return nil
}

// TouchDevice notes that a device was seen.
func TouchDevice(tx *store.Tx, id protocol.DeviceID, nowMs int64) error {
	if _, err := tx.Exec(`UPDATE devices SET last_seen_ms = ? WHERE device_id = ?`, nowMs, string(id)); err != nil {
		return fmt.Errorf("touch device: %w", err)
	}
	return nil
}

// RemoveDevice ends a pairing, or reports ErrNotFound.
func RemoveDevice(tx *store.Tx, id protocol.DeviceID, nowMs int64) error {
	res, err := tx.Exec(`DELETE FROM devices WHERE device_id = ?`, string(id))
	if err != nil {
		return fmt.Errorf("remove device: %w", err)
	}
	if n, _ := res.RowsAffected(); n == 0 {
		return ErrNotFound
	}
	tx.Emit(store.Change{Kind: ChangeDevice, Key: string(id), AtMs: nowMs})
	return nil
}

const deviceColumns = `device_id, name, platform, scopes_json, paired_at_ms, last_seen_ms`

func scanDevice(row interface{ Scan(...any) error }) (Device, error) {
	var d Device
	var scopes string
	if err := row.Scan(&d.ID, &d.Name, &d.Platform, &scopes, &d.PairedAtMs, &d.LastSeenMs); err != nil {
		return Device{}, err
	}
	if err := json.Unmarshal([]byte(scopes), &d.Scopes); err != nil {
		return Device{}, fmt.Errorf("decode scopes of %s: %w", d.ID, err)
	}
	return d, nil
}

// GetDevice reads one device, or ErrNotFound.
func GetDevice(q store.Querier, id protocol.DeviceID) (Device, error) {
	d, err := scanDevice(q.QueryRow(`SELECT `+deviceColumns+` FROM devices WHERE device_id = ?`, string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return Device{}, ErrNotFound
	}
	if err != nil {
		return Device{}, fmt.Errorf("read device: %w", err)
	}
	return d, nil
}

// Devices reads every paired device, newest first.
func Devices(q store.Querier) ([]Device, error) {
	rows, err := q.Query(`SELECT ` + deviceColumns + ` FROM devices ORDER BY paired_at_ms DESC, device_id`)
	if err != nil {
		return nil, fmt.Errorf("read devices: %w", err)
	}
	defer rows.Close()
	var out []Device
	for rows.Next() {
		d, err := scanDevice(rows)
		if err != nil {
			return nil, fmt.Errorf("read devices: %w", err)
		}
		out = append(out, d)
	}
	return out, rows.Err()
}
