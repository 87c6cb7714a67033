//go:build peers

package peers_test

// whole as a rule says that a definition is not ours at all: method or event carry
// the same name and other content.
const whole = "*"

// health stands for the definition of the health snapshot, wherever it is.
const health = "Snapshot/properties/health"

// deviations are the differences from the schema that are meant. OpenClaw's own
// clients bear each additional key; a definition that is whole ours is one that
// its clients refuse in one piece and go on without.
func deviations() []deviation {
	const additional = "additionalProperties"
	return []deviation{
		{
			health, "", additional, []string{"keychain", "needsYou", "paused", "problems", "sandbox", "walBytes", "working"},
			"what our window shows of the host: what waits for the owner, where commands run, where keys are kept",
		},
		{
			"HelloOk", "/auth", additional, []string{"method"},
			"OpenClaw 2026.9.6 itself sends it; the schema of 2026.9.1 is behind",
		},
		{
			"AgentEvent", "", additional, []string{"sessionKey"},
			"OpenClaw 2026.9.6 itself sends it and its terminal program needs it; the schema is behind",
		},
		{
			"AgentsListResult", "/agents/*", additional, []string{"version"},
			"the number by which our page tells an older row from a newer one",
		},
		{
			"ModelsListResult", "/models/*", additional, []string{"default", "model", "noKey"},
			"a model here has a name in the settings and another at its provider, and may need no key",
		},
		{
			"SessionRow", "/status", "anyOf", []string{""},
			"idle, parked and stopped are states of their own here; killed and timeout do not happen",
		},
		{
			"ChatErrorEvent", "/errorKind", "anyOf", []string{""},
			"a person acts differently on a wrong key, a cut stream and a network that is away; version 4 calls them all unknown",
		},
		{
			"ExecApprovalRequestParams", "", additional,
			[]string{"agentName", "allowedDecisions", "args", "clause", "effectId", "envKeys", "forWhom", "planHash", "reach", "sentence", "target", "tool"},
			"the definition is that of a question a client asks; a card shows what it is bound to, and OpenClaw's event adds keys too",
		},
		{
			"QuestionListResult", "", whole, []string{""},
			"a question here is one question with its session, its answer and who gave it; version 4 has forms of several that expire",
		},
		{"QuestionRecord", "", whole, []string{""}, "the event carries the same question as the list does"},
		{"QuestionResolveResult", "", whole, []string{""}, "the answer is the question as it was answered, with who answered it"},
		{"QuestionResolvedEvent", "", whole, []string{""}, "the event carries the question as it was answered"},
		{
			"ToolsCatalogResult", "", whole, []string{""},
			"a tool here declares what it repeats, reads, brings and sends; version 4 has profiles and plugins instead",
		},
	}
}

// params are the keys of calls that one side has and the other has not. A key of
// version 4 that is not taken is refused by name, for each of them asks for
// something that would otherwise silently not happen.
func params() map[string]keysOf {
	return map[string]keysOf{
		"ConnectParams":     {own: []string{"resume"}, refused: []string{"computerUse", "workerRuns"}},
		"ChatHistoryParams": {own: []string{"beforeSeq"}, refused: []string{"cursor", "inputRunIds", "messageId", "pendingBefore"}},
		"ChatSendParams": {own: []string{"replaceMessageId"}, refused: []string{
			"expectedPermissionMode", "expectedSessionRoutingContract", "expectedToolOverrides", "fastAutoOnSeconds", "intent",
			"originatingAccountId", "originatingChannel", "originatingThreadId", "originatingTo", "systemInputProvenance",
			"systemProvenanceReceipt", "toolBindings",
		}},
		"SessionsListParams": {refused: []string{
			"boardFace", "creatorId", "includePeople", "involvingMe", "involvingProfileId", "ownerFirst", "ownerId", "requireLastInteraction",
		}},
		// OpenClaw's terminal program sends agentId, though the schema has it not.
		"SessionsDescribeParams": {own: []string{"agentId"}},
		"SessionsCreateParams": {refused: []string{
			"catalogId", "category", "contextWindow", "cwd", "displayName", "emitCommandHooks", "execNode", "fastMode", "fork", "forkFrom",
			"incognito", "parentSessionKey", "permissionMode", "projectGitUrl", "projectId", "spawnDepth", "succeedsParent", "task",
			"thinkingLevel", "toolOverrides", "visibility", "worktree", "worktreeBaseRef", "worktreeName",
		}},
		"SessionsPatchParams": {refused: []string{
			"agentId", "attention", "boardFace", "category", "color", "completionOwnerSessionKey", "contextWindow", "elevatedLevel",
			"execAsk", "execHost", "execNode", "execSecurity", "expectedLifecycleRevision", "expectedMarkedUnreadAt",
			"expectedPermissionMode", "expectedSessionId", "expectedToolOverrides", "fastMode", "groupActivation", "icon",
			"inheritedToolAllow", "inheritedToolDeny", "inheritedToolPolicyVersion", "permissionMode", "reasoningLevel",
			"responseUsage", "sendPolicy", "statusNote", "thinkingLevel", "toolOverrides", "traceLevel", "ttlMinutes", "verboseLevel",
		}},
		"SessionsResetParams": {refused: []string{"agentId"}},
		"SessionsDeleteParams": {refused: []string{
			"agentId", "archivedOnly", "emitLifecycleHooks", "expectedLifecycleRevision", "expectedSessionUpdatedAt",
		}},
		"AgentsUpdateParams":    {refused: []string{"avatar"}},
		"ModelsListParams":      {refused: []string{"includeProviderCapabilities", "preparedOnly"}},
		"ApprovalResolveParams": {own: []string{"planHash", "reason"}, refused: []string{"grantExpiresInDays", "kind", "reviewer"}},
		"ToolsCatalogParams":    {refused: []string{"includePlugins"}},
	}
}
