package protocol

import "reflect"

// Call is one row of the method table: what a method takes, answers and needs.
type Call struct {
	Method Method
	// Scope is what a caller needs; empty means that every connection may call.
	Scope Scope
	// Params and Result are the Go types of the request's params and of the
	// response's payload.
	Params, Result reflect.Type
}

// Calls is the method table, in the order of the documentation. The gateway
// refuses a handler whose types differ from it, and the TypeScript types are
// made from it. It is safe for concurrent use; each call makes a new slice.
func Calls() []Call {
	return []Call{
		call[ConnectParams, HelloOK](MethodConnect),
		call[HealthParams, Health](MethodHealth),
		call[StatusParams, Status](MethodStatus),
		call[Empty, []Presence](MethodPresence),
		call[ChatSendParams, ChatSendResult](MethodChatSend),
		call[ChatHistoryParams, ChatHistory](MethodChatHistory),
		call[ChatAbortParams, ChatAbortResult](MethodChatAbort),
		call[SessionsListParams, SessionsList](MethodSessionsList),
		call[SessionsDescribeParams, SessionsDescribeResult](MethodSessionsDescribe),
		call[SessionsListParams, SessionsSubscribeResult](MethodSessionsSubscribe),
		call[SessionsCreateParams, SessionsCreateResult](MethodSessionsCreate),
		call[SessionsPatchParams, SessionsPatchResult](MethodSessionsPatch),
		call[SessionsResetParams, SessionsResetResult](MethodSessionsReset),
		call[SessionsDeleteParams, SessionsDeleteResult](MethodSessionsDelete),
		call[Empty, AgentsList](MethodAgentsList),
		call[AgentsUpdateParams, AgentsUpdateResult](MethodAgentsUpdate),
		call[ModelsListParams, ModelsList](MethodModelsList),
		call[ModelsAddParams, ModelsAddResult](MethodModelsAdd),
		call[ModelsRemoveParams, OKResult](MethodModelsRemove),
		call[Empty, ModelsFound](MethodModelsFound),
		call[ModelsTestParams, ModelsTestResult](MethodModelsTest),
		call[ApprovalListParams, []Approval](MethodApprovalList),
		call[ApprovalGetParams, Approval](MethodApprovalGet),
		call[ApprovalResolveParams, ApprovalResolveResult](MethodApprovalResolve),
		call[QuestionListParams, QuestionList](MethodQuestionList),
		call[QuestionResolveParams, QuestionResult](MethodQuestionResolve),
		call[RunsListParams, RunsList](MethodRunsList),
		call[RunsGetParams, Run](MethodRunsGet),
		call[RunsResumeParams, Run](MethodRunsResume),
		call[ReceiptsListParams, ReceiptsList](MethodReceiptsList),
		call[ReceiptsGetParams, Receipt](MethodReceiptsGet),
		call[Empty, ReceiptsVerifyResult](MethodReceiptsVerify),
		call[ReceiptsUndoParams, ReceiptsUndoResult](MethodReceiptsUndo),
		call[ToolsCatalogParams, ToolsCatalog](MethodToolsCatalog),
		call[FoldersParams, FoldersList](MethodFoldersList),
		call[FolderParams, FoldersList](MethodFoldersAdd),
		call[FolderParams, FoldersList](MethodFoldersRemove),
		call[Empty, Settings](MethodSettingsGet),
		call[SettingsPatchParams, Settings](MethodSettingsPatch),
		call[Empty, SecretStatus](MethodSecretsStatus),
		call[SecretsSetParams, SecretStatus](MethodSecretsSet),
		call[SecretsChooseParams, SecretStatus](MethodSecretsChoose),
		call[PauseParams, OKResult](MethodPauseSet),
		call[AttachmentGetParams, AttachmentGetResult](MethodAttachmentGet),
		call[Empty, DeviceList](MethodDeviceList),
		call[DeviceRemoveParams, OKResult](MethodDeviceRemove),
		call[Empty, BrowserList](MethodBrowserList),
		call[BrowserRemoveParams, OKResult](MethodBrowserRemove),
		call[TicketParams, Ticket](MethodTicketCreate),
		call[Empty, OKResult](MethodWindowShow),
	}
}

// EventPayload is one row of the event table: what an event carries.
type EventPayload struct {
	Event EventName
	// Scope is what a client needs to be sent the event; empty means everyone.
	Scope   Scope
	Payload reflect.Type
}

// EventPayloads is the event table. An event that is not in it is never sent.
// It is safe for concurrent use; each call makes a new slice.
func EventPayloads() []EventPayload {
	return []EventPayload{
		event[Challenge](EventChallenge),
		event[TickEvent](EventTick),
		event[Health](EventHealth),
		event[PresenceEvent](EventPresence),
		event[ShutdownEvent](EventShutdown),
		event[ChatEvent](EventChat),
		event[AgentEvent](EventAgent),
		event[SessionMessageEvent](EventSessionMessage),
		event[SessionsChangedEvent](EventSessionsChanged),
		event[Approval](EventApprovalRequested),
		event[ApprovalResolvedEvent](EventApprovalResolved),
		event[QuestionEvent](EventQuestionRequested),
		event[QuestionEvent](EventQuestionResolved),
		event[RunEvent](EventRun),
		event[ReceiptEvent](EventReceipt),
		event[SettingsEvent](EventSettings),
		event[ChangeEvent](EventChange),
	}
}

// HealthParams asks for the short state; Probe asks for a fresh one.
type HealthParams struct {
	Probe bool `json:"probe,omitempty"`
}

// StatusParams asks for the long state.
type StatusParams struct {
	IncludeChannelSummary bool `json:"includeChannelSummary,omitempty"`
}

// ToolsCatalogParams names an agent; empty means the main one.
type ToolsCatalogParams struct {
	AgentID AgentID `json:"agentId,omitempty"`
}

func call[P, R any](m Method) Call {
	return Call{Method: m, Scope: MethodScopes[m], Params: reflect.TypeFor[P](), Result: reflect.TypeFor[R]()}
}

func event[P any](e EventName) EventPayload {
	return EventPayload{Event: e, Scope: EventScopes[e], Payload: reflect.TypeFor[P]()}
}
