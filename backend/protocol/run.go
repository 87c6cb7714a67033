package protocol

// RunState is where a run is; all of them are on disk.
type RunState string

// States: queued → running → done | failed | stopped, and running ⇄ parked.
const (
	RunQueued  RunState = "queued"
	RunRunning RunState = "running"
	RunParked  RunState = "parked"
	RunDone    RunState = "done"
	RunFailed  RunState = "failed"
	RunStopped RunState = "stopped"
)

// Ended reports whether a state is final.
func (s RunState) Ended() bool { return s == RunDone || s == RunFailed || s == RunStopped }

// ParkReason says what a parked run waits for.
type ParkReason string

// Reasons to park.
const (
	ParkApproval ParkReason = "approval"
	ParkQuestion ParkReason = "question"
	ParkChild    ParkReason = "child"
	ParkUnknown  ParkReason = "unknown"
	ParkCeiling  ParkReason = "ceiling"
	ParkRecovery ParkReason = "recovery"
)

// CeilingName names a hard limit of a run.
type CeilingName string

// Ceilings of a run.
const (
	CeilingModelCalls CeilingName = "modelCalls"
	CeilingToolCalls  CeilingName = "toolCalls"
	CeilingWallTime   CeilingName = "wallTime"
)

// Gauge is the use of one ceiling; wallTime counts milliseconds of working time.
type Gauge struct {
	Name  CeilingName `json:"name"`
	Used  int64       `json:"used"`
	Limit int64       `json:"limit"`
}

// Run describes one execution. WallAtMs is when its working time was last
// counted; while it is running, its working time goes on from there.
type Run struct {
	RunID        RunID        `json:"runId"`
	SessionKey   SessionKey   `json:"sessionKey"`
	AgentID      AgentID      `json:"agentId"`
	State        RunState     `json:"state"`
	ParkReason   ParkReason   `json:"parkReason,omitempty"`
	ParkDetail   string       `json:"parkDetail,omitempty"`
	ParkedAtMs   int64        `json:"parkedAtMs,omitempty"`
	Step         string       `json:"step,omitempty"`
	Stopping     bool         `json:"stopping,omitempty"`
	Gauges       []Gauge      `json:"gauges"`
	WallAtMs     int64        `json:"wallAtMs,omitempty"`
	Ceiling      CeilingName  `json:"ceiling,omitempty"`
	ApprovalIDs  []ApprovalID `json:"approvalIds,omitempty"`
	QuestionIDs  []QuestionID `json:"questionIds,omitempty"`
	UnknownIDs   []EffectID   `json:"unknownEffectIds,omitempty"`
	Recoveries   int          `json:"recoveries,omitempty"`
	Title        string       `json:"title"`
	Model        string       `json:"model,omitempty"`
	ErrorMessage string       `json:"errorMessage,omitempty"`
	ErrorKind    ErrorKind    `json:"errorKind,omitempty"`
	AcceptedAtMs int64        `json:"acceptedAtMs"`
	StartedAtMs  int64        `json:"startedAtMs,omitempty"`
	EndedAtMs    int64        `json:"endedAtMs,omitempty"`
	InputTokens  int64        `json:"inputTokens,omitempty"`
	OutputTokens int64        `json:"outputTokens,omitempty"`
	Version      int64        `json:"version"`
}

// RunsListParams filters runs, newest first; Open keeps those that have not
// ended. Limit is at most 500 (100).
type RunsListParams struct {
	SessionKey string `json:"sessionKey,omitempty"`
	Open       bool   `json:"open,omitempty"`
	Limit      int    `json:"limit,omitempty"`
}

// RunsList is a page of runs.
type RunsList struct {
	Runs []Run `json:"runs"`
}

// RunsGetParams names a run.
type RunsGetParams struct {
	RunID RunID `json:"runId"`
}

// RunChoice is what a person decides about a parked run.
type RunChoice string

// Choices: go on (a ceiling is raised once; an unknown effect is left unknown
// and the model is told), count an unknown effect as done, or give up.
const (
	ChoiceContinue    RunChoice = "continue"
	ChoiceTreatAsDone RunChoice = "treat-as-done"
	ChoiceGiveUp      RunChoice = "give-up"
)

// RunsResumeParams decides about a parked run; Note is handed to the model.
type RunsResumeParams struct {
	RunID  RunID     `json:"runId"`
	Choice RunChoice `json:"choice"`
	Note   string    `json:"note,omitempty"`
}

// RunEvent tells that a run changed.
type RunEvent struct {
	Run Run `json:"run"`
}

// PauseParams pauses or resumes all work: no new calls and no new sends, what
// runs may finish its step.
type PauseParams struct {
	Paused bool `json:"paused"`
}
