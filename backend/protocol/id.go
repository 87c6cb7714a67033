package protocol

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// AgentID names a record in the registry: lower-case letters, digits, '-' and
// '_', at most 64 characters.
type AgentID string

// SessionKey names a conversation: "agent:<agentId>:<scope>".
type SessionKey string

// SessionID names one transcript window of a session; a reset gives a session a
// new one while its key stays.
type SessionID string

// RunID names one execution. It is the idempotency key the client chose.
type RunID string

// MessageID names one transcript message.
type MessageID string

// EffectID names one attempt of a tool call.
type EffectID string

// ApprovalID names one question bound to one plan.
type ApprovalID string

// QuestionID names one structured question of an agent to its owner.
type QuestionID string

// ReceiptID names one receipt.
type ReceiptID string

// BlobID is the lower-case hex SHA-256 of a stored content.
type BlobID string

// DeviceID is the lower-case hex SHA-256 of a device's raw Ed25519 public key.
type DeviceID string

// ConnID names one connection of a client.
type ConnID string

// MaxSessionKey is the longest session key in bytes (protocol v4: 512).
const MaxSessionKey = 512

// MainAgent is the agent that a bare session key belongs to.
const MainAgent AgentID = "main"

var agentIDShape = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ErrBadSessionKey reports a session key that cannot be understood; a caller
// answers INVALID_REQUEST.
var ErrBadSessionKey = errors.New("this session key is not valid; use a name such as \"main\" or \"agent:main:notes\"")

// ParseSessionKey normalises what a client sent: a bare name means a session of
// the main agent.
func ParseSessionKey(raw string) (SessionKey, AgentID, error) {
	key := strings.TrimSpace(raw)
	if key == "" || len(key) > MaxSessionKey || strings.ContainsAny(key, "\x00\n\r\t") {
		return "", "", ErrBadSessionKey
	}
	if !strings.HasPrefix(key, "agent:") {
		return SessionKey("agent:" + string(MainAgent) + ":" + key), MainAgent, nil
	}
	parts := strings.SplitN(key, ":", 3)
	if len(parts) != 3 || parts[2] == "" || !agentIDShape.MatchString(parts[1]) {
		return "", "", ErrBadSessionKey
	}
	return SessionKey(key), AgentID(parts[1]), nil
}

// NewSessionKey joins an agent and a scope.
func NewSessionKey(agent AgentID, scope string) SessionKey {
	return SessionKey(fmt.Sprintf("agent:%s:%s", agent, scope))
}

// Agent returns the agent part of a normalised key.
func (k SessionKey) Agent() AgentID {
	parts := strings.SplitN(string(k), ":", 3)
	if len(parts) != 3 {
		return ""
	}
	return AgentID(parts[1])
}

// ValidAgentID reports whether the id has the permitted shape.
func ValidAgentID(id AgentID) bool { return agentIDShape.MatchString(string(id)) }
