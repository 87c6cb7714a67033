package protocol

import "regexp"

// AgentID names a record in the registry: lower-case letters, digits, '-' and
// '_', at most 64 characters.
type AgentID string

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

// BrowserID names one browser that a ticket let in.
type BrowserID string

// ConnID names one connection of a client.
type ConnID string

// MainAgent is the agent that a bare session key belongs to.
const MainAgent AgentID = "main"

var agentIDShape = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ValidAgentID reports whether the id has the permitted shape.
func ValidAgentID(id AgentID) bool { return agentIDShape.MatchString(string(id)) }
