package host_test

import (
	"strings"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/session"
	"countersign/backend/store"
)

func TestASessionIsDescribedAlone(t *testing.T) {
	c := newRig(t).window()
	described := func(p protocol.SessionsDescribeParams) *protocol.SessionRow {
		return call[protocol.SessionsDescribeResult](c, protocol.MethodSessionsDescribe, p).Session
	}
	if row := described(protocol.SessionsDescribeParams{Key: "main"}); row != nil {
		t.Errorf("before it began it is %+v", row)
	}
	chat(c, "say hi")
	row := described(protocol.SessionsDescribeParams{Key: "main", AgentID: protocol.MainAgent})
	if row == nil || row.Key != "agent:main:main" || row.MessageCount != 2 || row.Status != protocol.SessionDone {
		t.Errorf("it is %+v", row)
	}
	if e := refused(c, protocol.MethodSessionsDescribe, protocol.SessionsDescribeParams{Key: ""}); e.Code != protocol.CodeInvalidRequest {
		t.Errorf("no key was answered %+v", e)
	}
}

func TestOneConversationHasOneKeyHoweverItIsSpelt(t *testing.T) {
	c := newRig(t).window()
	chat(c, "say hi")
	for _, spelling := range []string{"main", "MAIN", " Agent:Main:MAIN "} {
		history := call[protocol.ChatHistory](c, protocol.MethodChatHistory, protocol.ChatHistoryParams{SessionKey: spelling})
		if history.SessionKey != "agent:main:main" || len(history.Messages) != 2 {
			t.Errorf("%q is %q with %d messages", spelling, history.SessionKey, len(history.Messages))
		}
	}
	for m, params := range map[protocol.Method]any{
		protocol.MethodChatSend:       protocol.ChatSendParams{SessionKey: "../../x", Message: "hi", IdempotencyKey: freshKey()},
		protocol.MethodChatHistory:    protocol.ChatHistoryParams{SessionKey: "agent:main:main:evil"},
		protocol.MethodSessionsCreate: protocol.SessionsCreateParams{Key: "agent:main:a/b"},
		protocol.MethodApprovalList:   protocol.ApprovalListParams{All: true, SessionKey: "a b"},
	} {
		if e := refused(c, m, params); e.Code != protocol.CodeInvalidRequest || !strings.HasPrefix(e.Message, "This session key is not valid.") {
			t.Errorf("%s: %+v", m, e)
		}
	}
	if list := call[protocol.SessionsList](c, protocol.MethodSessionsList, protocol.SessionsListParams{}); list.Count != 1 {
		t.Errorf("there are %d conversations", list.Count)
	}
}

// Before keys had a grammar a conversation could have any name. It is neither
// lost nor mistaken for its namesake.
func TestAConversationWithAFormerKeyStaysWithinReach(t *testing.T) {
	r := newRig(t)
	r.close()
	for _, key := range []protocol.SessionKey{"agent:main:Notes of May", "agent:main:NOTES"} {
		r.store(func(tx *store.Tx) error {
			_, err := session.GetOrCreate(tx, key, protocol.SessionID("id of "+key), 1)
			return err
		})
	}
	r.open()
	c := r.window()
	chat(c, "say hi")
	for raw, want := range map[string]protocol.SessionKey{
		"agent:main:Notes of May": "agent:main:Notes of May", "Notes of May": "agent:main:Notes of May", "NOTES": "agent:main:NOTES", "notes": "agent:main:notes",
	} {
		if history := call[protocol.ChatHistory](c, protocol.MethodChatHistory, protocol.ChatHistoryParams{SessionKey: raw}); history.SessionKey != want {
			t.Errorf("%q is %q, not %q", raw, history.SessionKey, want)
		}
	}
	call[protocol.SessionsDeleteResult](c, protocol.MethodSessionsDelete, protocol.SessionsDeleteParams{Key: "agent:main:Notes of May"})
}

func TestSubscribingSaysWhatHoldsAndListsWhenAsked(t *testing.T) {
	c := newRig(t).window()
	chat(c, "say hi")
	plain := call[protocol.SessionsSubscribeResult](c, protocol.MethodSessionsSubscribe, protocol.SessionsListParams{})
	if !plain.Subscribed || plain.List != nil {
		t.Errorf("a plain one is %+v", plain)
	}
	listed := call[protocol.SessionsSubscribeResult](c, protocol.MethodSessionsSubscribe, protocol.SessionsListParams{Limit: 5})
	if !listed.Subscribed || listed.List == nil || listed.List.Count != 1 {
		t.Errorf("one with a limit is %+v", listed)
	}
	if e := refused(c, protocol.MethodSessionsSubscribe, map[string]any{"archived": "perhaps"}); e.Code != protocol.CodeInvalidRequest {
		t.Errorf("a wrong filter was answered %+v", e)
	}
}

func TestAnUnknownAgentIsNamedInTheDetails(t *testing.T) {
	c := newRig(t).window()
	for m, params := range map[protocol.Method]any{
		protocol.MethodChatSend:       protocol.ChatSendParams{SessionKey: "agent:nobody:x", Message: "hi", IdempotencyKey: freshKey()},
		protocol.MethodSessionsCreate: protocol.SessionsCreateParams{AgentID: "nobody"},
	} {
		e := refused(c, m, params)
		if e.Details == nil || e.Details.Code != protocol.DetailUnknownAgent || e.Details.AgentID != "nobody" {
			t.Errorf("%s: %+v", m, e)
		}
	}
}
