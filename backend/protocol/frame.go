package protocol

import "encoding/json"

// Version is the protocol version spoken here (OpenClaw Gateway protocol v4).
const Version = 4

// Limits of a connection, in bytes and milliseconds (protocol v4).
const (
	MaxFrameBeforeAuth = 65_536
	MaxFrame           = 26_214_400
	MaxBuffered        = 52_428_800
	TickIntervalMs     = 30_000
	HandshakeMs        = 15_000
)

// Close codes of a connection (protocol v4).
const (
	CloseProtocolMismatch = 1002
	ClosePolicy           = 1008
	CloseRestart          = 1012
	CloseStarting         = 1013
)

// FrameType is the discriminator of every frame.
type FrameType string

// The three frames.
const (
	FrameReq   FrameType = "req"
	FrameRes   FrameType = "res"
	FrameEvent FrameType = "event"
)

// Request is one call of a client.
type Request struct {
	Type   FrameType       `json:"type"`
	ID     string          `json:"id"`
	Method Method          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// Response answers one request: Payload when OK, Error otherwise.
type Response struct {
	Type    FrameType       `json:"type"`
	ID      string          `json:"id"`
	OK      bool            `json:"ok"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// Event is something a client did not ask for. Seq rises by one for each event
// of one client; a gap means that something was dropped.
type Event struct {
	Type         FrameType       `json:"type"`
	Event        EventName       `json:"event"`
	Payload      json.RawMessage `json:"payload,omitempty"`
	Seq          int64           `json:"seq,omitempty"`
	StateVersion *StateVersion   `json:"stateVersion,omitempty"`
}

// StateVersion tells which snapshot an event belongs to.
type StateVersion struct {
	Presence int64 `json:"presence"`
	Health   int64 `json:"health"`
}

// Code is the top-level code of an error.
type Code string

// Codes of protocol v4, and Internal for what nobody foresaw.
const (
	CodeInvalidRequest   Code = "INVALID_REQUEST"
	CodeForbidden        Code = "FORBIDDEN"
	CodeUnavailable      Code = "UNAVAILABLE"
	CodeNotPaired        Code = "NOT_PAIRED"
	CodeApprovalNotFound Code = "APPROVAL_NOT_FOUND"
	CodeInternal         Code = "INTERNAL"
)

// Detail is the finer meaning of an error, in details.code.
type Detail string

// Details a client can branch on.
const (
	DetailMissingScope            Detail = "MISSING_SCOPE"
	DetailUnknownMethod           Detail = "UNKNOWN_METHOD"
	DetailUnknownAgent            Detail = "UNKNOWN_AGENT_ID"
	DetailUnknownSession          Detail = "UNKNOWN_SESSION"
	DetailUnknownRun              Detail = "UNKNOWN_RUN"
	DetailUnknownReceipt          Detail = "UNKNOWN_RECEIPT"
	DetailUnknownQuestion         Detail = "UNKNOWN_QUESTION"
	DetailKeyReused               Detail = "IDEMPOTENCY_KEY_REUSED"
	DetailSessionChanged          Detail = "SESSION_CHANGED"
	DetailApprovalAlreadyResolved Detail = "APPROVAL_ALREADY_RESOLVED"
	DetailAllowAlwaysUnavailable  Detail = "APPROVAL_ALLOW_ALWAYS_UNAVAILABLE"
	DetailDisplayLimit            Detail = "EXEC_APPROVAL_COMMAND_DISPLAY_LIMIT"
	DetailRunAborted              Detail = "EXEC_APPROVAL_RUN_ABORTED"
	DetailAlreadyAnswered         Detail = "QUESTION_ALREADY_ANSWERED"
	DetailUndoConflict            Detail = "UNDO_CONFLICT"
	DetailUndoUnavailable         Detail = "UNDO_UNAVAILABLE"
	DetailKeychain                Detail = "KEYCHAIN_UNAVAILABLE"
	DetailNotSaved                Detail = "NOT_SAVED"
	DetailStale                   Detail = "STALE"
	DetailTokenMissing            Detail = "AUTH_TOKEN_MISSING"
	DetailTokenMismatch           Detail = "AUTH_TOKEN_MISMATCH"
	DetailBootstrapInvalid        Detail = "AUTH_BOOTSTRAP_TOKEN_INVALID"
	DetailRateLimited             Detail = "AUTH_RATE_LIMITED"
	DetailProtocolMismatch        Detail = "PROTOCOL_MISMATCH"
	DetailOriginNotAllowed        Detail = "CONTROL_UI_ORIGIN_NOT_ALLOWED"
	DetailDeviceRequired          Detail = "DEVICE_IDENTITY_REQUIRED"
	DetailNonceRequired           Detail = "DEVICE_AUTH_NONCE_REQUIRED"
	DetailNonceMismatch           Detail = "DEVICE_AUTH_NONCE_MISMATCH"
	DetailSignatureInvalid        Detail = "DEVICE_AUTH_SIGNATURE_INVALID"
	DetailSignatureExpired        Detail = "DEVICE_AUTH_SIGNATURE_EXPIRED"
	DetailDeviceIDMismatch        Detail = "DEVICE_AUTH_DEVICE_ID_MISMATCH"
	DetailPublicKeyInvalid        Detail = "DEVICE_AUTH_PUBLIC_KEY_INVALID"
	DetailPairingRequired         Detail = "PAIRING_REQUIRED"
)

// Error is what a client is told: a code it can branch on and one plain
// sentence with what to do next. It is also a Go error, so that an owner may
// return one where it knows better than the gateway's table.
type Error struct {
	Code         Code          `json:"code"`
	Message      string        `json:"message"`
	Details      *ErrorDetails `json:"details,omitempty"`
	Retryable    bool          `json:"retryable,omitempty"`
	RetryAfterMs int64         `json:"retryAfterMs,omitempty"`
}

// ErrorDetails refines an error.
type ErrorDetails struct {
	Code           Detail   `json:"code,omitempty"`
	Reason         string   `json:"reason,omitempty"`
	MissingScope   Scope    `json:"missingScope,omitempty"`
	RequiredScopes []Scope  `json:"requiredScopes,omitempty"`
	AgentID        AgentID  `json:"agentId,omitempty"`
	RequestID      string   `json:"requestId,omitempty"`
	Decision       Decision `json:"decision,omitempty"`
	ResolvedBy     string   `json:"resolvedBy,omitempty"`
	ResolvedAtMs   int64    `json:"resolvedAtMs,omitempty"`
}

// Error returns the sentence for the person.
func (e *Error) Error() string { return e.Message }

// NewError builds an error with a code, a detail and a sentence.
func NewError(code Code, detail Detail, message string) *Error {
	e := &Error{Code: code, Message: message}
	if detail != "" {
		e.Details = &ErrorDetails{Code: detail}
	}
	return e
}

// NewUnknownAgentError names the agent that does not exist, as protocol v4 has it.
func NewUnknownAgentError(id AgentID, message string) *Error {
	e := NewError(CodeInvalidRequest, DetailUnknownAgent, message)
	e.Details.AgentID = id
	return e
}
