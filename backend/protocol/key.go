package protocol

import (
	"regexp"
	"strings"
)

// SessionKey names a conversation: "agent:<agentId>:<scope>". What
// ParseSessionKey returns has this shape, in lower case:
//
//	scope   = "main" [ ":thread:" segment ]
//	        | segment *( ":" segment )      the first one neither "main" nor "agent"
//	segment = 1*( a-z 0-9 _ @ + = ! # ~ % - . ), not beginning with a dot
//
// Protocol v4 takes nearly anything for a scope. Here a key is shown, typed and
// compared by people, so that two keys never look alike and none looks like a
// path. Identifiers whose case matters, such as a room's, are encoded by whoever
// makes a key of them.
type SessionKey string

// MaxSessionKey is the longest session key in bytes (protocol v4: 512).
const MaxSessionKey = 512

const (
	keyPrefix = "agent:"
	mainScope = "main"
)

var (
	scopeShape  = regexp.MustCompile(`^[a-z0-9_@+=!#~%-][a-z0-9_@+=!#~%.-]*(:[a-z0-9_@+=!#~%-][a-z0-9_@+=!#~%.-]*)*$`)
	threadShape = regexp.MustCompile(`^main:thread:[^:]+$`)
)

// ErrBadSessionKey reports a session key that cannot be understood; a client is
// told as it stands.
var ErrBadSessionKey error = NewError(CodeInvalidRequest, "",
	`This session key is not valid. Use a name such as "notes" or "agent:main:notes", of letters, digits and - _ . in parts joined by colons.`)

// ParseSessionKey normalises what a client sent, as protocol v4 does: case does
// not matter, and a bare name is a session of owner, or of the main agent when
// owner is empty. It returns ErrBadSessionKey for what is no key, and for a full
// key of another agent than a given owner.
func ParseSessionKey(raw string, owner AgentID) (SessionKey, error) {
	key, owner := lowered(strings.TrimSpace(raw)), AgentID(lowered(string(owner)))
	agent, scope := owner, key
	if rest, full := strings.CutPrefix(key, keyPrefix); full {
		id, tail, _ := strings.Cut(rest, ":")
		agent, scope = AgentID(id), tail
		if owner != "" && owner != agent {
			return "", ErrBadSessionKey
		}
	}
	if agent == "" && !strings.HasPrefix(key, keyPrefix) {
		agent = MainAgent
	}
	if !ValidAgentID(agent) || !validScope(scope) {
		return "", ErrBadSessionKey
	}
	out := NewSessionKey(agent, scope)
	if len(out) > MaxSessionKey {
		return "", ErrBadSessionKey
	}
	return out, nil
}

func validScope(scope string) bool {
	if !scopeShape.MatchString(scope) {
		return false
	}
	switch first, _, more := strings.Cut(scope, ":"); first {
	case "agent":
		return false
	case mainScope:
		return !more || threadShape.MatchString(scope)
	}
	return true
}

// lowered folds ASCII letters only: all others are refused afterwards, and some
// of them would fold into ASCII.
func lowered(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// NewSessionKey joins an agent and a scope.
func NewSessionKey(agent AgentID, scope string) SessionKey {
	return SessionKey(keyPrefix + string(agent) + ":" + scope)
}

// Agent returns the agent part of a normalised key.
func (k SessionKey) Agent() AgentID {
	parts := strings.SplitN(string(k), ":", 3)
	if len(parts) != 3 {
		return ""
	}
	return AgentID(parts[1])
}
