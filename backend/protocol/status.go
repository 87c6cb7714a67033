package protocol

// Health is the short state of the host.
type Health struct {
	OK             bool          `json:"ok"`
	TsMs           int64         `json:"ts"`
	DurationMs     int64         `json:"durationMs"`
	DefaultAgentID AgentID       `json:"defaultAgentId"`
	Channels       any           `json:"channels"`
	ChannelOrder   []string      `json:"channelOrder"`
	Problems       []Problem     `json:"problems"`
	Paused         bool          `json:"paused"`
	NeedsYou       int           `json:"needsYou"`
	Working        int           `json:"working"`
	Sandbox        SandboxStatus `json:"sandbox"`
	Keychain       SecretStatus  `json:"keychain"`
	WALBytes       int64         `json:"walBytes"`
}

// Problem is something the owner should know: what happened, what is safe, what
// to do next.
type Problem struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Sentence string `json:"sentence"`
	Remedy   string `json:"remedy,omitempty"`
}

// SandboxStatus says where commands run.
type SandboxStatus struct {
	Mechanism string `json:"mechanism"`
	Reason    string `json:"reason,omitempty"`
	Remedy    string `json:"remedy,omitempty"`
}

// SecretStatus says where secrets are kept: keychain, locked, none, file,
// file-locked or session.
type SecretStatus struct {
	State    string `json:"state"`
	Sentence string `json:"sentence"`
	Remedy   string `json:"remedy,omitempty"`
}

// SecretsSetParams stores a model's key; it is never sent back.
type SecretsSetParams struct {
	Model string `json:"model"`
	Key   string `json:"key"`
}

// SecretsChooseParams chooses what to do without a keychain: create a
// passphrase-encrypted file, unlock it, or keep secrets in memory until Quit.
type SecretsChooseParams struct {
	Choice     string `json:"choice"`
	Passphrase string `json:"passphrase,omitempty"`
}

// Status is the long state of the host.
type Status struct {
	RuntimeVersion string         `json:"runtimeVersion"`
	PID            int            `json:"pid"`
	UptimeMs       int64          `json:"uptimeMs"`
	BootEpoch      int64          `json:"bootEpoch"`
	Home           string         `json:"home,omitempty"`
	Health         Health         `json:"health"`
	Sessions       StatusSessions `json:"sessions"`
	Runs           StatusRuns     `json:"runs"`
	Lanes          []LaneStatus   `json:"lanes"`
	Receipts       int64          `json:"receipts"`
}

// StatusSessions counts sessions.
type StatusSessions struct {
	Count int64 `json:"count"`
}

// StatusRuns counts runs that have not ended.
type StatusRuns struct {
	Queued  int `json:"queued"`
	Running int `json:"running"`
	Parked  int `json:"parked"`
}

// LaneStatus says who holds a lane, since when, doing what.
type LaneStatus struct {
	Lane    string     `json:"lane"`
	RunID   RunID      `json:"runId"`
	Session SessionKey `json:"sessionKey"`
	SinceMs int64      `json:"sinceMs"`
	Step    string     `json:"step"`
	Waiting int        `json:"waiting"`
}

// Presence is one connected client.
type Presence struct {
	TsMs         int64    `json:"ts"`
	Host         string   `json:"host,omitempty"`
	Version      string   `json:"version,omitempty"`
	Platform     string   `json:"platform,omitempty"`
	DeviceFamily string   `json:"deviceFamily,omitempty"`
	Mode         string   `json:"mode,omitempty"`
	Reason       string   `json:"reason,omitempty"`
	Text         string   `json:"text,omitempty"`
	DeviceID     DeviceID `json:"deviceId,omitempty"`
	InstanceID   string   `json:"instanceId,omitempty"`
	Roles        []string `json:"roles,omitempty"`
	Scopes       []Scope  `json:"scopes,omitempty"`
}

// PresenceEvent is the payload of presence.
type PresenceEvent struct {
	Presence []Presence `json:"presence"`
}
