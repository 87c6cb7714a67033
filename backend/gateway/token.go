package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// maxTokenFile is the largest token file, in bytes.
const maxTokenFile = 4096

// ErrTokenFileOpen reports a token file that others may read; the program says
// so and does not start.
var ErrTokenFileOpen = errors.New("the token file can be read by others; make it private (chmod 600), then try again")

// TokenFile is a token that a file holds. It is read at each use, so that a
// changed file counts at once and the token is not kept in memory. It is safe for
// concurrent use.
type TokenFile struct {
	path string
}

// OpenTokenFile checks a token file: an ordinary file of its owner alone, with
// something in it.
func OpenTokenFile(path string) (*TokenFile, error) {
	f := &TokenFile{path: path}
	if _, err := f.read(); err != nil {
		return nil, err
	}
	return f, nil
}

// Matches compares a token with the file's in constant time.
func (f *TokenFile) Matches(token string) (bool, error) {
	want, err := f.read()
	if err != nil {
		return false, err
	}
	a, b := sha256.Sum256([]byte(want)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1, nil
}

func (f *TokenFile) read() (string, error) {
	// A pipe in place of the file would block the open for ever.
	before, err := os.Lstat(f.path)
	if err != nil {
		return "", fmt.Errorf("read the token file: %w", err)
	}
	if !before.Mode().IsRegular() {
		return "", fmt.Errorf("read the token file: %s is not an ordinary file", f.path)
	}
	file, err := os.Open(f.path)
	if err != nil {
		return "", fmt.Errorf("read the token file: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("read the token file: %w", err)
	}
	if !os.SameFile(before, info) {
		return "", errors.New("read the token file: it was exchanged meanwhile")
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", ErrTokenFileOpen
	}
	text, err := io.ReadAll(io.LimitReader(file, maxTokenFile+1))
	if err != nil {
		return "", fmt.Errorf("read the token file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || len(text) > maxTokenFile {
		return "", errors.New("read the token file: it must hold a token of 1 to 4096 bytes")
	}
	return token, nil
}
