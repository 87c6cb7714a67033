package modelstub

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

type openaiRequest struct {
	Model    string          `json:"model"`
	Stream   bool            `json:"stream"`
	Messages []openaiMessage `json:"messages"`
	Tools    []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type openaiMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

func validateOpenAI(body []byte) string {
	var r openaiRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return "the request is not valid JSON: " + err.Error()
	}
	switch {
	case r.Model == "":
		return "model is required"
	case !r.Stream:
		return "stream is expected"
	case len(r.Messages) == 0:
		return "messages must not be empty"
	}
	for _, t := range r.Tools {
		if t.Type != "function" || !toolName.MatchString(t.Function.Name) || !isObjectSchema(t.Function.Parameters) {
			return "tool " + t.Function.Name + " is not valid"
		}
	}
	v := openaiCheck{seen: make(map[string]bool)}
	for i, m := range r.Messages {
		if problem := v.message(i, m); problem != "" {
			return fmt.Sprintf("messages[%d]: %s", i, problem)
		}
	}
	if len(v.open) > 0 {
		return "tool_call_ids did not have response messages: " + strings.Join(v.open, ", ")
	}
	if r.Messages[len(r.Messages)-1].Role == "assistant" {
		return "the conversation must not end with an assistant message"
	}
	return v.pictures.check()
}

// openaiCheck goes through a history.
type openaiCheck struct {
	open     []string
	seen     map[string]bool
	pictures pictures
}

func (v *openaiCheck) message(i int, m openaiMessage) string {
	if m.Role != "tool" && len(v.open) > 0 {
		return "an assistant message with tool_calls must be followed by tool messages responding to each tool_call_id: " + strings.Join(v.open, ", ")
	}
	switch m.Role {
	case "system":
		if i > 0 {
			return "the system message must come first"
		}
		return v.content(m.Content)
	case "user":
		return v.content(m.Content)
	case "tool":
		k := slices.Index(v.open, m.ToolCallID)
		if k < 0 {
			return "messages with role tool must be a response to a preceding message with tool_calls"
		}
		v.open = slices.Delete(v.open, k, k+1)
		return v.content(m.Content)
	case "assistant":
		return v.assistant(m)
	}
	return "role " + m.Role + " is not known"
}

func (v *openaiCheck) assistant(m openaiMessage) string {
	if len(m.ToolCalls) == 0 {
		return v.content(m.Content)
	}
	for _, c := range m.ToolCalls {
		var args map[string]any
		switch {
		case c.Type != "function" || !toolName.MatchString(c.Function.Name) || !toolID.MatchString(c.ID) || len(c.ID) > 40:
			return "tool call " + c.ID + " is not valid"
		case v.seen[c.ID]:
			return "tool call ids must be unique: " + c.ID
		case json.Unmarshal([]byte(c.Function.Arguments), &args) != nil:
			return "the arguments of tool call " + c.ID + " are not a JSON object"
		}
		v.seen[c.ID] = true
		v.open = append(v.open, c.ID)
	}
	return ""
}

func (v *openaiCheck) content(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" {
			return "content must not be empty"
		}
		return ""
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return "content must not be empty"
	}
	for _, p := range parts {
		switch p.Type {
		case "text":
			if p.Text == "" {
				return "text parts must not be empty"
			}
		case "image_url":
			kind, data, ok := strings.Cut(strings.TrimPrefix(p.ImageURL.URL, "data:"), ";base64,")
			if !ok {
				return "image_url is not a data URL"
			}
			if problem := v.pictures.add(kind, data); problem != "" {
				return problem
			}
		default:
			return "part type " + p.Type + " is not known"
		}
	}
	return ""
}
