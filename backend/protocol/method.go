package protocol

// Method names a call.
type Method string

// Methods answered here. Names of protocol v4 keep their meaning; runs.*,
// receipts.*, settings.*, folders.*, models.add|remove|found|test, secrets.*,
// pause.set, attachments.get, device.browser.* and device.ticket.create are our own.
const (
	MethodConnect           Method = "connect"
	MethodHealth            Method = "health"
	MethodStatus            Method = "status"
	MethodPresence          Method = "system-presence"
	MethodChatSend          Method = "chat.send"
	MethodChatHistory       Method = "chat.history"
	MethodChatAbort         Method = "chat.abort"
	MethodSessionsList      Method = "sessions.list"
	MethodSessionsDescribe  Method = "sessions.describe"
	MethodSessionsSubscribe Method = "sessions.subscribe"
	MethodSessionsCreate    Method = "sessions.create"
	MethodSessionsPatch     Method = "sessions.patch"
	MethodSessionsReset     Method = "sessions.reset"
	MethodSessionsDelete    Method = "sessions.delete"
	MethodAgentsList        Method = "agents.list"
	MethodAgentsUpdate      Method = "agents.update"
	MethodModelsList        Method = "models.list"
	MethodModelsAdd         Method = "models.add"
	MethodModelsRemove      Method = "models.remove"
	MethodModelsFound       Method = "models.found"
	MethodModelsTest        Method = "models.test"
	MethodApprovalList      Method = "exec.approval.list"
	MethodApprovalGet       Method = "exec.approval.get"
	MethodApprovalResolve   Method = "exec.approval.resolve"
	MethodQuestionList      Method = "question.list"
	MethodQuestionResolve   Method = "question.resolve"
	MethodRunsList          Method = "runs.list"
	MethodRunsGet           Method = "runs.get"
	MethodRunsResume        Method = "runs.resume"
	MethodReceiptsList      Method = "receipts.list"
	MethodReceiptsGet       Method = "receipts.get"
	MethodReceiptsVerify    Method = "receipts.verify"
	MethodReceiptsUndo      Method = "receipts.undo"
	MethodToolsCatalog      Method = "tools.catalog"
	MethodFoldersList       Method = "folders.list"
	MethodFoldersAdd        Method = "folders.add"
	MethodFoldersRemove     Method = "folders.remove"
	MethodSettingsGet       Method = "settings.get"
	MethodSettingsPatch     Method = "settings.patch"
	MethodSecretsStatus     Method = "secrets.status"
	MethodSecretsSet        Method = "secrets.set"
	MethodSecretsChoose     Method = "secrets.choose"
	MethodPauseSet          Method = "pause.set"
	MethodAttachmentGet     Method = "attachments.get"
	MethodDeviceList        Method = "device.pair.list"
	MethodDeviceRemove      Method = "device.pair.remove"
	MethodBrowserList       Method = "device.browser.list"
	MethodBrowserRemove     Method = "device.browser.remove"
	MethodTicketCreate      Method = "device.ticket.create"
	MethodWindowShow        Method = "window.show"
)

// MethodScopes gives the scope each method needs. A method that is not in this
// table is unknown; connect alone needs none. Looking at what waits is reading;
// deciding is not.
var MethodScopes = map[Method]Scope{
	MethodHealth:            ScopeRead,
	MethodStatus:            ScopeRead,
	MethodPresence:          ScopeRead,
	MethodChatSend:          ScopeWrite,
	MethodChatHistory:       ScopeRead,
	MethodChatAbort:         ScopeWrite,
	MethodSessionsList:      ScopeRead,
	MethodSessionsDescribe:  ScopeRead,
	MethodSessionsSubscribe: ScopeRead,
	MethodSessionsCreate:    ScopeWrite,
	MethodSessionsPatch:     ScopeWrite,
	MethodSessionsReset:     ScopeAdmin,
	MethodSessionsDelete:    ScopeAdmin,
	MethodAgentsList:        ScopeRead,
	MethodAgentsUpdate:      ScopeAdmin,
	MethodModelsList:        ScopeRead,
	MethodModelsAdd:         ScopeModels,
	MethodModelsRemove:      ScopeModels,
	MethodModelsFound:       ScopeModels,
	MethodModelsTest:        ScopeModels,
	MethodApprovalList:      ScopeRead,
	MethodApprovalGet:       ScopeRead,
	MethodApprovalResolve:   ScopeApprovals,
	MethodQuestionList:      ScopeRead,
	MethodQuestionResolve:   ScopeQuestions,
	MethodRunsList:          ScopeRead,
	MethodRunsGet:           ScopeRead,
	MethodRunsResume:        ScopeApprovals,
	MethodReceiptsList:      ScopeRead,
	MethodReceiptsGet:       ScopeRead,
	MethodReceiptsVerify:    ScopeRead,
	MethodReceiptsUndo:      ScopeWrite,
	MethodToolsCatalog:      ScopeRead,
	MethodFoldersList:       ScopeRead,
	MethodFoldersAdd:        ScopeAdmin,
	MethodFoldersRemove:     ScopeAdmin,
	MethodSettingsGet:       ScopeRead,
	MethodSettingsPatch:     ScopeAdmin,
	MethodSecretsStatus:     ScopeRead,
	MethodSecretsSet:        ScopeModels,
	MethodSecretsChoose:     ScopeAdmin,
	MethodPauseSet:          ScopeWrite,
	MethodAttachmentGet:     ScopeRead,
	MethodDeviceList:        ScopePairing,
	MethodDeviceRemove:      ScopePairing,
	MethodBrowserList:       ScopePairing,
	MethodBrowserRemove:     ScopePairing,
	MethodTicketCreate:      ScopePairing,
	MethodWindowShow:        ScopeRead,
}

// EventName names an event.
type EventName string

// Events sent here. Those from EventRun on are our own and go only to clients
// with CapChanges.
const (
	EventChallenge         EventName = "connect.challenge"
	EventTick              EventName = "tick"
	EventHealth            EventName = "health"
	EventPresence          EventName = "presence"
	EventShutdown          EventName = "shutdown"
	EventChat              EventName = "chat"
	EventAgent             EventName = "agent"
	EventSessionMessage    EventName = "session.message"
	EventSessionsChanged   EventName = "sessions.changed"
	EventApprovalRequested EventName = "exec.approval.requested"
	EventApprovalResolved  EventName = "exec.approval.resolved"
	EventQuestionRequested EventName = "question.requested"
	EventQuestionResolved  EventName = "question.resolved"
	EventRun               EventName = "run"
	EventReceipt           EventName = "receipt"
	EventSettings          EventName = "settings"
	EventChange            EventName = "change"
)

// EventScopes gives the scope a client needs to be sent an event; an event that
// is not in this table is never sent. The empty scope means every client.
var EventScopes = map[EventName]Scope{
	EventChallenge:         "",
	EventTick:              "",
	EventHealth:            "",
	EventShutdown:          "",
	EventPresence:          ScopeRead,
	EventChat:              ScopeRead,
	EventAgent:             ScopeRead,
	EventSessionMessage:    ScopeRead,
	EventSessionsChanged:   ScopeRead,
	EventApprovalRequested: ScopeApprovals,
	EventApprovalResolved:  ScopeApprovals,
	EventQuestionRequested: ScopeQuestions,
	EventQuestionResolved:  ScopeQuestions,
	EventRun:               ScopeRead,
	EventReceipt:           ScopeRead,
	EventSettings:          ScopeRead,
	EventChange:            ScopeRead,
}

// ChangeEvent carries one durable change: keys and versions, never content.
// Seq is the global rising sequence a client resumes from.
type ChangeEvent struct {
	Seq     int64  `json:"seq"`
	Kind    string `json:"kind"`
	Key     string `json:"key"`
	Version int64  `json:"version"`
	AtMs    int64  `json:"atMs"`
}

// TickEvent is the heartbeat of a connection.
type TickEvent struct {
	TsMs int64 `json:"ts"`
}

// ShutdownEvent announces the end of the host.
type ShutdownEvent struct {
	Reason            string `json:"reason"`
	RestartExpectedMs int64  `json:"restartExpectedMs,omitempty"`
}

// Empty is the params of a call without any, or the payload of one with nothing
// to say.
type Empty struct{}

// OKResult is the payload of a call that only confirms.
type OKResult struct {
	OK bool `json:"ok"`
}
