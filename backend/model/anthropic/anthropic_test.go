package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/backend/model"
	"countersign/backend/model/anthropic"
	"countersign/backend/model/modeltest"
	"countersign/backend/protocol"
	"countersign/backend/testkit/modelstub"
)

func TestSuite(t *testing.T) {
	modeltest.Scripted(t, modelstub.Anthropic, anthropic.New)
}

func start(t *testing.T, replies ...modelstub.Reply) (*modelstub.Server, model.Provider) {
	t.Helper()
	stub := modelstub.New(t, replies...)
	p, err := anthropic.New(model.Config{BaseURL: stub.URL + "/v1/", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	return stub, p
}

func TestSignedThinkingComesBackUnchanged(t *testing.T) {
	stub, p := start(t, modelstub.Reply{Piece: 1, Blocks: []modelstub.Block{
		{Thinking: "a <&> \u2028 \" 🦀"}, {Redacted: "secret"}, {Text: "so"}, {Thinking: "again"},
		{Call: &modelstub.Call{ID: "toolu_1", Name: "list", Args: `{"path":"x"}`}},
	}}, modelstub.Text("done"))
	req := modeltest.Ask("go")
	req.Thinking = "medium"
	resp, err := p.Stream(t.Context(), req, func(model.Delta) {})
	if err != nil || len(resp.Content) != 5 {
		t.Fatalf("%v, %v", resp.Content, err)
	}
	stored, err := json.Marshal(resp.Content)
	if err != nil {
		t.Fatal(err)
	}
	var loaded protocol.Blocks
	if err := json.Unmarshal(stored, &loaded); err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, protocol.Message{Role: protocol.RoleAssistant, Content: loaded},
		protocol.Message{Role: protocol.RoleToolResult, ToolCallID: "toolu_1", Content: protocol.Blocks{protocol.TextBlock{Text: "ok"}}})
	if _, err := p.Stream(t.Context(), req, func(model.Delta) {}); err != nil {
		t.Fatal(err)
	}
	body := string(stub.Requests()[1].Body)
	if !strings.Contains(body, `"type":"adaptive"`) || !strings.Contains(body, "redacted_thinking") {
		t.Errorf("the request does not think: %s", body)
	}
}

func TestALoopThatBeganWithoutThinkingEndsWithoutIt(t *testing.T) {
	stub, p := start(t, modelstub.Text("done"))
	req := modeltest.Ask("go")
	req.Thinking = "high"
	req.Messages = append(req.Messages, protocol.Message{Role: protocol.RoleAssistant, Content: protocol.Blocks{protocol.ToolCallBlock{ID: "a", Name: "list"}}},
		protocol.Message{Role: protocol.RoleToolResult, ToolCallID: "a"})
	if _, err := p.Stream(t.Context(), req, func(model.Delta) {}); err != nil {
		t.Fatal(err)
	}
	if body := string(stub.Requests()[0].Body); strings.Contains(body, `"thinking"`) {
		t.Errorf("thinking is asked for: %s", body)
	}
}

func TestTheKindOfThinkingIsLearntOnce(t *testing.T) {
	refused := modelstub.Refusal(400, "invalid_request_error", "adaptive thinking is not supported on this model", "")
	stub, p := start(t, refused, modelstub.Text("one"), modelstub.Text("two"))
	req := modeltest.Ask("go")
	req.Thinking = "low"
	for _, want := range []string{"one", "two"} {
		resp, err := p.Stream(t.Context(), req, func(model.Delta) {})
		if err != nil || resp.Content.Text() != want {
			t.Fatalf("%q, %v", resp.Content.Text(), err)
		}
	}
	if requests := stub.Requests(); len(requests) != 3 || !strings.Contains(string(requests[2].Body), "budget_tokens") {
		t.Errorf("%d requests", len(requests))
	}
}

func TestTheLongestAnswerIsLearntOnce(t *testing.T) {
	refused := modelstub.Refusal(400, "invalid_request_error", "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for stub-small", "")
	stub, p := start(t, refused, modelstub.Text("one"), modelstub.Text("two"))
	for range 2 {
		if _, err := p.Stream(t.Context(), modeltest.Ask("go"), func(model.Delta) {}); err != nil {
			t.Fatal(err)
		}
	}
	if requests := stub.Requests(); len(requests) != 3 || !strings.Contains(string(requests[2].Body), `"max_tokens":8192`) {
		t.Errorf("%d requests", len(requests))
	}
}

func TestTheStablePartIsMarkedForTheCache(t *testing.T) {
	stub, p := start(t, modelstub.Text("done"))
	if _, err := p.Stream(t.Context(), modeltest.Ask("go"), func(model.Delta) {}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(stub.Requests()[0].Body), "cache_control"); n != 3 {
		t.Errorf("%d marks", n)
	}
}

func TestRedactedThinkingIsKept(t *testing.T) {
	_, p := start(t, modelstub.Reply{Blocks: []modelstub.Block{{Redacted: "hidden"}, {Text: "answer"}}})
	resp, err := p.Stream(t.Context(), modeltest.Ask("go"), func(model.Delta) {})
	want := protocol.Blocks{protocol.ThinkingBlock{Signature: modelstub.Seal("hidden"), Redacted: true}, protocol.TextBlock{Text: "answer"}}
	if err != nil || len(resp.Content) != 2 || resp.Content[0] != want[0] || resp.Content[1] != want[1] {
		t.Errorf("%v, %v", resp.Content, err)
	}
}
