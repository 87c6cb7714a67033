package invariant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// secrets: 8, no canary in any file of the data directory, the workspace or the
// logs.
func secrets(_ context.Context, s *Scene) ([]string, error) {
	if len(s.Canaries) == 0 {
		return nil, nil
	}
	var out []string
	look := func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a file of a running host may go
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		found, err := contains(f, s.Canaries)
		if found != "" {
			out = append(out, fmt.Sprintf("%s holds the secret %q", path, found))
		}
		return err
	}
	for _, root := range append([]string{s.Home, s.Workspace}, s.Logs...) {
		if err := filepath.WalkDir(root, look); err != nil {
			return out, fmt.Errorf("look for secrets: %w", err)
		}
	}
	return out, nil
}

// orphanTime is how long processes of a killed host may take to be gone, and
// orphanPoll how often that is looked at.
const (
	orphanTime = 5 * time.Second
	orphanPoll = 20 * time.Millisecond
)

// orphans: 9, what a host started has ended with it.
func orphans(ctx context.Context, s *Scene) ([]string, error) { return left(ctx, s.Gone) }

// left waits for processes to end and names those that did not.
func left(ctx context.Context, words []string) ([]string, error) {
	if len(words) == 0 {
		return nil, nil
	}
	deadline := time.NewTimer(orphanTime)
	defer deadline.Stop()
	poll := time.NewTicker(orphanPoll)
	defer poll.Stop()
	for {
		found, err := Processes(words)
		if err != nil || len(found) == 0 {
			return nil, err
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			var out []string
			for pid, argv := range found {
				out = append(out, fmt.Sprintf("process %d still runs: %s", pid, argv))
			}
			return out, nil
		}
	}
}

// Processes finds the processes whose argv holds one of the words, without
// those that have ended and only wait to be collected. It needs /proc.
func Processes(words []string) (map[int]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	out := make(map[int]string)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		raw, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")) // empty for one that has ended
		if err != nil {
			continue // it has gone meanwhile
		}
		argv := string(bytes.ReplaceAll(bytes.TrimRight(raw, "\x00"), []byte{0}, []byte{' '}))
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(argv, w) }) {
			out[pid] = argv
		}
	}
	return out, nil
}

// modes: 10, the data directory is its owner's alone. The workspace, if it lies
// inside, is the agent's, and what is in it has the modes of ordinary files.
func modes(_ context.Context, s *Scene) ([]string, error) {
	var out []string
	err := filepath.WalkDir(s.Home, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if path == s.Workspace {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if open := info.Mode().Perm() & 0o077; open != 0 {
			out = append(out, fmt.Sprintf("%s has mode %04o", path, info.Mode().Perm()))
		}
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("look at modes: %w", err)
	}
	return out, nil
}

// Orphans makes the check of invariant 9 alone: between the end of a host and
// the start of the next, when no database needs to be looked at.
func Orphans(ctx context.Context, words []string) ([]Breach, error) {
	found, err := left(ctx, words)
	var out []Breach
	for _, c := range Checks() {
		if c.Number != 9 {
			continue
		}
		for _, words := range found {
			out = append(out, Breach{c, words})
		}
	}
	return out, err
}
