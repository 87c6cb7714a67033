package openai

import (
	"strings"
	"sync"
)

// features are the fields of a request that some servers do not take.
type features struct {
	noUsage  bool // without stream_options
	noEffort bool // without reasoning_effort
	noTokens bool // without a limit of tokens
	// newTokens asks for max_completion_tokens in place of max_tokens, turned says
	// that the other one was refused.
	newTokens, turned bool
}

// dialect is what a server has shown of itself. It only ever asks for less, so
// that learning ends.
type dialect struct {
	mu       sync.Mutex
	features features // guarded by mu
}

func (d *dialect) now() features {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.features
}

// learn takes a refusal of a request made with known, and reports whether the
// next one will differ for it.
func (d *dialect) learn(known features, refusal string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.features != known {
		return true // another call has learnt meanwhile
	}
	words := strings.ToLower(refusal)
	f := &d.features
	switch {
	case !f.noUsage && (strings.Contains(words, "stream_options") || strings.Contains(words, "include_usage")):
		f.noUsage = true
	case !f.noEffort && strings.Contains(words, "reasoning_effort"):
		f.noEffort = true
	case !f.noTokens && (strings.Contains(words, "max_completion_tokens") || strings.Contains(words, "max_tokens")):
		if f.turned {
			f.noTokens = true
		}
		f.newTokens, f.turned = !f.newTokens, true
	}
	return d.features != known
}
