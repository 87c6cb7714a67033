package registry

import (
	"database/sql"
	"errors"
	"fmt"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

// MaxBrowsers bounds the browsers that may come back.
const MaxBrowsers = 64

// Browser is a browser that was let in. Of its cookie only the hash is kept:
// whoever reads this table cannot come in with it.
type Browser struct {
	ID protocol.BrowserID
	// CookieHash is the SHA-256 of the cookie's value, as lower-case hex.
	CookieHash  string
	Name        string
	CreatedAtMs int64
	LastUsedMs  int64
	ExpiresAtMs int64
}

// AddBrowser stores a browser. Those whose time is over by its making are
// forgotten, and beyond MaxBrowsers those longest away.
func AddBrowser(tx *store.Tx, b Browser) error {
	if _, err := tx.Exec(`DELETE FROM browsers WHERE expires_at_ms <= ?`, b.CreatedAtMs); err != nil {
		return fmt.Errorf("forget browsers: %w", err)
	}
	_, err := tx.Exec(`INSERT INTO browsers (browser_id, cookie_sha256, name, created_at_ms, last_used_ms, expires_at_ms)
		VALUES (?, ?, ?, ?, ?, ?)`, string(b.ID), b.CookieHash, b.Name, b.CreatedAtMs, b.LastUsedMs, b.ExpiresAtMs)
	if err != nil {
		return fmt.Errorf("store browser: %w", err)
	}
	_, err = tx.Exec(`DELETE FROM browsers WHERE browser_id <> ?1 AND browser_id NOT IN
		(SELECT browser_id FROM browsers WHERE browser_id <> ?1 ORDER BY last_used_ms DESC, browser_id LIMIT ?2)`, string(b.ID), MaxBrowsers-1)
	if err != nil {
		return fmt.Errorf("forget browsers: %w", err)
	}
	tx.Emit(store.Change{Kind: ChangeBrowser, Key: string(b.ID), AtMs: b.CreatedAtMs})
	return nil
}

// RenewBrowser notes when a browser was last seen and until when it may come
// back. One that is gone stays gone.
func RenewBrowser(tx *store.Tx, id protocol.BrowserID, usedMs, expiresMs int64) error {
	if _, err := tx.Exec(`UPDATE browsers SET last_used_ms = ?, expires_at_ms = ? WHERE browser_id = ?`, usedMs, expiresMs, string(id)); err != nil {
		return fmt.Errorf("renew browser: %w", err)
	}
	return nil
}

// RemoveBrowser ends a browser's way in, or reports ErrNotFound.
func RemoveBrowser(tx *store.Tx, id protocol.BrowserID, nowMs int64) error {
	res, err := tx.Exec(`DELETE FROM browsers WHERE browser_id = ?`, string(id))
	if err != nil {
		return fmt.Errorf("remove browser: %w", err)
	}
	if n, _ := res.RowsAffected(); n == 0 {
		return ErrNotFound
	}
	tx.Emit(store.Change{Kind: ChangeBrowser, Key: string(id), AtMs: nowMs})
	return nil
}

const browserColumns = `browser_id, cookie_sha256, name, created_at_ms, last_used_ms, expires_at_ms`

func scanBrowser(row interface{ Scan(...any) error }) (b Browser, err error) {
	err = row.Scan(&b.ID, &b.CookieHash, &b.Name, &b.CreatedAtMs, &b.LastUsedMs, &b.ExpiresAtMs)
	return b, err
}

// FindBrowser reads the browser whose cookie has this hash, or ErrNotFound.
func FindBrowser(q store.Querier, cookieHash string) (Browser, error) {
	b, err := scanBrowser(q.QueryRow(`SELECT `+browserColumns+` FROM browsers WHERE cookie_sha256 = ?`, cookieHash))
	if errors.Is(err, sql.ErrNoRows) {
		return Browser{}, ErrNotFound
	}
	if err != nil {
		return Browser{}, fmt.Errorf("read browser: %w", err)
	}
	return b, nil
}

// Browsers reads every browser, the last used first.
func Browsers(q store.Querier) ([]Browser, error) {
	rows, err := q.Query(`SELECT ` + browserColumns + ` FROM browsers ORDER BY last_used_ms DESC, browser_id`)
	if err != nil {
		return nil, fmt.Errorf("read browsers: %w", err)
	}
	defer rows.Close()
	var out []Browser
	for rows.Next() {
		b, err := scanBrowser(rows)
		if err != nil {
			return nil, fmt.Errorf("read browsers: %w", err)
		}
		out = append(out, b)
	}
	return out, rows.Err()
}
