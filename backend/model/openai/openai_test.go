package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"countersign/backend/model"
	"countersign/backend/model/modeltest"
	"countersign/backend/model/openai"
	"countersign/backend/protocol"
	"countersign/backend/testkit/modelstub"
)

func TestSuite(t *testing.T) {
	modeltest.Scripted(t, modelstub.OpenAI, openai.New)
}

func start(t *testing.T, replies ...modelstub.Reply) (*modelstub.Server, model.Provider) {
	t.Helper()
	stub := modelstub.New(t, replies...)
	p, err := openai.New(model.Config{BaseURL: stub.URL, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	return stub, p
}

// listed writes calls as a line.
func listed(content protocol.Blocks) string {
	var out []string
	for _, c := range content.ToolCalls() {
		out = append(out, c.Name+string(c.Arguments))
	}
	return strings.Join(out, " ")
}

func TestParallelCallsAreToldApartWhateverTheServerDoes(t *testing.T) {
	one := modelstub.Call{ID: "id_a", Name: "list", Args: `{"path":"a"}`}
	two := modelstub.Call{ID: "id_b", Name: "write", Args: `{"path":"b"}`}
	same := modelstub.Call{ID: "id_c", Name: "list", Args: `{"path":"c"}`}
	twin := modelstub.Call{ID: "id_d", Name: "list", Args: `{"path":"a"}`}
	for name, q := range map[string]modelstub.Quirks{
		"as it should be":                {},
		"index 0 for all":                {Indices: []int{0, 0, 0}},
		"index 0 for all, repeated":      {Indices: []int{0, 0, 0}, Repeat: true},
		"index 0 for all, whole":         {Indices: []int{0, 0, 0}, WholeArgs: true},
		"no index":                       {NoIndex: true},
		"no index, whole":                {NoIndex: true, WholeArgs: true},
		"from one, with gaps":            {Indices: []int{1, 5, 9}},
		"backwards":                      {Indices: []int{2, 1, 0}},
		"no identifiers":                 {NoIDs: true},
		"no identifiers, whole":          {NoIDs: true, WholeArgs: true},
		"no identifiers, repeated":       {NoIDs: true, Repeat: true},
		"no identifiers, index 0":        {NoIDs: true, Indices: []int{0, 0, 0}},
		"no identifiers, index 0, whole": {NoIDs: true, Indices: []int{0, 0, 0}, WholeArgs: true},
		"objects":                        {ObjectArgs: true},
		"objects, index 0, nameless":     {ObjectArgs: true, Indices: []int{0, 0, 0}, NoIDs: true},
		"one answer instead of a stream": {NoStream: true},
	} {
		for set, calls := range [][]modelstub.Call{{one}, {one, two}, {one, two, same}, {one, same}, {two, one}, {one, two, twin}} {
			for _, piece := range []int{1, 3, 1000} {
				reply := modelstub.Calls(calls...)
				reply.Quirks, reply.Piece = q, piece
				_, p := start(t, reply)
				seen, emit := modeltest.Watch()
				resp, err := p.Stream(t.Context(), modeltest.Ask("go"), emit)
				modeltest.Check(t, seen, resp, err)
				var want []string
				for _, c := range calls {
					want = append(want, c.Name+c.Args)
				}
				if got := listed(resp.Content); got != strings.Join(want, " ") || err != nil {
					t.Errorf("%s, set %d, pieces of %d: %s, %v", name, set, piece, got, err)
				}
			}
		}
	}
}

func TestNoArgumentsAreTheEmptyObject(t *testing.T) {
	for _, q := range []modelstub.Quirks{{NoArgs: true}, {NullArgs: true}, {WholeArgs: true}} {
		reply := modelstub.Calls(modelstub.Call{ID: "a", Name: "list"}, modelstub.Call{ID: "b", Name: "write"})
		reply.Quirks = q
		_, p := start(t, reply)
		resp, err := p.Stream(t.Context(), modeltest.Ask("go"), func(model.Delta) {})
		if got := listed(resp.Content); got != "list{} write{}" || err != nil {
			t.Errorf("%+v: %s, %v", q, got, err)
		}
	}
}

func TestIdentifiersAreNewInEveryAnswer(t *testing.T) {
	_, p := start(t, modelstub.Calls(modelstub.Call{ID: "call_0", Name: "list", Args: "{}"}, modelstub.Call{ID: "call_0", Name: "list", Args: "{}"}), modelstub.Text("done"))
	req := modeltest.Ask("go")
	req.Messages = append(req.Messages,
		protocol.Message{Role: protocol.RoleAssistant, Content: protocol.Blocks{protocol.ToolCallBlock{ID: "call_0", Name: "list"}}},
		protocol.Message{Role: protocol.RoleToolResult, ToolCallID: "call_0"})
	resp, err := p.Stream(t.Context(), req, func(model.Delta) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range resp.Content.ToolCalls() {
		if c.ID == "call_0" {
			t.Error("an identifier of the history came again")
		}
	}
}

func TestReasoningFields(t *testing.T) {
	for _, q := range []modelstub.Quirks{{}, {Reasoning: "reasoning"}, {NullError: true}, {PartsContent: true}, {NoStream: true}, {NoDone: true}, {NoFinish: true}} {
		_, p := start(t, modelstub.Reply{Blocks: []modelstub.Block{{Thinking: "hm, 好"}, {Text: "yes"}}, Quirks: q, Input: 4, Output: 2})
		seen, emit := modeltest.Watch()
		resp, err := p.Stream(t.Context(), modeltest.Ask("go"), emit)
		modeltest.Check(t, seen, resp, err)
		if got := fmt.Sprint(resp.Content); err != nil || got != "[{hm, 好  false} {yes}]" || !resp.UsageKnown || resp.Usage.Input != 4 {
			t.Errorf("%+v: %s, %+v, %v", q, got, resp.Usage, err)
		}
	}
}

func TestAFieldTheServerRefusesIsLeftOutFromThenOn(t *testing.T) {
	for _, field := range []string{"stream_options", "reasoning_effort", "max_tokens"} {
		stub, p := start(t, modelstub.Reply{Blocks: []modelstub.Block{{Text: "fine"}}, Quirks: modelstub.Quirks{RefuseField: field}})
		req := modeltest.Ask("go")
		req.Thinking, req.MaxTokens = "low", 1000
		for range 2 {
			resp, err := p.Stream(t.Context(), req, func(model.Delta) {})
			if err != nil || resp.Content.Text() != "fine" || resp.UsageKnown == (field == "stream_options") {
				t.Errorf("%s: %q, %v", field, resp.Content.Text(), err)
			}
		}
		if n := len(stub.Requests()); n != 3 {
			t.Errorf("%s: %d requests", field, n)
		}
	}
}

func TestErrorsOfRoutersCarryTheirStatusInTheStream(t *testing.T) {
	_, p := start(t, modelstub.Reply{Blocks: []modelstub.Block{{Text: "some"}}, StreamError: &modelstub.StreamError{AfterEvents: 2, Code: "429", Message: "upstream"}})
	_, err := p.Stream(t.Context(), modeltest.Ask("go"), func(model.Delta) {})
	if err == nil || !strings.Contains(err.Error(), "too many requests") {
		t.Error(err)
	}
}

func TestErrorBodiesOfOtherShapes(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":"model \"x\" not found, try pulling it first"}`: "does not know the model",
		`{"detail":"Not Found"}`:                                  "does not know the model",
		`{"message":"no such model"}`:                             "does not know the model",
		`404 page not found`:                                      "does not know the model",
		`<html></html>`:                                           "no model server",
		``:                                                        "no model server",
	} {
		_, p := start(t, modelstub.Reply{Status: 404, Body: body + " "})
		_, err := p.Stream(t.Context(), modeltest.Ask("go"), func(model.Delta) {})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
