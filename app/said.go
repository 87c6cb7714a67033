package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// said keeps in a small file what need not be said twice. Losing the file costs a repeated sentence, so it is written
// without ceremony.
type said struct {
	path string
	log  *slog.Logger
	mu   sync.Mutex // guards the file
}

func newSaid(home string, log *slog.Logger) *said {
	return &said{path: filepath.Join(home, "said"), log: log}
}

// First reports whether what had not been said, and remembers it.
func (s *said) First(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := os.ReadFile(s.path)
	if err != nil && !os.IsNotExist(err) {
		s.log.Debug("read what was said", "err", err)
	}
	for line := range strings.Lines(string(old)) {
		if strings.TrimSuffix(line, "\n") == what {
			return false
		}
	}
	if err := os.WriteFile(s.path, append(old, what+"\n"...), 0o600); err != nil {
		s.log.Debug("remember what was said", "err", err)
	}
	return true
}
