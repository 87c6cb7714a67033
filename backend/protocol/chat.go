package protocol

import "encoding/json"

// MaxAttachment is the largest attachment in bytes, MaxImage the largest picture.
const (
	MaxAttachment = 19_464_192
	MaxImage      = 6_291_456
)

// ChatSendParams submits one message of the owner. IdempotencyKey becomes the
// run's id: the same key with the same content returns the first answer, with
// other content it is an error.
type ChatSendParams struct {
	SessionKey                    string           `json:"sessionKey"`
	Message                       string           `json:"message"`
	IdempotencyKey                string           `json:"idempotencyKey"`
	AgentID                       AgentID          `json:"agentId,omitempty"`
	SessionID                     SessionID        `json:"sessionId,omitempty"`
	Thinking                      string           `json:"thinking,omitempty"`
	FastMode                      any              `json:"fastMode,omitempty"`
	QueueMode                     string           `json:"queueMode,omitempty"`
	Deliver                       bool             `json:"deliver,omitempty"`
	ReplyToID                     MessageID        `json:"replyToId,omitempty"`
	Attachments                   []ChatAttachment `json:"attachments,omitempty"`
	TimeoutMs                     int64            `json:"timeoutMs,omitempty"`
	ExpectedLeafEntryID           MessageID        `json:"expectedLeafEntryId,omitempty"`
	SuppressCommandInterpretation bool             `json:"suppressCommandInterpretation,omitempty"`
	// ReplaceMessageID, our own, edits and resends: the message and all that
	// followed it leave the active history before this one is added.
	ReplaceMessageID MessageID `json:"replaceMessageId,omitempty"`
}

// ChatAttachment is one file sent with a message; Content is base64.
type ChatAttachment struct {
	Type     string `json:"type,omitempty"`
	MimeType string `json:"mimeType"`
	FileName string `json:"fileName"`
	Content  string `json:"content"`
}

// ChatSendStatus says how a chat.send was taken.
type ChatSendStatus string

// Statuses of chat.send: started the first time; a repeat gets in_flight or the
// final status of the run.
const (
	ChatStarted  ChatSendStatus = "started"
	ChatInFlight ChatSendStatus = "in_flight"
	ChatOK       ChatSendStatus = "ok"
	ChatFailed   ChatSendStatus = "error"
	ChatAborted  ChatSendStatus = "aborted"
)

// ChatSendResult acknowledges a message that is on disk.
type ChatSendResult struct {
	RunID      RunID          `json:"runId"`
	Status     ChatSendStatus `json:"status"`
	MessageSeq int64          `json:"messageSeq,omitempty"`
}

// ChatHistoryParams asks for a page of a transcript, newest last. Limit is 1 to
// 1000 (200); Before pages back.
type ChatHistoryParams struct {
	SessionKey string    `json:"sessionKey"`
	AgentID    AgentID   `json:"agentId,omitempty"`
	SessionID  SessionID `json:"sessionId,omitempty"`
	Limit      int       `json:"limit,omitempty"`
	Offset     int       `json:"offset,omitempty"`
	MaxChars   int       `json:"maxChars,omitempty"`
	// BeforeSeq, our own, returns messages older than this sequence.
	BeforeSeq int64 `json:"beforeSeq,omitempty"`
}

// ChatHistory is one page of a transcript with what is needed to show it live.
// Receipts holds the heads of the receipts that its messages name.
type ChatHistory struct {
	SessionKey    SessionKey    `json:"sessionKey"`
	SessionID     SessionID     `json:"sessionId"`
	Messages      []Message     `json:"messages"`
	PendingInputs PendingInputs `json:"pendingInputs"`
	HasMore       bool          `json:"hasMore"`
	TotalMessages int64         `json:"totalMessages"`
	SessionInfo   *SessionRow   `json:"sessionInfo,omitempty"`
	InFlightRun   *InFlightRun  `json:"inFlightRun,omitempty"`
	Runs          []Run         `json:"runs,omitempty"`
	Receipts      []ReceiptHead `json:"receipts,omitempty"`
	ThinkingLevel string        `json:"thinkingLevel,omitempty"`
	LastSeq       int64         `json:"lastSeq"`
}

// PendingInputs lists accepted messages whose run has not begun.
type PendingInputs struct {
	Items []PendingInput `json:"items"`
	Total int            `json:"total"`
}

// PendingInput is one accepted message that waits.
type PendingInput struct {
	ID           string  `json:"id"`
	RunID        RunID   `json:"runId,omitempty"`
	Message      Message `json:"message"`
	AcceptedAtMs int64   `json:"acceptedAt"`
	State        string  `json:"state"`
}

// InFlightRun gives the text so far of a run that streams right now.
type InFlightRun struct {
	RunID    RunID  `json:"runId"`
	Text     string `json:"text"`
	Thinking string `json:"thinking,omitempty"`
}

// ChatAbortParams stops one run, or every run of a session. PreserveSideRuns
// changes nothing: a session here has no runs beside its lane.
type ChatAbortParams struct {
	SessionKey       string  `json:"sessionKey"`
	AgentID          AgentID `json:"agentId,omitempty"`
	RunID            RunID   `json:"runId,omitempty"`
	PreserveSideRuns bool    `json:"preserveSideRuns,omitempty"`
}

// ChatAbortResult names the runs that will not go on.
type ChatAbortResult struct {
	OK      bool    `json:"ok"`
	Aborted bool    `json:"aborted"`
	RunIDs  []RunID `json:"runIds"`
}

// ChatState is the discriminator of a chat event.
type ChatState string

// States of a chat event.
const (
	ChatStateStatus  ChatState = "status"
	ChatStateDelta   ChatState = "delta"
	ChatStateFinal   ChatState = "final"
	ChatStateAborted ChatState = "aborted"
	ChatStateError   ChatState = "error"
)

// ChatEvent reports the progress of a reply. DeltaText is appended, or replaces
// all text so far when Replace is set. Seq rises within a run.
type ChatEvent struct {
	RunID        RunID      `json:"runId"`
	SessionKey   SessionKey `json:"sessionKey"`
	AgentID      AgentID    `json:"agentId,omitempty"`
	Seq          int64      `json:"seq"`
	State        ChatState  `json:"state"`
	Phase        string     `json:"phase,omitempty"`
	DeltaText    string     `json:"deltaText,omitempty"`
	Replace      bool       `json:"replace,omitempty"`
	Message      *Message   `json:"message,omitempty"`
	Usage        *Usage     `json:"usage,omitempty"`
	StopReason   StopReason `json:"stopReason,omitempty"`
	ErrorMessage string     `json:"errorMessage,omitempty"`
	ErrorKind    ErrorKind  `json:"errorKind,omitempty"`
}

// MarshalJSON writes deltaText into every delta, also an empty one that only
// replaces: protocol v4 demands it, and its clients append what they find there.
func (e ChatEvent) MarshalJSON() ([]byte, error) {
	type plain ChatEvent
	if e.State != ChatStateDelta {
		return json.Marshal(plain(e))
	}
	return json.Marshal(struct {
		plain
		DeltaText string `json:"deltaText"`
	}{plain(e), e.DeltaText})
}

// ErrorKind sorts the ways a model call can fail.
type ErrorKind string

// Kinds of v4, and those a person can act on differently.
const (
	ErrorRefusal       ErrorKind = "refusal"
	ErrorTimeout       ErrorKind = "timeout"
	ErrorRateLimit     ErrorKind = "rate_limit"
	ErrorContextLength ErrorKind = "context_length"
	ErrorUnknown       ErrorKind = "unknown"
	ErrorAuth          ErrorKind = "auth"
	ErrorOverloaded    ErrorKind = "overloaded"
	ErrorNetwork       ErrorKind = "network"
	ErrorCut           ErrorKind = "cut"
	ErrorEmpty         ErrorKind = "empty"
	ErrorBadRequest    ErrorKind = "bad_request"
	ErrorNotFound      ErrorKind = "not_found"
)

// AgentStream is the discriminator of an agent event.
type AgentStream string

// Streams of agent events.
const (
	StreamLifecycle AgentStream = "lifecycle"
	StreamAssistant AgentStream = "assistant"
	StreamThinking  AgentStream = "thinking"
	StreamTool      AgentStream = "tool"
	StreamRunStatus AgentStream = "run_status"
)

// AgentEvent reports what a run does. Tool events go only to clients with
// CapToolEvents.
//
//tsgen:discriminate stream data lifecycle=LifecycleData assistant=AssistantData thinking=ThinkingData tool=ToolData run_status=RunStatusData
type AgentEvent struct {
	RunID      RunID       `json:"runId"`
	Seq        int64       `json:"seq"`
	Stream     AgentStream `json:"stream"`
	TsMs       int64       `json:"ts"`
	SessionKey SessionKey  `json:"sessionKey,omitempty"`
	Data       any         `json:"data"`
}

// LifecycleData tells where a run is: start, end or error.
type LifecycleData struct {
	Phase string `json:"phase"`
	Error string `json:"error,omitempty"`
}

// AssistantData carries reply text: all of it and the newest part.
type AssistantData struct {
	Text  string `json:"text,omitempty"`
	Delta string `json:"delta,omitempty"`
}

// ThinkingData carries a part of the model's reasoning.
type ThinkingData struct {
	Delta string `json:"delta"`
}

// ToolPhase says where a tool call is.
type ToolPhase string

// Phases of a tool call.
const (
	ToolStart  ToolPhase = "start"
	ToolUpdate ToolPhase = "update"
	ToolResult ToolPhase = "result"
)

// ToolData reports one tool call. Output is a piece of running output (update)
// or the whole result (result).
type ToolData struct {
	Phase      ToolPhase `json:"phase"`
	ToolCallID string    `json:"toolCallId"`
	Name       string    `json:"name"`
	Args       any       `json:"args,omitempty"`
	Output     string    `json:"output,omitempty"`
	Stream     string    `json:"outputStream,omitempty"`
	IsError    bool      `json:"isError,omitempty"`
	ReceiptID  ReceiptID `json:"receiptId,omitempty"`
	Sentence   string    `json:"sentence,omitempty"`
}

// RunStatusData says in words what a run is doing, or that it retries.
type RunStatusData struct {
	Phase     string `json:"phase"`
	Text      string `json:"text,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`
	RetryAtMs int64  `json:"retryAtMs,omitempty"`
}

// SessionMessageEvent tells that a message was stored. PrevSeq is the message
// before it in the conversation, 0 when it is the first: what a client holds
// between the two was taken back by an edit.
type SessionMessageEvent struct {
	SessionKey SessionKey `json:"sessionKey"`
	AgentID    AgentID    `json:"agentId,omitempty"`
	Message    Message    `json:"message"`
	MessageID  MessageID  `json:"messageId"`
	MessageSeq int64      `json:"messageSeq"`
	PrevSeq    int64      `json:"prevSeq"`
	RunID      RunID      `json:"runId,omitempty"`
}

// AttachmentGetParams asks for a stored attachment.
type AttachmentGetParams struct {
	Blob BlobID `json:"blob"`
}

// AttachmentGetResult is a stored attachment; Content is base64.
type AttachmentGetResult struct {
	Blob    BlobID `json:"blob"`
	Size    int64  `json:"size"`
	Content string `json:"content"`
}
