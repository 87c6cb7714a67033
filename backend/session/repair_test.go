package session_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/session"

	"pgregory.net/rapid"
)

// drawHistory makes a conversation in which anything may be cut, doubled or out
// of its place, and few identifiers come often. Each result tells which call it
// answers by its text.
func drawHistory(t *rapid.T) []protocol.Message {
	var out []protocol.Message
	for i := range rapid.IntRange(0, 12).Draw(t, "messages") {
		m := protocol.Message{ID: protocol.MessageID(fmt.Sprintf("m%d", i)), TimestampMs: int64(i), RunID: "r"}
		switch m.Role = rapid.SampledFrom([]protocol.Role{protocol.RoleUser, protocol.RoleAssistant, protocol.RoleToolResult}).Draw(t, "role"); m.Role {
		case protocol.RoleToolResult:
			m.ToolCallID, m.Content = drawCallID(t), text(rapid.SampledFrom([]string{"", "ok", "no"}).Draw(t, "result"))
		case protocol.RoleUser:
			m.Content = drawBlocks(t, "text", "nothing", "space", "image")
			m.StopReason = rapid.SampledFrom([]protocol.StopReason{"", "", protocol.StopAborted}).Draw(t, "stopped")
		default:
			m.Content = drawBlocks(t, "text", "nothing", "space", "thinking", "signed", "call", "call", "call")
		}
		out = append(out, m)
	}
	return out
}

func drawCallID(t *rapid.T) string {
	return rapid.SampledFrom([]string{"c1", "c2", "c3", "c4"}).Draw(t, "call")
}

func drawBlocks(t *rapid.T, kinds ...string) (out protocol.Blocks) {
	for range rapid.IntRange(0, 4).Draw(t, "blocks") {
		switch rapid.SampledFrom(kinds).Draw(t, "block") {
		case "text":
			out = append(out, protocol.TextBlock{Text: "words"})
		case "nothing":
			out = append(out, protocol.TextBlock{})
		case "space":
			out = append(out, protocol.TextBlock{Text: " \n"})
		case "image":
			out = append(out, protocol.ImageBlock{MimeType: "image/png", Blob: "b"})
		case "thinking":
			out = append(out, protocol.ThinkingBlock{Thinking: "hm"})
		case "signed":
			out = append(out, protocol.ThinkingBlock{Thinking: "hm", Signature: rapid.String().Draw(t, "signature")})
		case "call":
			out = append(out, protocol.ToolCallBlock{ID: drawCallID(t), Name: "read", Arguments: json.RawMessage(`{"a":1}`)})
		}
	}
	return out
}

func TestRepairedHistoriesAreValidWhateverWasCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := drawHistory(t)
		before := encode(t, history)
		out := session.Repair(history)
		if encode(t, history) != before {
			t.Fatal("the stored history was changed")
		}
		demandPairs(t, out)
		demandUnchanged(t, history, out)
		if again := session.Repair(out); !reflect.DeepEqual(again, out) {
			t.Fatalf("a second repair changes it:\n%s\n%s", encode(t, out), encode(t, again))
		}
	})
}

func encode(t *rapid.T, history []protocol.Message) string {
	raw, err := json.Marshal(history)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// demandPairs wants after each message exactly its calls' results, in order, and
// a result nowhere else; and no message that says nothing.
func demandPairs(t *rapid.T, out []protocol.Message) {
	for i := 0; i < len(out); i++ {
		m := out[i]
		if m.Role == protocol.RoleToolResult {
			t.Fatalf("result %s stands without its call:\n%s", m.ToolCallID, encode(t, out))
		}
		if !speaks(m.Content) {
			t.Fatalf("message %s says nothing:\n%s", m.ID, encode(t, out))
		}
		if m.Role != protocol.RoleAssistant {
			continue
		}
		for _, call := range m.Content.ToolCalls() {
			if i++; i == len(out) || out[i].Role != protocol.RoleToolResult || out[i].ToolCallID != call.ID {
				t.Fatalf("call %s of %s has no result in its place:\n%s", call.ID, m.ID, encode(t, out))
			}
		}
	}
}

func speaks(content protocol.Blocks) bool {
	for _, b := range content {
		switch b := b.(type) {
		case protocol.TextBlock:
			if strings.TrimSpace(b.Text) != "" {
				return true
			}
		case protocol.ThinkingBlock:
		default:
			return true
		}
	}
	return false
}

// unheard is a message that was stopped before anybody read it.
func unheard(m protocol.Message) bool {
	return m.Role == protocol.RoleUser && m.StopReason == protocol.StopAborted
}

// demandUnchanged wants every message that is kept as it was, in its order; every
// message that speaks and was heard kept; and each stored result given to one call at most,
// which stands before it.
func demandUnchanged(t *rapid.T, history, out []protocol.Message) {
	at := map[protocol.MessageID]int{}
	var want, got []protocol.Message
	for i, m := range history {
		at[m.ID] = i
		if m.Role != protocol.RoleToolResult && speaks(m.Content) && !unheard(m) {
			want = append(want, m)
		}
	}
	used, asked := map[protocol.MessageID]bool{}, 0
	for _, m := range out {
		if m.Role != protocol.RoleToolResult {
			got, asked = append(got, m), at[m.ID]
			continue
		}
		if m.ID == "" { // made here
			if !m.IsError || !strings.Contains(m.Content.Text(), "not recorded") {
				t.Fatalf("an invented result claims to know: %+v", m)
			}
			continue
		}
		if used[m.ID] || at[m.ID] < asked || !reflect.DeepEqual(m, history[at[m.ID]]) {
			t.Fatalf("result %s was doubled, edited or given to a later call:\n%s", m.ID, encode(t, out))
		}
		used[m.ID] = true
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("messages were lost or edited:\n%s\n%s", encode(t, history), encode(t, out))
	}
}

func TestAnIdentifierThatComesTwiceKeepsEachResultWithItsCall(t *testing.T) {
	ask := func(id string) protocol.Message {
		return protocol.Message{Role: protocol.RoleAssistant, Content: protocol.Blocks{protocol.ToolCallBlock{ID: id, Name: "read"}}}
	}
	answer := func(id, words string) protocol.Message {
		return protocol.Message{ID: protocol.MessageID(words), Role: protocol.RoleToolResult, ToolCallID: id, Content: text(words)}
	}
	for _, c := range []struct {
		name string
		in   []protocol.Message
		want []string
	}{
		{"in turn", []protocol.Message{ask("0"), answer("0", "first"), ask("0"), answer("0", "second")}, []string{"first", "second"}},
		{"the first was lost", []protocol.Message{ask("0"), ask("0"), answer("0", "second")}, []string{"", "second"}},
		{"the second was lost", []protocol.Message{ask("0"), answer("0", "first"), ask("0")}, []string{"first", ""}},
		{"one came twice", []protocol.Message{ask("0"), answer("0", "first"), answer("0", "again")}, []string{"first"}},
		{"it came before its call", []protocol.Message{answer("0", "early"), ask("0")}, []string{""}},
		{"words between", []protocol.Message{ask("0"), {Role: protocol.RoleUser, Content: text("hm")}, answer("0", "first")}, []string{"first"}},
	} {
		var got []string
		for _, m := range session.Repair(c.in) {
			if m.Role == protocol.RoleToolResult {
				got = append(got, string(m.ID))
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: results %q, want %q", c.name, got, c.want)
		}
	}
}
