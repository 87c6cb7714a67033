package anthropic

import (
	"regexp"
	"strconv"
	"strings"
)

// mode is how a model is asked to think.
type mode int

// Modes from the newest to none; a model that refuses one is asked in the next.
const (
	modeAdaptive mode = iota
	modeBudget
	modeNone
)

// habits are what is known of a model. They only ever come to ask for less, so
// that learning ends.
type habits struct {
	mode mode
	// most is the longest answer in tokens that it gives; 0 while unknown.
	most int64
}

var tooMany = regexp.MustCompile(`max_tokens: \d+ > (\d+)`)

func (p *Provider) known(name string) habits {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.habits[name]
}

// learn takes a refusal of a request made with known, and reports whether the
// next one will differ for it.
func (p *Provider) learn(name string, known habits, refusal string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.habits[name] != known {
		return true // another call has learnt meanwhile
	}
	h := known
	if m := tooMany.FindStringSubmatch(refusal); m != nil {
		if most, err := strconv.ParseInt(m[1], 10, 64); err == nil && most > 0 && (h.most == 0 || most < h.most) {
			h.most = most
		}
	} else if h.mode < modeNone && aboutThinking(refusal) {
		h.mode++
	}
	p.habits[name] = h
	return h != known
}

func aboutThinking(refusal string) bool {
	words := strings.ToLower(refusal)
	for _, w := range []string{"thinking", "adaptive", "output_config", "effort", "budget_tokens"} {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}

// mayThink reports whether the last turn is not one of results, or answers one
// that began with thinking: a loop of calls that began without thinking has to
// end without it.
func mayThink(all []turn) bool {
	n := len(all)
	if n < 2 || all[n-1].blocks[0].OfToolResult == nil {
		return true
	}
	first := all[n-2].blocks[0]
	return first.OfThinking != nil || first.OfRedactedThinking != nil
}
