package host_test

import (
	"testing"

	"countersign/backend/protocol"
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
