package protocol

import "encoding/json"

// Outcome says how an effect ended. Unknown is an outcome of its own, never a
// kind of failure.
type Outcome string

// Outcomes of an effect.
const (
	OutcomeDone    Outcome = "done"
	OutcomeFailed  Outcome = "failed"
	OutcomeUnknown Outcome = "unknown"
	OutcomeDenied  Outcome = "denied"
	OutcomeStopped Outcome = "stopped"
)

// EffectClass sorts effects for people: what kind of act it was.
type EffectClass string

// Classes of effects.
const (
	ClassRead    EffectClass = "read"
	ClassWrite   EffectClass = "write"
	ClassCommand EffectClass = "command"
	ClassAsk     EffectClass = "ask"
	ClassUndo    EffectClass = "undo"
	ClassSend    EffectClass = "send"
)

// Receipt is the record of how one effect ended, readable by a person and
// chained by hash.
type Receipt struct {
	ID          ReceiptID       `json:"id"`
	Seq         int64           `json:"seq"`
	EffectID    EffectID        `json:"effectId"`
	Sentence    string          `json:"sentence"`
	Class       EffectClass     `json:"class"`
	Tool        string          `json:"tool"`
	Args        json.RawMessage `json:"args"`
	Target      string          `json:"target,omitempty"`
	Represents  string          `json:"represents"`
	Origin      ReceiptOrigin   `json:"origin"`
	Taint       []TaintSource   `json:"taint,omitempty"`
	Authority   Authority       `json:"authority"`
	Outcome     Outcome         `json:"outcome"`
	Evidence    Evidence        `json:"evidence"`
	Undo        UndoState       `json:"undo"`
	StartedAtMs int64           `json:"startedAtMs,omitempty"`
	EndedAtMs   int64           `json:"endedAtMs"`
	Chain       ChainLink       `json:"chain"`
}

// ReceiptHead is the line of a receipt that stands in a transcript: what is
// needed to say in one word and one sentence how a call ended.
type ReceiptHead struct {
	ID         ReceiptID `json:"id"`
	Outcome    Outcome   `json:"outcome"`
	Sentence   string    `json:"sentence"`
	ExitStatus *int      `json:"exitStatus,omitempty"`
	Signal     string    `json:"signal,omitempty"`
	UndoneBy   ReceiptID `json:"undoneBy,omitempty"`
}

// ReceiptOrigin says whose request led here.
type ReceiptOrigin struct {
	Channel    string     `json:"channel"`
	Sender     string     `json:"sender"`
	AgentID    AgentID    `json:"agentId"`
	AgentName  string     `json:"agentName"`
	SessionKey SessionKey `json:"sessionKey"`
	RunID      RunID      `json:"runId,omitempty"`
	ToolCallID string     `json:"toolCallId,omitempty"`
}

// Authority says what allowed or refused the effect: a clause of the policy, or
// an approval and who gave it.
type Authority struct {
	Kind       string     `json:"kind"`
	Clause     string     `json:"clause"`
	ApprovalID ApprovalID `json:"approvalId,omitempty"`
	Decision   Decision   `json:"decision,omitempty"`
	By         string     `json:"by,omitempty"`
	AtMs       int64      `json:"atMs,omitempty"`
	Reason     string     `json:"reason,omitempty"`
}

// Evidence is what is known of an outcome; sizes in bytes.
type Evidence struct {
	ExitStatus    *int   `json:"exitStatus,omitempty"`
	Signal        string `json:"signal,omitempty"`
	BytesRead     int64  `json:"bytesRead,omitempty"`
	BytesWritten  int64  `json:"bytesWritten,omitempty"`
	HashBefore    string `json:"hashBefore,omitempty"`
	HashAfter     string `json:"hashAfter,omitempty"`
	ExistedBefore *bool  `json:"existedBefore,omitempty"`
	DurationMs    int64  `json:"durationMs,omitempty"`
	Sandbox       string `json:"sandbox,omitempty"`
	Output        string `json:"output,omitempty"`
	OutputCut     int64  `json:"outputCut,omitempty"`
	Error         string `json:"error,omitempty"`
	Note          string `json:"note,omitempty"`
}

// UndoState says whether an effect can be taken back, and if not why.
type UndoState struct {
	Available bool      `json:"available"`
	Reason    string    `json:"reason,omitempty"`
	UndoneBy  ReceiptID `json:"undoneBy,omitempty"`
	Undoes    ReceiptID `json:"undoes,omitempty"`
}

// ChainLink binds a receipt to the one before it: Hash covers Prev and
// PayloadHash, and PayloadHash covers all else, so that a lawful erasure leaves
// a tombstone that still verifies.
type ChainLink struct {
	Prev        string `json:"prev"`
	PayloadHash string `json:"payloadHash"`
	Hash        string `json:"hash"`
}

// ReceiptsListParams filters receipts, newest first. Search looks in sentence,
// target and tool. Limit is at most 500 (100).
type ReceiptsListParams struct {
	Search     string        `json:"search,omitempty"`
	SessionKey string        `json:"sessionKey,omitempty"`
	RunID      RunID         `json:"runId,omitempty"`
	Classes    []EffectClass `json:"classes,omitempty"`
	Outcomes   []Outcome     `json:"outcomes,omitempty"`
	Tool       string        `json:"tool,omitempty"`
	BeforeSeq  int64         `json:"beforeSeq,omitempty"`
	Limit      int           `json:"limit,omitempty"`
}

// ReceiptsList is one page of receipts.
type ReceiptsList struct {
	Receipts []Receipt `json:"receipts"`
	Total    int64     `json:"total"`
	HasMore  bool      `json:"hasMore"`
}

// ReceiptsGetParams names a receipt; a unique prefix of the id is enough.
type ReceiptsGetParams struct {
	ID ReceiptID `json:"id"`
}

// ReceiptsVerifyResult tells whether every link holds. Anchor says how the head
// compares with the one kept in the keychain: matches, missing, differs or
// unavailable.
type ReceiptsVerifyResult struct {
	OK       bool      `json:"ok"`
	Count    int64     `json:"count"`
	Head     string    `json:"head"`
	Anchor   string    `json:"anchor"`
	Sentence string    `json:"sentence"`
	BrokenID ReceiptID `json:"brokenId,omitempty"`
	BrokenAt int64     `json:"brokenAtSeq,omitempty"`
}

// ReceiptsUndoParams takes back an effect.
type ReceiptsUndoParams struct {
	ID ReceiptID `json:"id"`
}

// ReceiptsUndoResult is the receipt of the undoing.
type ReceiptsUndoResult struct {
	OK      bool    `json:"ok"`
	Receipt Receipt `json:"receipt"`
}

// ReceiptEvent tells that a receipt was written, or that its undo state changed.
type ReceiptEvent struct {
	Receipt Receipt `json:"receipt"`
}
