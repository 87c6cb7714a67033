package protocol

// SessionStatus says what the newest run of a session is doing.
type SessionStatus string

// Statuses of a session; parked and stopped are our own words.
const (
	SessionIdle    SessionStatus = "idle"
	SessionQueued  SessionStatus = "queued"
	SessionRunning SessionStatus = "running"
	SessionParked  SessionStatus = "parked"
	SessionDone    SessionStatus = "done"
	SessionFailed  SessionStatus = "failed"
	SessionStopped SessionStatus = "stopped"
)

// SessionRow describes one conversation.
type SessionRow struct {
	Key                SessionKey    `json:"key"`
	SessionID          SessionID     `json:"sessionId"`
	Kind               string        `json:"kind"`
	Label              string        `json:"label,omitempty"`
	DerivedTitle       string        `json:"derivedTitle,omitempty"`
	LastMessagePreview string        `json:"lastMessagePreview,omitempty"`
	AgentID            AgentID       `json:"agentId"`
	CreatedAtMs        int64         `json:"createdAt"`
	UpdatedAtMs        int64         `json:"updatedAt"`
	Archived           bool          `json:"archived,omitempty"`
	Pinned             bool          `json:"pinned,omitempty"`
	Unread             bool          `json:"unread,omitempty"`
	Status             SessionStatus `json:"status"`
	LastRunID          RunID         `json:"lastRunId,omitempty"`
	LastRunError       string        `json:"lastRunError,omitempty"`
	ActiveLeafEntryID  MessageID     `json:"activeLeafEntryId,omitempty"`
	MessageCount       int64         `json:"messageCount"`
	Model              string        `json:"model,omitempty"`
	Version            int64         `json:"version"`
}

// SessionsListParams filters and pages sessions, newest first. Limit is at most
// 1000 (200).
type SessionsListParams struct {
	Limit                int     `json:"limit,omitempty"`
	Offset               int     `json:"offset,omitempty"`
	ActiveMinutes        int     `json:"activeMinutes,omitempty"`
	SortBy               string  `json:"sortBy,omitempty"`
	Search               string  `json:"search,omitempty"`
	Label                string  `json:"label,omitempty"`
	AgentID              AgentID `json:"agentId,omitempty"`
	SpawnedBy            string  `json:"spawnedBy,omitempty"`
	Archived             any     `json:"archived,omitempty"`
	IncludeDerivedTitles bool    `json:"includeDerivedTitles,omitempty"`
	IncludeLastMessage   bool    `json:"includeLastMessage,omitempty"`
	IncludeGlobal        bool    `json:"includeGlobal,omitempty"`
	IncludeUnknown       bool    `json:"includeUnknown,omitempty"`
	ConfiguredAgentsOnly bool    `json:"configuredAgentsOnly,omitempty"`
}

// SessionsList is one page of sessions.
type SessionsList struct {
	TsMs       int64        `json:"ts"`
	Count      int          `json:"count"`
	TotalCount int          `json:"totalCount"`
	HasMore    bool         `json:"hasMore"`
	NextOffset int          `json:"nextOffset,omitempty"`
	Sessions   []SessionRow `json:"sessions"`
}

// SessionsDescribeParams names one session.
type SessionsDescribeParams struct {
	Key                  string  `json:"key"`
	AgentID              AgentID `json:"agentId,omitempty"`
	IncludeDerivedTitles bool    `json:"includeDerivedTitles,omitempty"`
	IncludeLastMessage   bool    `json:"includeLastMessage,omitempty"`
}

// SessionsDescribeResult is the session, or null when there is none.
type SessionsDescribeResult struct {
	Session *SessionRow `json:"session"`
}

// SessionsSubscribeResult confirms what holds for every connection that may
// read: it is sent the events of all sessions. List is there when the params
// filtered or paged, as in sessions.list.
type SessionsSubscribeResult struct {
	Subscribed bool          `json:"subscribed"`
	List       *SessionsList `json:"list,omitempty"`
}

// SessionsCreateParams makes a session, and its first message if one is given.
type SessionsCreateParams struct {
	Key            string           `json:"key,omitempty"`
	IdempotencyKey string           `json:"idempotencyKey,omitempty"`
	AgentID        AgentID          `json:"agentId,omitempty"`
	Label          string           `json:"label,omitempty"`
	Model          string           `json:"model,omitempty"`
	Message        string           `json:"message,omitempty"`
	Attachments    []ChatAttachment `json:"attachments,omitempty"`
}

// SessionsCreateResult names the session, and the run of its first message.
type SessionsCreateResult struct {
	OK         bool        `json:"ok"`
	Key        SessionKey  `json:"key"`
	SessionID  SessionID   `json:"sessionId"`
	Entry      *SessionRow `json:"entry,omitempty"`
	RunStarted bool        `json:"runStarted,omitempty"`
	RunID      RunID       `json:"runId,omitempty"`
}

// SessionsPatchParams changes what is given and leaves the rest.
type SessionsPatchParams struct {
	Key      string  `json:"key"`
	Label    *string `json:"label,omitempty"`
	Archived *bool   `json:"archived,omitempty"`
	Pinned   *bool   `json:"pinned,omitempty"`
	Unread   *bool   `json:"unread,omitempty"`
	// Model names an entry of models.list; an empty string returns to the default.
	Model *string `json:"model,omitempty"`
}

// SessionsPatchResult is the session as it is now.
type SessionsPatchResult struct {
	OK    bool       `json:"ok"`
	Key   SessionKey `json:"key"`
	Entry SessionRow `json:"entry"`
}

// SessionsResetParams starts a new transcript under the same key; the old one
// is kept.
type SessionsResetParams struct {
	Key    string `json:"key"`
	Reason string `json:"reason,omitempty"`
}

// SessionsResetResult names the new transcript.
type SessionsResetResult struct {
	OK        bool       `json:"ok"`
	Key       SessionKey `json:"key"`
	SessionID SessionID  `json:"sessionId"`
}

// SessionsDeleteParams removes a session from the lists, and its transcript if
// asked. Receipts stay.
type SessionsDeleteParams struct {
	Key               string    `json:"key"`
	DeleteTranscript  bool      `json:"deleteTranscript,omitempty"`
	ExpectedSessionID SessionID `json:"expectedSessionId,omitempty"`
}

// SessionsDeleteResult confirms a deletion. Archived names the files that a
// transcript was moved to; protocol v4 demands it, and here it is always empty.
type SessionsDeleteResult struct {
	OK       bool       `json:"ok"`
	Key      SessionKey `json:"key"`
	Deleted  bool       `json:"deleted"`
	Archived []string   `json:"archived"`
}

// SessionsChangedEvent tells that a session changed; Row is absent after delete.
type SessionsChangedEvent struct {
	SessionKey SessionKey  `json:"sessionKey"`
	AgentID    AgentID     `json:"agentId,omitempty"`
	Reason     string      `json:"reason"`
	TsMs       int64       `json:"ts"`
	Row        *SessionRow `json:"row,omitempty"`
}
