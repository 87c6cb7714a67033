package protocol

import "encoding/json"

// Decision is an answer to an approval.
type Decision string

// Decisions. AllowSession covers the identical plan in one session and nothing
// else. AllowAlways is known on the wire and offered only when listed in
// AllowedDecisions.
const (
	AllowOnce    Decision = "allow-once"
	AllowSession Decision = "allow-session"
	AllowAlways  Decision = "allow-always"
	Deny         Decision = "deny"
)

// ApprovalState is where an approval is. Only pending can change.
type ApprovalState string

// States of an approval.
const (
	ApprovalPending   ApprovalState = "pending"
	ApprovalAllowed   ApprovalState = "allowed"
	ApprovalDenied    ApprovalState = "denied"
	ApprovalExpired   ApprovalState = "expired"
	ApprovalCancelled ApprovalState = "cancelled"
)

// Approval is one question bound to the hash of one exact plan.
type Approval struct {
	ID           ApprovalID      `json:"id"`
	Request      ApprovalRequest `json:"request"`
	State        ApprovalState   `json:"status"`
	CreatedAtMs  int64           `json:"createdAtMs"`
	ExpiresAtMs  int64           `json:"expiresAtMs,omitempty"`
	Decision     Decision        `json:"decision,omitempty"`
	Reason       string          `json:"reason,omitempty"`
	ResolvedAtMs int64           `json:"resolvedAtMs,omitempty"`
	Resolver     *Resolver       `json:"resolver,omitempty"`
	Version      int64           `json:"version"`
}

// Resolver says who decided, and where.
type Resolver struct {
	Kind string `json:"kind"`
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
}

// ApprovalRequest is everything a person needs to decide. Command, CommandArgv,
// Cwd and EnvKeys are protocol v4's; the rest is ours.
type ApprovalRequest struct {
	AgentID      AgentID    `json:"agentId"`
	AgentName    string     `json:"agentName"`
	SessionKey   SessionKey `json:"sessionKey"`
	RunID        RunID      `json:"runId"`
	ToolCallID   string     `json:"toolCallId"`
	EffectID     EffectID   `json:"effectId"`
	Tool         string     `json:"tool"`
	ForWhom      string     `json:"forWhom"`
	Sentence     string     `json:"sentence"`
	Command      string     `json:"command,omitempty"`
	CommandArgv  []string   `json:"commandArgv,omitempty"`
	Cwd          string     `json:"cwd,omitempty"`
	EnvKeys      []string   `json:"envKeys,omitempty"`
	ResolvedPath string     `json:"resolvedPath,omitempty"`
	Host         string     `json:"host,omitempty"`
	Security     string     `json:"security,omitempty"`
	Ask          string     `json:"ask,omitempty"`
	WarningText  string     `json:"warningText,omitempty"`
	Target       string     `json:"target,omitempty"`
	Diff         string     `json:"diff,omitempty"`
	// Input is what a command reads from its standard input; it can be code.
	Input string `json:"input,omitempty"`
	// Scripts are the files that a command would run as code, in the order in which
	// it names them.
	Scripts []ApprovalScript `json:"scripts,omitempty"`
	// Changed is one sentence that says what differs from what was allowed before,
	// when it is asked again for that reason.
	Changed string `json:"changed,omitempty"`
	// Truncated says that what is shown is not all; such a plan cannot be allowed.
	Truncated        bool            `json:"truncated,omitempty"`
	Clause           string          `json:"clause"`
	Reach            []string        `json:"reach"`
	Taint            []TaintSource   `json:"taint,omitempty"`
	HighRisk         bool            `json:"highRisk,omitempty"`
	PlanHash         string          `json:"planHash"`
	Args             json.RawMessage `json:"args,omitempty"`
	AllowedDecisions []Decision      `json:"allowedDecisions"`
}

// ApprovalScript is a file that a command would run as code, with the content
// that is bound by the plan's hash: another content is another question.
type ApprovalScript struct {
	// Name is its path as people know it: relative to the workspace when it lies
	// there. Path is real and absolute.
	Name string `json:"name"`
	Path string `json:"path"`
	// SHA256 is the lower-case hex hash of the whole file.
	SHA256    string `json:"sha256"`
	SizeBytes int64  `json:"sizeBytes"`
	// Text is what it holds, empty when Binary. Cut says that it is the beginning
	// only; Binary that the file is no text, so that nothing of it can be shown.
	Text   string `json:"text"`
	Cut    bool   `json:"cut,omitempty"`
	Binary bool   `json:"binary,omitempty"`
}

// TaintSource names where untrusted text came from, with a passage of it.
type TaintSource struct {
	Source  string `json:"source"`
	Passage string `json:"passage,omitempty"`
}

// ApprovalListParams filters approvals; they come oldest first. All, SessionKey
// and Limit are our own: without All only pending ones come.
type ApprovalListParams struct {
	All        bool   `json:"all,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	Limit      int    `json:"limit,omitempty"`
}

// ApprovalGetParams names an approval; a unique prefix of the id is enough.
type ApprovalGetParams struct {
	ID ApprovalID `json:"id"`
}

// ApprovalResolveParams decides an approval. PlanHash, when given, must be the
// hash that was shown.
type ApprovalResolveParams struct {
	ID       ApprovalID `json:"id"`
	Decision Decision   `json:"decision"`
	Reason   string     `json:"reason,omitempty"`
	PlanHash string     `json:"planHash,omitempty"`
}

// ApprovalResolveResult confirms; Approval is the row as decided.
type ApprovalResolveResult struct {
	OK       bool     `json:"ok"`
	Approval Approval `json:"approval"`
}

// ApprovalResolvedEvent is the payload of exec.approval.resolved.
type ApprovalResolvedEvent struct {
	ID         ApprovalID      `json:"id"`
	Decision   Decision        `json:"decision,omitempty"`
	ResolvedBy string          `json:"resolvedBy,omitempty"`
	TsMs       int64           `json:"ts"`
	Request    ApprovalRequest `json:"request"`
	Approval   Approval        `json:"approval"`
}

// Question is a structured question of an agent to its owner.
type Question struct {
	ID           QuestionID       `json:"id"`
	RunID        RunID            `json:"runId"`
	SessionKey   SessionKey       `json:"sessionKey"`
	AgentID      AgentID          `json:"agentId"`
	ToolCallID   string           `json:"toolCallId"`
	Text         string           `json:"text"`
	Options      []QuestionOption `json:"options"`
	Multiple     bool             `json:"multiple,omitempty"`
	FreeText     bool             `json:"freeText,omitempty"`
	State        string           `json:"state"`
	Answers      []string         `json:"answers,omitempty"`
	AnswerText   string           `json:"answerText,omitempty"`
	CreatedAtMs  int64            `json:"createdAtMs"`
	ResolvedAtMs int64            `json:"resolvedAtMs,omitempty"`
	Resolver     *Resolver        `json:"resolver,omitempty"`
	Version      int64            `json:"version"`
}

// QuestionOption is one offered answer.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// QuestionListParams filters questions. Without All only open ones come.
type QuestionListParams struct {
	All bool `json:"all,omitempty"`
}

// QuestionList is questions, oldest first.
type QuestionList struct {
	Questions []Question `json:"questions"`
}

// QuestionResolveParams answers a question by labels of its options, by free
// text, or by both.
type QuestionResolveParams struct {
	ID      QuestionID `json:"id"`
	Answers []string   `json:"answers,omitempty"`
	Text    string     `json:"text,omitempty"`
}

// QuestionResult confirms an answer.
type QuestionResult struct {
	OK       bool     `json:"ok"`
	Question Question `json:"question"`
}

// QuestionEvent is the payload of question.requested and question.resolved.
type QuestionEvent struct {
	Question Question `json:"question"`
}
