package modeltest

import (
	"fmt"
	"strings"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/testkit/modelstub"
)

// texts are byte for byte what was sent, however the bytes arrive.
func (s *suite) texts(t *testing.T) {
	for i, text := range []string{
		"hello", "你好🦀, ь, Ö", "a\nb\n\n```go\nx := `<think>`\n```\n", `"quotes" \ <b>&amp;</b> {"a":1}`,
		"  leading and trailing  ", "e\u0301 \U0001F468\u200D\U0001F469\u200D\U0001F467 \u202Eabc\u202C", strings.Repeat("长 long ", 300),
	} {
		for _, chunk := range []int{0, 1, 2, 3, 7} {
			for _, q := range []modelstub.Quirks{{}, {CRLF: true}, {Comments: true}} {
				if chunk > 0 && len(text) > 500 && (q.CRLF || q.Comments) {
					continue
				}
				reply := modelstub.Reply{Blocks: []modelstub.Block{{Text: text}}, Chunk: chunk, Quirks: q, Piece: 1 + i, Input: 7, Output: 5}
				_, resp, err := s.play(t, Ask("hi"), reply)
				if err != nil || resp.Content.Text() != text || resp.StopReason != protocol.StopEnd {
					t.Errorf("%q in pieces of %d, %+v: %q, %v", text, chunk, q, resp.Content.Text(), err)
				}
				if want := (protocol.Usage{Input: 7, Output: 5, CacheRead: 3}); !resp.UsageKnown || resp.Usage.Input != want.Input || resp.Usage.Output != want.Output || resp.Usage.CacheRead != 3 {
					t.Errorf("usage %+v", resp.Usage)
				}
			}
		}
	}
}

func call(id, name, args string) modelstub.Block {
	return modelstub.Block{Call: &modelstub.Call{ID: id, Name: name, Args: args}}
}

// flat writes content as a line.
func flat(content protocol.Blocks) string {
	var out []string
	for _, b := range content {
		switch b := b.(type) {
		case protocol.TextBlock:
			out = append(out, "text "+b.Text)
		case protocol.ThinkingBlock:
			out = append(out, "thinking "+b.Thinking)
		case protocol.ToolCallBlock:
			out = append(out, "call "+b.Name+" "+string(b.Arguments))
		}
	}
	return strings.Join(out, " | ")
}

// shapes are answers of several blocks; each is sent back with results, which
// the strict server must take.
func (s *suite) shapes(t *testing.T) {
	think, text := modelstub.Block{Thinking: "Let me see, 你好."}, modelstub.Block{Text: "I will look."}
	one, two := call("id_a", "list", `{"path":"src"}`), call("id_b", "write", `{"path":"x","content":"{\"🦀\": [1]}"}`)
	shapes := map[string][]modelstub.Block{
		"thinking | text":                   {think, text},
		"text | call":                       {text, one},
		"call | call":                       {one, two},
		"thinking | text | call":            {think, text, one},
		"thinking | text | thinking | call": {think, text, {Thinking: "More."}, two},
		"thinking | call | call":            {think, one, two},
		"call | call | call | call | call":  {one, two, call("id_c", "list", "{}"), call("id_d", "list", `{"path":"a"}`), call("id_e", "list", `{"path":"b"}`)},
	}
	for name, blocks := range shapes {
		for _, chunk := range []int{0, 1, 5} {
			for _, piece := range []int{1, 4, 1000} {
				_, resp, err := s.play(t, Ask("do it"), modelstub.Reply{Blocks: blocks, Chunk: chunk, Piece: piece, Output: 1})
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if s.dialect == modelstub.Anthropic || strings.Count(name, "thinking") < 2 {
					if got, want := flat(resp.Content), wanted(blocks); got != want {
						t.Errorf("%s (%d, %d):\n got %s\nwant %s", name, chunk, piece, got, want)
					}
				}
				s.goOn(t, name, resp.Content)
			}
		}
	}
}

func wanted(blocks []modelstub.Block) string {
	var out []string
	for _, b := range blocks {
		switch {
		case b.Call != nil:
			out = append(out, "call "+b.Call.Name+" "+b.Call.Args)
		case b.Thinking != "":
			out = append(out, "thinking "+b.Thinking)
		default:
			out = append(out, "text "+b.Text)
		}
	}
	return strings.Join(out, " | ")
}

// goOn sends an answer back with the results of its calls.
func (s *suite) goOn(t *testing.T, name string, content protocol.Blocks) {
	t.Helper()
	req := Ask("do it")
	req.Thinking = "low"
	req.Messages = append(req.Messages, protocol.Message{Role: protocol.RoleAssistant, Content: content})
	for i, c := range content.ToolCalls() {
		req.Messages = append(req.Messages, protocol.Message{
			Role: protocol.RoleToolResult, ToolCallID: c.ID, ToolName: c.Name, IsError: i%2 == 1,
			Content: protocol.Blocks{protocol.TextBlock{Text: fmt.Sprint("result ", i)}},
		})
	}
	if len(content.ToolCalls()) == 0 {
		req.Messages = append(req.Messages, User("and now?"))
	}
	if _, _, err := s.play(t, req, modelstub.Text("done")); err != nil {
		t.Errorf("%s, sent back: %v", name, err)
	}
}

// arguments of every shape become an object or a short string.
func (s *suite) arguments(t *testing.T) {
	garbage := strings.Repeat("🦀{", 400_000)
	for written, want := range map[string]string{
		"": "{}", " ": "{}", "\n\t": "{}", "null": "{}", " null ": "{}", "{}": "{}",
		`{"path":"a"}`: `{"path":"a"}`, ` {"path": "a"} `: `{"path": "a"}`, `{"b":1,"a":2}`: `{"b":1,"a":2}`,
		`"{\"path\":\"a\"}"`:         `{"path":"a"}`,
		`{"n":12345678901234567890}`: `{"n":12345678901234567890}`, `{"e":"\u00e9\n"}`: `{"e":"\u00e9\n"}`,
		`[]`: `"[]"`, `[{"path":"a"}]`: `"[{\"path\":\"a\"}]"`, `"x"`: `"\"x\""`, `1`: `"1"`, `true`: `"true"`,
		`{"path":"a"`: `"{\"path\":\"a\""`, `{path: a}`: `"{path: a}"`, `{"a":1}{"b":2}`: `"{\"a\":1}{\"b\":2}"`, `{"a":1}}`: `"{\"a\":1}}"`,
		"```json\n{}\n```": "\"```json\\n{}\\n```\"", garbage: "",
	} {
		_, resp, err := s.play(t, Ask("do it"), modelstub.Reply{Blocks: []modelstub.Block{call("id", "list", written)}, Piece: 5 + len(written)/3})
		if err != nil {
			t.Errorf("%.40q: %v", written, err)
			continue
		}
		got := string(resp.Content.ToolCalls()[0].Arguments)
		if want != "" && got != want {
			t.Errorf("%.40q: %s, want %s", written, got, want)
		}
		if want == "" && !strings.Contains(got, fmt.Sprintf("(%d bytes)", len(written))) {
			t.Errorf("the length of what was cut is not told: %s", got)
		}
		s.goOn(t, "arguments", resp.Content)
	}
}

// stops map the dialect's stop reasons.
func (s *suite) stops(t *testing.T) {
	long, refusal := "max_tokens", "refusal"
	tools := "tool_use"
	if s.dialect == modelstub.OpenAI {
		long, refusal, tools = "length", "content_filter", "tool_calls"
	}
	text, half := []modelstub.Block{{Text: "words"}}, []modelstub.Block{call("id", "list", `{"path":"a`)}
	whole := []modelstub.Block{{Text: "words"}, call("id", "list", `{"path":"a"}`)}
	for _, row := range []struct {
		name   string
		reply  modelstub.Reply
		stop   protocol.StopReason
		failed protocol.ErrorKind
	}{
		{"length with text", modelstub.Reply{Blocks: text, Stop: long}, protocol.StopLength, ""},
		{"length in a call", modelstub.Reply{Blocks: half, Stop: long}, protocol.StopError, protocol.ErrorCut},
		{"length after a call", modelstub.Reply{Blocks: whole, Stop: long}, protocol.StopLength, ""},
		{"refusal with text", modelstub.Reply{Blocks: text, Stop: refusal}, protocol.StopRefusal, ""},
		{"refusal with a call", modelstub.Reply{Blocks: whole, Stop: refusal}, protocol.StopRefusal, ""},
		{"refusal without a word", modelstub.Reply{Stop: refusal}, protocol.StopError, protocol.ErrorRefusal},
		{"nothing", modelstub.Reply{}, protocol.StopError, protocol.ErrorEmpty},
		{"nothing but white space", modelstub.Reply{Blocks: []modelstub.Block{{Text: " \n "}}}, protocol.StopError, protocol.ErrorEmpty},
		{"nothing but thinking", modelstub.Reply{Blocks: []modelstub.Block{{Thinking: "hm"}}}, protocol.StopError, protocol.ErrorEmpty},
		{"tool use with nothing", modelstub.Reply{Stop: tools}, protocol.StopError, protocol.ErrorEmpty},
		{"tool use with text", modelstub.Reply{Blocks: text, Stop: tools}, protocol.StopEnd, ""},
		{"a call that says it only stops", modelstub.Reply{Blocks: whole, Stop: "stop"}, protocol.StopToolUse, ""},
		{"a reason nobody knows", modelstub.Reply{Blocks: text, Stop: "because"}, protocol.StopEnd, ""},
	} {
		row.reply.NoUsage = true
		seen, resp, err := s.play(t, Ask("hi"), row.reply)
		if kind(err) != row.failed || resp.StopReason != row.stop {
			t.Errorf("%s: stop %q, error %v", row.name, resp.StopReason, err)
		}
		if resp.UsageKnown {
			t.Errorf("%s: usage is known though none was told", row.name)
		}
		if row.stop != protocol.StopToolUse && len(resp.Content.ToolCalls()) > 0 {
			t.Errorf("%s: calls are returned", row.name)
		}
		_ = seen
	}
}
