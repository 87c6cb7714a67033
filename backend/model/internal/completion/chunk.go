package completion

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"countersign/backend/model/internal/wire"
)

// chunk is one event of a stream, read loosely: what one server writes as a
// string, another writes as a number, an object or null.
type chunk struct {
	Model   loose           `json:"model"`
	Error   json.RawMessage `json:"error"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
}

type choice struct {
	Index        loose    `json:"index"`
	Delta        *message `json:"delta"`
	Message      *message `json:"message"`
	FinishReason loose    `json:"finish_reason"`
}

type message struct {
	Content          json.RawMessage `json:"content"`
	ReasoningContent loose           `json:"reasoning_content"`
	Reasoning        loose           `json:"reasoning"`
	Refusal          loose           `json:"refusal"`
	ToolCalls        []toolDelta     `json:"tool_calls"`
	FunctionCall     *function       `json:"function_call"`
}

type toolDelta struct {
	Index    loose    `json:"index"`
	ID       loose    `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name      loose           `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type usage struct {
	Prompt     json.Number `json:"prompt_tokens"`
	Completion json.Number `json:"completion_tokens"`
	Details    struct {
		Cached json.Number `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// loose is a string that may come as a number, and is empty for all else.
type loose string

// UnmarshalJSON implements json.Unmarshaler; it never fails.
func (l *loose) UnmarshalJSON(data []byte) error {
	var s string
	switch {
	case json.Unmarshal(data, &s) == nil:
		*l = loose(s)
	case data[0] == '-' || data[0] >= '0' && data[0] <= '9':
		*l = loose(data)
	default:
		*l = ""
	}
	return nil
}

// text is the content of a message: a string, or parts of which some are text.
func (m *message) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct {
		Text loose `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		s += string(p.Text)
	}
	return s
}

// thinking is the reasoning that comes in a field of its own; a server that
// fills two means the same by both.
func (m *message) thinking() string {
	if m.ReasoningContent != "" {
		return string(m.ReasoningContent)
	}
	return string(m.Reasoning)
}

// arguments are a piece of a call's arguments: a string, or the object itself.
func (f function) arguments() string {
	var s string
	if json.Unmarshal(f.Arguments, &s) == nil {
		return s
	}
	return string(f.Arguments)
}

// refusal reads the error that a chunk may be.
func (c chunk) refusal() (wire.Answer, bool) {
	if len(c.Error) == 0 || string(c.Error) == "null" {
		return wire.Answer{}, false
	}
	return ReadRefusal([]byte(`{"error":` + string(c.Error) + `}`)), true
}

// ReadRefusal reads an error body: {"error":{…}}, {"error":"…"}, {"message":"…"},
// {"detail":…}, or plain text. The words of a page are not repeated.
func ReadRefusal(raw []byte) wire.Answer {
	type inner struct {
		Code    loose `json:"code"`
		Type    loose `json:"type"`
		Message loose `json:"message"`
		Param   loose `json:"param"`
	}
	var body struct {
		inner
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(raw, &body) != nil {
		if text := strings.TrimSpace(string(raw)); !strings.HasPrefix(text, "<") {
			return wire.Answer{Message: text}
		}
		return wire.Answer{}
	}
	in := body.inner
	var text string
	switch {
	case json.Unmarshal(body.Error, &text) == nil && text != "":
		in.Message = loose(text)
	case len(body.Error) > 0:
		if json.Unmarshal(body.Error, &in) != nil {
			in = inner{Message: loose(body.Error)}
		}
	case in.Message == "" && len(body.Detail) > 0:
		in.Message = loose(body.Detail)
	}
	if in.Param != "" && !strings.Contains(string(in.Message), string(in.Param)) {
		in.Message += " (" + in.Param + ")"
	}
	return wire.Answer{Code: string(in.Code), Type: string(in.Type), Message: string(in.Message)}
}

// statusOf is the status that an error in a stream names in its code, as routers
// do, else that of the response.
func statusOf(a wire.Answer) int {
	if n, err := strconv.Atoi(a.Code); err == nil && n >= 400 && n < 600 {
		return n
	}
	return http.StatusOK
}
