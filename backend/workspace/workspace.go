// Package workspace reads the files by which an owner shapes an agent: AGENTS,
// SOUL, IDENTITY, USER, TOOLS, BOOTSTRAP and MEMORY, in this order, as other
// agents of this kind keep them. It reads through [os.Root], so that a link
// cannot lead out of the folder, and it never writes.
package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"
)

// Limits of what one file and all files together add to a prompt, in bytes
// (OpenClaw's conventions: 20,000 and 60,000 characters).
const (
	MaxFile = 20_000
	MaxAll  = 60_000
)

// names are the files in the order of the prompt.
var names = []string{"AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "BOOTSTRAP.md", "MEMORY.md"}

// File is one file of a workspace; Text was cut when Cut is set.
type File struct {
	Name string
	Text string
	Cut  bool
}

// Load reads the files that exist and say something. A file that cannot be read
// is an error, so that an agent never works without instructions it was given;
// one that no room is left for comes with Cut set and no text.
func Load(dir string) ([]File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	var files []File
	left := MaxAll
	for _, name := range names {
		f, err := load(root, name, min(left, MaxFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		left -= len(f.Text)
		if f.Text != "" || f.Cut {
			files = append(files, f)
		}
	}
	return files, nil
}

func load(root *os.Root, name string, limit int) (File, error) {
	// Opened before it is looked at, so that what is looked at is what is read; a
	// pipe would keep an ordinary open waiting for its writer.
	f, err := root.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	if !info.Mode().IsRegular() {
		return File{}, errors.New("it is not a plain file")
	}
	// One character more than fits: half of one at the end is beyond the limit.
	raw, err := io.ReadAll(io.LimitReader(f, int64(limit)+utf8.UTFMax))
	if err != nil {
		return File{}, err
	}
	text := strings.TrimSpace(strings.TrimPrefix(strings.ToValidUTF8(string(raw), "�"), "\ufeff"))
	out := File{Name: name, Text: cut(text, limit)}
	out.Cut = len(out.Text) < len(text) || info.Size() > int64(len(raw))
	return out, nil
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimSpace(s[:n])
}
