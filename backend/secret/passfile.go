package secret

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"
)

// PassFileName is the encrypted file that the owner may choose.
const PassFileName = "secrets.enc"

const minPassphrase = 8

// Errors of the encrypted file.
var (
	// ErrFileExists: unlock the file instead of creating it.
	ErrFileExists = errors.New("the file already exists; unlock it with its passphrase")
	// ErrWrongPassphrase: ask again.
	ErrWrongPassphrase = errors.New("the passphrase is wrong")
	// ErrWeakPassphrase: ask for a longer one.
	ErrWeakPassphrase = fmt.Errorf("the passphrase needs at least %d characters", minPassphrase)
)

// kdf are the parameters of Argon2id; those of a new file follow RFC 9106,
// section 4, second choice.
type kdf struct {
	Name      string `json:"name"`
	Time      uint32 `json:"time"`
	MemoryKiB uint32 `json:"memoryKiB"`
	Threads   uint8  `json:"threads"`
	Salt      []byte `json:"salt"`
}

type passContent struct {
	Format int    `json:"format"`
	KDF    kdf    `json:"kdf"`
	Sealed []byte `json:"sealed"`
}

// bound is what the ciphertext is bound to, so that the parameters cannot be
// weakened unnoticed.
func (c passContent) bound() []byte {
	return fmt.Appendf(nil, "countersign secrets %d %s %d %d %d %x", c.Format, c.KDF.Name, c.KDF.Time, c.KDF.MemoryKiB, c.KDF.Threads, c.KDF.Salt)
}

// passFile keeps only the derived key in memory; the file is read at each use,
// so that a change by another process is seen.
type passFile struct {
	dir string

	mu   sync.Mutex // held over disk access: one change at a time
	key  []byte
	salt string
}

func (p *passFile) path() string { return filepath.Join(p.dir, PassFileName) }

func (p *passFile) exists() bool { return fileExists(p.path()) }

func (p *passFile) unlocked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.key != nil
}

func (p *passFile) create(ctx context.Context, passphrase string) error {
	if utf8.RuneCountInString(passphrase) < minPassphrase {
		return ErrWeakPassphrase
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exists() {
		return ErrFileExists
	}
	c := passContent{Format: 1, KDF: kdf{Name: "argon2id", Time: 3, MemoryKiB: 64 << 10, Threads: 4, Salt: make([]byte, 16)}}
	rand.Read(c.KDF.Salt)
	key := c.KDF.derive(passphrase)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.write(c, key, map[string]string{}); err != nil {
		return err
	}
	p.key, p.salt = key, string(c.KDF.Salt)
	return nil
}

func (p *passFile) unlock(ctx context.Context, passphrase string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, err := p.read()
	if err != nil {
		return err
	}
	if err := c.KDF.check(); err != nil {
		return err
	}
	key := c.KDF.derive(passphrase)
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := decrypt(key, c.Sealed, c.bound()); err != nil {
		return ErrWrongPassphrase
	}
	p.key, p.salt = key, string(c.KDF.Salt)
	return nil
}

func (k kdf) derive(passphrase string) []byte {
	return argon2.IDKey([]byte(passphrase), k.Salt, k.Time, k.MemoryKiB, k.Threads, chacha20poly1305.KeySize)
}

// check keeps a damaged or hostile file from exhausting the computer.
func (k kdf) check() error {
	if k.Name != "argon2id" || k.Time < 1 || k.Time > 20 || k.MemoryKiB < 8<<10 || k.MemoryKiB > 1<<20 || k.Threads < 1 || len(k.Salt) < 16 {
		return errors.New("the file is damaged or was written by a newer version")
	}
	return nil
}

func (p *passFile) get(name string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, values, err := p.load()
	if err != nil {
		return "", err
	}
	value, ok := values[name]
	if !ok {
		return "", ErrNotFound
	}
	return value, nil
}

func (p *passFile) change(fn func(map[string]string)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, values, err := p.load()
	if err != nil {
		return err
	}
	fn(values)
	return p.write(c, p.key, values)
}

func (p *passFile) load() (passContent, map[string]string, error) {
	c, err := p.read()
	if err != nil {
		return c, nil, err
	}
	if p.key == nil || p.salt != string(c.KDF.Salt) {
		p.key = nil
		return c, nil, &UnavailableError{Status: statusFileLocked}
	}
	plain, err := decrypt(p.key, c.Sealed, c.bound())
	if err != nil {
		return c, nil, fmt.Errorf("%s is damaged", PassFileName)
	}
	values := map[string]string{}
	if err := json.Unmarshal(plain, &values); err != nil {
		return c, nil, fmt.Errorf("%s is damaged", PassFileName)
	}
	return c, values, nil
}

func (p *passFile) read() (passContent, error) {
	var c passContent
	b, err := os.ReadFile(p.path())
	if errors.Is(err, fs.ErrNotExist) {
		p.key = nil
		return c, fmt.Errorf("open %s: %w", PassFileName, fs.ErrNotExist)
	}
	if err != nil {
		return c, fmt.Errorf("open %s: %w", PassFileName, err)
	}
	if err := json.Unmarshal(b, &c); err != nil || c.Format != 1 {
		return c, fmt.Errorf("%s is damaged or was written by a newer version", PassFileName)
	}
	return c, nil
}

func (p *passFile) write(c passContent, key []byte, values map[string]string) error {
	plain, err := json.Marshal(values)
	if err != nil {
		return err
	}
	if c.Sealed, err = encrypt(key, plain, c.bound()); err != nil {
		return err
	}
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return writeFile(p.path(), b)
}
