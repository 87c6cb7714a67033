package secret

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/crypto/chacha20poly1305"
)

const (
	// LargeFileName holds the ciphertext of secrets that a keychain cannot take.
	LargeFileName = "large.enc"

	// maxPlainBytes is below the limits of Windows (2560 bytes) and macOS (about
	// 3000 bytes with the names).
	maxPlainBytes = 2000

	wrapPrefix = "countersign-wrapped:1:"
)

// isWrapped recognises what seal returns. A secret that happens to look like it
// is sealed itself, so that the two cannot be confused.
func isWrapped(stored string) bool { return strings.HasPrefix(stored, wrapPrefix) }

// largeStore keeps ciphertexts under random identifiers. A new value gets a new
// identifier and a new key, so that the old one stays readable until the
// keychain has taken the new key.
type largeStore struct {
	dir string
	// change makes one read-modify-write at a time; it is held over disk access.
	change *sync.Mutex
}

type largeContent struct {
	Format  int               `json:"format"`
	Entries map[string]string `json:"entries"`
}

func (l largeStore) path() string { return filepath.Join(l.dir, LargeFileName) }

func (l largeStore) exists() bool { return fileExists(l.path()) }

// seal stores value and returns what goes into the keychain for it.
func (l largeStore) seal(user, value string) (string, error) {
	key := make([]byte, chacha20poly1305.KeySize)
	rand.Read(key)
	id := rand.Text()
	sealed, err := encrypt(key, []byte(value), []byte(user+"\x00"+id))
	if err != nil {
		return "", err
	}
	l.change.Lock()
	defer l.change.Unlock()
	c, err := l.read()
	if err != nil {
		return "", err
	}
	c.Entries[id] = base64.StdEncoding.EncodeToString(sealed)
	if err := l.write(c); err != nil {
		return "", err
	}
	return wrapPrefix + id + ":" + base64.StdEncoding.EncodeToString(key), nil
}

func (l largeStore) open(user, stored string) (string, error) {
	id, encodedKey, ok := strings.Cut(strings.TrimPrefix(stored, wrapPrefix), ":")
	if !ok {
		return "", errors.New("the entry in the keychain is damaged; save the key again")
	}
	key, err := base64.StdEncoding.DecodeString(encodedKey)
	if err != nil {
		return "", errors.New("the entry in the keychain is damaged; save the key again")
	}
	c, err := l.read()
	if err != nil {
		return "", err
	}
	sealed, err := base64.StdEncoding.DecodeString(c.Entries[id])
	if err != nil || len(sealed) == 0 {
		return "", fmt.Errorf("%s lost its part of the key; save the key again", LargeFileName)
	}
	plain, err := decrypt(key, sealed, []byte(user+"\x00"+id))
	if err != nil {
		return "", fmt.Errorf("%s is damaged; save the key again", LargeFileName)
	}
	return string(plain), nil
}

// forget removes the ciphertext of an earlier value; "" does nothing.
func (l largeStore) forget(stored string) error {
	id, _, ok := strings.Cut(strings.TrimPrefix(stored, wrapPrefix), ":")
	if !ok {
		return nil
	}
	l.change.Lock()
	defer l.change.Unlock()
	c, err := l.read()
	if err != nil {
		return err
	}
	delete(c.Entries, id)
	return l.write(c)
}

func (l largeStore) read() (largeContent, error) {
	c := largeContent{Format: 1, Entries: map[string]string{}}
	b, err := os.ReadFile(l.path())
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read %s: %w", LargeFileName, err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("read %s: %w", LargeFileName, err)
	}
	if c.Format != 1 {
		return c, fmt.Errorf("read %s: it was written by a newer version", LargeFileName)
	}
	if c.Entries == nil {
		c.Entries = map[string]string{}
	}
	return c, nil
}

func (l largeStore) write(c largeContent) error {
	b, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("write %s: %w", LargeFileName, err)
	}
	return writeFile(l.path(), b)
}
