package modelstub

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif" // pictures are measured
	_ "image/jpeg"
	_ "image/png"
	"regexp"
	"slices"
	"strings"
)

// Limits of the strictest provider.
const (
	maxPictures       = 100
	manyPictures      = 20
	maxSide           = 8000
	maxSideOfMany     = 2000
	maxPictureBytes   = 5 << 20
	maxCacheMarks     = 4
	minThinkingBudget = 1024
)

var (
	toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	toolID   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// validate returns what a strict provider would find wrong with a request, ""
// for a good one.
func validate(d Dialect, body []byte) string {
	if d == Anthropic {
		return validateAnthropic(body)
	}
	return validateOpenAI(body)
}

// pictures counts and measures the pictures of a request.
type pictures struct {
	n       int
	longest int
}

func (p *pictures) add(mediaType, data string) string {
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mediaType) {
		return "image media type " + mediaType + " is not supported"
	}
	if len(data) > maxPictureBytes {
		return "image exceeds 5 MB"
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		return "image data is not valid base64"
	}
	if c, _, err := image.DecodeConfig(bytes.NewReader(raw)); err == nil {
		p.longest = max(p.longest, c.Width, c.Height)
	}
	p.n++
	return ""
}

func (p *pictures) check() string {
	switch {
	case p.n > maxPictures:
		return fmt.Sprintf("%d images, at most %d are allowed", p.n, maxPictures)
	case p.longest > maxSide, p.n > manyPictures && p.longest > maxSideOfMany:
		return "image dimensions exceed the maximum for this number of images"
	}
	return ""
}

type anthropicRequest struct {
	Model     string             `json:"model"`
	MaxTokens int                `json:"max_tokens"`
	Stream    bool               `json:"stream"`
	System    []anthropicBlock   `json:"system"`
	Messages  []anthropicMessage `json:"messages"`
	Tools     []struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"input_schema"`
		Cache  json.RawMessage `json:"cache_control"`
	} `json:"tools"`
	Thinking struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Source    struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
	Cache json.RawMessage `json:"cache_control"`
}

func validateAnthropic(body []byte) string {
	var r anthropicRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return "the request is not valid JSON: " + err.Error()
	}
	switch {
	case r.Model == "":
		return "model is required"
	case r.MaxTokens <= 0:
		return "max_tokens is required"
	case !r.Stream:
		return "stream is expected"
	case len(r.Messages) == 0:
		return "messages must not be empty"
	case r.Thinking.Type == "enabled" && (r.Thinking.Budget < minThinkingBudget || r.Thinking.Budget >= r.MaxTokens):
		return "thinking.budget_tokens must be at least 1024 and less than max_tokens"
	}
	for _, t := range r.Tools {
		if !toolName.MatchString(t.Name) || !isObjectSchema(t.Schema) {
			return "tool " + t.Name + " is not valid"
		}
	}
	v := anthropicCheck{seen: make(map[string]bool)}
	for _, t := range r.Tools {
		v.mark(t.Cache)
	}
	for _, b := range r.System {
		v.mark(b.Cache)
		if b.Type != "text" || b.Text == "" {
			return "system: text content blocks must be non-empty"
		}
	}
	for i, m := range r.Messages {
		if problem := v.message(i, m, r); problem != "" {
			return fmt.Sprintf("messages.%d: %s", i, problem)
		}
	}
	switch {
	case len(v.open) > 0:
		return "tool_use ids without tool_result blocks: " + strings.Join(v.open, ", ")
	case v.marks > maxCacheMarks:
		return fmt.Sprintf("%d cache_control blocks, at most %d are allowed", v.marks, maxCacheMarks)
	}
	return v.pictures.check()
}

func isObjectSchema(raw json.RawMessage) bool {
	var schema struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(raw, &schema) == nil && schema.Type == "object"
}

// anthropicCheck goes through a history.
type anthropicCheck struct {
	last     string
	open     []string
	seen     map[string]bool
	marks    int
	pictures pictures
}

func (v *anthropicCheck) mark(cache json.RawMessage) {
	if len(cache) > 0 && string(cache) != "null" {
		v.marks++
	}
}

func (v *anthropicCheck) message(i int, m anthropicMessage, r anthropicRequest) string {
	switch {
	case m.Role != "user" && m.Role != "assistant":
		return "role " + m.Role + " is not known"
	case i == 0 && m.Role != "user":
		return "the first message must be the user's"
	case m.Role == v.last:
		return "roles must alternate"
	case i == len(r.Messages)-1 && m.Role == "assistant":
		return "the conversation must end with a user message"
	case len(m.Content) == 0:
		return "content must not be empty"
	}
	v.last = m.Role
	answered := v.open
	v.open = nil
	for k, b := range m.Content {
		v.mark(b.Cache)
		if problem := v.block(m.Role, b, &answered, k); problem != "" {
			return problem
		}
	}
	if len(answered) > 0 {
		return "tool_use ids were found without tool_result blocks immediately after: " + strings.Join(answered, ", ")
	}
	first := m.Content[0].Type
	if i == len(r.Messages)-2 && len(v.open) > 0 && (r.Thinking.Type == "enabled" || r.Thinking.Type == "adaptive") && first != "thinking" && first != "redacted_thinking" {
		return "when thinking is enabled, a final assistant message must start with a thinking block"
	}
	return ""
}

func (v *anthropicCheck) block(role string, b anthropicBlock, answered *[]string, at int) string {
	switch b.Type {
	case "text":
		if strings.TrimSpace(b.Text) == "" {
			return "text content blocks must contain non-whitespace text"
		}
	case "thinking":
		if role != "assistant" || b.Signature != Sign(b.Thinking) {
			return "invalid signature in thinking block"
		}
	case "redacted_thinking":
		if role != "assistant" || !sealed(b.Data) {
			return "invalid data in redacted_thinking block"
		}
	case "image":
		if role != "user" || b.Source.Type != "base64" {
			return "an image stands in the wrong place"
		}
		return v.pictures.add(b.Source.MediaType, b.Source.Data)
	case "tool_use":
		if role != "assistant" || !toolID.MatchString(b.ID) || !toolName.MatchString(b.Name) || !bytes.HasPrefix(b.Input, []byte("{")) {
			return "tool_use is not valid"
		}
		if v.seen[b.ID] {
			return "tool_use ids must be unique: " + b.ID
		}
		v.seen[b.ID] = true
		v.open = append(v.open, b.ID)
	case "tool_result":
		k := slices.Index(*answered, b.ToolUseID)
		if role != "user" || k < 0 {
			return "unexpected tool_use_id found in tool_result blocks: " + b.ToolUseID
		}
		*answered = slices.Delete(slices.Clone(*answered), k, k+1)
		return v.result(b.Content)
	default:
		return "block type " + b.Type + " is not known"
	}
	return ""
}

func (v *anthropicCheck) result(content json.RawMessage) string {
	var blocks []anthropicBlock
	if err := json.Unmarshal(content, &blocks); err != nil || len(blocks) == 0 {
		return "tool_result content must be a list of blocks"
	}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			if b.Text == "" {
				return "tool_result text must not be empty"
			}
		case "image":
			if problem := v.pictures.add(b.Source.MediaType, b.Source.Data); problem != "" {
				return problem
			}
		default:
			return "tool_result block type " + b.Type + " is not known"
		}
	}
	return ""
}
