package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// Script is a file that a plan runs as code, as it was planned.
type Script struct {
	// Name is how the command names it; Path is the real path.
	Name string
	Path string
	// SHA256 is the hash the plan gives it, Size is in bytes.
	SHA256 string
	Size   int64
	// Text is what it holds, or with Cut only how it begins. It is empty for a
	// Binary, which is no text.
	Text   string
	Cut    bool
	Binary bool
}

// Scripts reads what a plan would run as code and somebody besides the system's
// administrator could have written, in the order in which the command names it:
// at most each bytes of a file and all bytes in sum. What is read is what was
// planned; a file that changed since is a *PlanChangedError. A program that is
// found by its bare name and is no script is left out: it is shown by its path.
func (p Plan) Scripts(each, all int64) ([]Script, error) {
	var list []Script
	add := func(name, path, hash string) error {
		if hash == "" {
			return nil
		}
		s, err := readScript(path, hash, min(each, all))
		if err != nil {
			return err
		}
		s.Name = name
		all -= int64(len(s.Text))
		list = append(list, s)
		return nil
	}
	if len(p.Interpreter) > 0 || strings.ContainsAny(p.Argv[0], `/\`) {
		if err := add(p.Argv[0], p.Executable, p.ExecutableHash); err != nil {
			return nil, err
		}
	}
	for _, o := range p.Operands {
		if !o.Executed || slices.ContainsFunc(list, func(s Script) bool { return s.Path == o.Path }) {
			continue
		}
		if err := add(p.Argv[o.ArgIndex], o.Path, o.SHA256); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// readScript reads the beginning of a file and, when it is text, the rest as
// well, to be sure that what is shown is what the hash stands for.
func readScript(path, hash string, most int64) (Script, error) {
	s := Script{Path: path, SHA256: hash}
	f, err := openRegular(path)
	if err != nil {
		return s, changed(path)
	}
	defer f.Close() // opened for reading
	info, err := f.Stat()
	if err != nil {
		return s, changed(path)
	}
	s.Size = info.Size()
	head, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return s, changed(path)
	}
	s.Cut = s.Size > int64(len(head))
	text, ok := plainText(head, s.Cut)
	if !ok {
		// Nothing of it is shown, so there is nothing to compare with the hash.
		s.Cut, s.Binary = false, true
		return s, nil
	}
	s.Text = text
	return s, s.confirm(head, f)
}

// confirm reads what is left of f and compares the whole with the plan.
func (s *Script) confirm(head []byte, f *os.File) error {
	h := sha256.New()
	_, _ = h.Write(head) // a hash takes everything
	n, err := io.Copy(h, io.LimitReader(f, MaxExecutableBytes))
	if err != nil || hex.EncodeToString(h.Sum(nil)) != s.SHA256 {
		return changed(s.Path)
	}
	s.Size = int64(len(head)) + n
	return nil
}

// plainText returns head as text, without a character that was cut in two; ok is
// false when it is none.
func plainText(head []byte, cut bool) (text string, ok bool) {
	for i := 0; cut && i < utf8.UTFMax && len(head) > 0 && !utf8.Valid(head); i++ {
		head = head[:len(head)-1]
	}
	return string(head), utf8.Valid(head) && !slices.Contains(head, 0)
}

// Check refuses a plan that could not run in a place, in words, as Run would.
// env is what Resolve was given. Its errors are *ResolveError.
func Check(p Plan, place Place, env []string) error {
	return checkPlace(place.mounts(), toolDirs(Scrub(env, p.Network)), p)
}
