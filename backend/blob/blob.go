// Package blob owns contents that are too large for a row: attachments and what
// files held before an agent changed them.
//
// A content is written to a file named by its hash, and synced, before the
// transaction that refers to it begins; the row says that it is in use. A file
// without a row is left over from a crash and harmless. Contents never change.
package blob

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

//go:embed schema.sql
var ddl string

// Schema declares the table of this owner.
func Schema() store.Schema { return store.Schema{Owner: "blob", DDL: ddl} }

// tmpSuffix marks a content that is being written.
const tmpSuffix = ".tmp"

// MaxSize is the largest content in bytes.
const MaxSize = 32 << 20

// ErrNotFound reports a content that is not stored.
var ErrNotFound = errors.New("this content is not stored")

// ErrTooLarge reports a content over MaxSize.
var ErrTooLarge = errors.New("this content is larger than 32 MiB and cannot be kept")

// ErrDamaged reports a file whose content no longer has the hash it is named by.
var ErrDamaged = errors.New("this stored content is damaged")

// Store keeps contents in one directory. It is safe for concurrent use.
type Store struct {
	dir string
}

// Open makes the directory if needed, closes it to others (0700), and removes
// what writes that were cut off left half done. One process opens a directory at
// a time; the lock on the data directory sees to that.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open contents: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open contents: %w", err)
	}
	left, err := fs.Glob(os.DirFS(dir), "*/*"+tmpSuffix)
	if err != nil {
		return nil, fmt.Errorf("open contents: %w", err)
	}
	for _, name := range left {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("remove what a crash left: %w", err)
		}
	}
	return &Store{dir: dir}, nil
}

// ID returns the name of a content: the hex SHA-256 of it.
func ID(content []byte) protocol.BlobID {
	sum := sha256.Sum256(content)
	return protocol.BlobID(hex.EncodeToString(sum[:]))
}

func (s *Store) path(id protocol.BlobID) string {
	return filepath.Join(s.dir, string(id[:2]), string(id))
}

// Put writes and syncs a content; it is on disk when Put returns, whoever wrote
// it. A stored content that was damaged is written anew.
func (s *Store) Put(content []byte) (protocol.BlobID, error) {
	if len(content) > MaxSize {
		return "", ErrTooLarge
	}
	id := ID(content)
	path := s.path(id)
	dir := filepath.Dir(path)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		// Whoever wrote it may not have come to this yet, or was cut off before.
		return id, errors.Join(syncDir(dir), syncDir(s.dir))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("store content: %w", err)
	}
	tmp := path + "." + rand.Text()[:8] + tmpSuffix
	if err := writeSynced(tmp, content); err != nil {
		return "", errors.Join(fmt.Errorf("store content: %w", err), os.Remove(tmp))
	}
	if err := os.Rename(tmp, path); err != nil {
		return "", errors.Join(fmt.Errorf("store content: %w", err), os.Remove(tmp))
	}
	if err := syncDir(dir); err != nil {
		return "", fmt.Errorf("store content: %w", err)
	}
	return id, syncDir(s.dir)
}

func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Get reads a content and checks it against its name.
func (s *Store) Get(id protocol.BlobID) ([]byte, error) {
	if !valid(id) {
		return nil, ErrNotFound
	}
	content, err := os.ReadFile(s.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	if ID(content) != id {
		return nil, ErrDamaged
	}
	return content, nil
}

func valid(id protocol.BlobID) bool {
	raw, err := hex.DecodeString(string(id))
	return err == nil && len(raw) == sha256.Size && hex.EncodeToString(raw) == string(id)
}

// Use notes in tx that a content is referred to. Kind is attachment or before.
func Use(tx *store.Tx, id protocol.BlobID, size int64, kind string, nowMs int64) error {
	_, err := tx.Exec(`INSERT INTO blobs (blob_id, size, kind, added_at_ms) VALUES (?, ?, ?, ?) ON CONFLICT (blob_id) DO NOTHING`,
		string(id), size, kind, nowMs)
	if err != nil {
		return fmt.Errorf("note content: %w", err)
	}
	return nil
}
