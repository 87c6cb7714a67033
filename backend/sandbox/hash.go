package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
)

// hashFile returns the hex SHA-256 and the size of at most limit+1 bytes; a size
// above limit means that the file is too large.
func hashFile(path string, limit int64) (sum string, size int64, err error) {
	f, err := openRegular(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if size, err = io.Copy(h, io.LimitReader(f, limit+1)); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// readHashed reads a file once and returns its content together with its hash.
func readHashed(path string, limit int64) (data []byte, sum string, err error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var buffer bytes.Buffer
	if info, err := f.Stat(); err == nil && info.Size() < limit {
		buffer.Grow(int(info.Size()) + bytes.MinRead)
	}
	n, err := buffer.ReadFrom(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, "", err
	}
	if n > limit {
		return nil, "", errors.New("it is too large")
	}
	h := sha256.Sum256(buffer.Bytes())
	return buffer.Bytes(), hex.EncodeToString(h[:]), nil
}

// openRegular refuses pipes and devices, which could block or never end.
func openRegular(path string) (*os.File, error) {
	f, err := openNonblocking(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not an ordinary file")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// shebang returns the interpreter and its argument from the first line of a
// script, or nothing when the file is no script.
func shebang(path string) (line []string, err error) {
	f, err := openRegular(path)
	if err != nil {
		// A program that may be run but not read is no script: its interpreter
		// could not read it either.
		return nil, nil
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head := make([]byte, 256)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return parseShebang(head[:n]), nil
}

func parseShebang(head []byte) []string {
	rest, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return nil
	}
	text, _, _ := strings.Cut(string(rest), "\n")
	text = strings.Trim(text, " \t\r")
	interpreter, arg, _ := strings.Cut(strings.ReplaceAll(text, "\t", " "), " ")
	if interpreter == "" {
		return nil
	}
	if arg = strings.TrimSpace(arg); arg == "" {
		return []string{interpreter}
	}
	return []string{interpreter, arg}
}
