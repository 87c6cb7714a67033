package invariant

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"countersign/backend/protocol"
)

// Message is one message that was sent to the host.
type Message struct {
	Key     protocol.RunID
	Session protocol.SessionKey
	Text    string
	// Acked says that the host acknowledged it.
	Acked bool
}

// Command is one tool call that leaves a line of its own at the end of a file,
// each time it is carried out.
type Command struct {
	Run  protocol.RunID
	Line string
	// File is a path inside the workspace.
	File string
}

// Decided is one decision that the host acknowledged.
type Decided struct {
	Approval protocol.ApprovalID
	Decision protocol.Decision
}

// Account is what the outside world knows: what was sent and what was answered.
type Account struct {
	// Messages are in the order in which they were first sent, session by session.
	Messages []Message
	Commands []Command
	Decided  []Decided
	// Gone are words that stood in the argv of processes which must have ended.
	Gone []string
	// Canaries are secrets the host was given.
	Canaries []string
}

// Place says where a host lives.
type Place struct {
	// Home is the data directory, Workspace the folder of its agent.
	Home      string
	Workspace string
	// Logs are files outside Home that the host wrote to.
	Logs []string
	// Live says that the host runs.
	Live bool
}

// Scene is what the checks look at: an account, and what was found at one time.
type Scene struct {
	Account
	Place
	// Settled says that the host has had the time to finish everything.
	Settled bool
	// DB is a copy of the database.
	DB *sql.DB
	// Before and After are the lines of the commands' files, by file and line, just
	// before and just after the database was copied.
	Before, After map[string]map[string]int
}

// Capture copies the database into dir, which must not hold a copy yet, and reads
// the files. Close ends the scene.
func Capture(ctx context.Context, a Account, p Place, dir string) (*Scene, error) {
	s := &Scene{Account: a, Place: p}
	var err error
	if s.Before, err = s.lines(); err != nil {
		return nil, err
	}
	copied := filepath.Join(dir, "copy.db")
	if p.Live {
		err = copyLive(ctx, filepath.Join(p.Home, "state.db"), copied)
	} else {
		err = copyDead(filepath.Join(p.Home, "state.db"), copied)
	}
	if err != nil {
		return nil, err
	}
	if s.DB, err = sql.Open("sqlite", fileURI(copied, nil)); err != nil {
		return nil, fmt.Errorf("open copy: %w", err)
	}
	if s.After, err = s.lines(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Reread reads the files of the commands again.
func (s *Scene) Reread() (err error) {
	if s.Before, err = s.lines(); err != nil {
		return err
	}
	s.After = s.Before
	return nil
}

// Close lets the copy go; its file stays.
func (s *Scene) Close() error { return s.DB.Close() }

// fileURI names a file for the driver, whatever its path holds.
func fileURI(path string, q url.Values) string {
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// copyLive copies a database that is in use, as one moment of it.
func copyLive(ctx context.Context, from, to string) error {
	db, err := sql.Open("sqlite", fileURI(from, url.Values{"mode": {"ro"}, "_busy_timeout": {"10000"}}))
	if err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	return nil
}

// copyDead copies the files of a database that nobody has open, with its log of
// what was committed last.
func copyDead(from, to string) error {
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(from + suffix)
		if suffix != "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("copy database: %w", err)
		}
		if err := os.WriteFile(to+suffix, raw, 0o600); err != nil {
			return fmt.Errorf("copy database: %w", err)
		}
	}
	return nil
}

// lines counts the lines of every file that a command writes to.
func (s *Scene) lines() (map[string]map[string]int, error) {
	out := make(map[string]map[string]int)
	for _, c := range s.Commands {
		if out[c.File] != nil {
			continue
		}
		out[c.File] = make(map[string]int)
		raw, err := os.ReadFile(filepath.Join(s.Workspace, c.File))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read what commands wrote: %w", err)
		}
		for line := range strings.Lines(string(raw)) {
			out[c.File][strings.TrimSuffix(line, "\n")]++
		}
	}
	return out, nil
}

// rows reads a result into one value a row.
func rows[T any](ctx context.Context, s *Scene, scan func(*sql.Rows, *T) error, query string, args ...any) (out []T, err error) {
	r, err := s.DB.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read copy: %w", err)
	}
	defer r.Close()
	for r.Next() {
		var v T
		if err := scan(r, &v); err != nil {
			return nil, fmt.Errorf("read copy: %w", err)
		}
		out = append(out, v)
	}
	return out, r.Err()
}

// sentences reads a result of one column that is already in words.
func sentences(ctx context.Context, s *Scene, query string, args ...any) ([]string, error) {
	return rows(ctx, s, func(r *sql.Rows, v *string) error { return r.Scan(v) }, query, args...)
}

// contains reports whether a stream holds one of the words, also where it lies
// across two reads.
func contains(r io.Reader, words []string) (string, error) {
	longest := 0
	for _, w := range words {
		longest = max(longest, len(w))
	}
	buf := make([]byte, 0, 1<<20)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		for _, w := range words {
			if strings.Contains(string(buf), w) {
				return w, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if len(buf) > longest {
			buf = buf[:copy(buf, buf[len(buf)-longest:])]
		}
	}
}
