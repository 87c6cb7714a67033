package openai

import (
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"countersign/backend/model"
	"countersign/backend/model/internal/wire"
	"countersign/backend/protocol"
)

// params builds a request in the fields that the server takes.
func params(req model.Request, history []protocol.Message, f features) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{Model: req.Model, Messages: messages(req.System, history)}
	if !f.noUsage {
		p.StreamOptions.IncludeUsage = sdk.Bool(true)
	}
	if req.Thinking != "" && !f.noEffort {
		p.ReasoningEffort = shared.ReasoningEffort(req.Thinking)
	}
	if req.MaxTokens > 0 && !f.noTokens {
		if f.newTokens {
			p.MaxCompletionTokens = sdk.Int(int64(req.MaxTokens))
		} else {
			p.MaxTokens = sdk.Int(int64(req.MaxTokens))
		}
	}
	for _, t := range req.Tools {
		spec := shared.FunctionDefinitionParam{Name: t.Name}
		if t.Description != "" {
			spec.Description = sdk.String(t.Description)
		}
		var schema shared.FunctionParameters
		if json.Unmarshal(t.Schema, &schema) == nil {
			spec.Parameters = schema
		}
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(spec))
	}
	return p
}

// messages turns a history into messages. Pictures in results follow the results
// as the person's, for the tool role takes text only.
func messages(system string, history []protocol.Message) []sdk.ChatCompletionMessageParamUnion {
	var out []sdk.ChatCompletionMessageParamUnion
	if system != "" {
		out = append(out, sdk.SystemMessage(system))
	}
	var shown []sdk.ChatCompletionContentPartUnionParam
	show := func() {
		if len(shown) > 0 {
			out = append(out, sdk.UserMessage(shown))
			shown = nil
		}
	}
	for _, m := range history {
		switch m.Role {
		case protocol.RoleToolResult:
			out = append(out, result(m))
			for _, part := range parts(m.Content) {
				if part.OfImageURL != nil {
					shown = append(shown, sdk.TextContentPart("[From the result of "+m.ToolName+":]"), part)
				}
			}
		case protocol.RoleAssistant:
			show()
			out = append(out, assistant(m.Content))
		case protocol.RoleUser:
			show()
			out = append(out, user(m.Content))
		}
	}
	show()
	return out
}

func user(content protocol.Blocks) sdk.ChatCompletionMessageParamUnion {
	all := parts(content)
	var text []string
	for _, part := range all {
		if part.OfText == nil {
			return sdk.UserMessage(all)
		}
		text = append(text, part.OfText.Text)
	}
	return sdk.UserMessage(strings.Join(text, "\n\n"))
}

func parts(content protocol.Blocks) []sdk.ChatCompletionContentPartUnionParam {
	var out []sdk.ChatCompletionContentPartUnionParam
	for _, b := range content {
		switch b := b.(type) {
		case protocol.TextBlock:
			out = append(out, sdk.TextContentPart(b.Text))
		case protocol.ImageBlock:
			out = append(out, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: "data:" + b.MimeType + ";base64," + b.Data}))
		}
	}
	return out
}

// assistant is an answer as it is sent back: without its thinking, which servers
// of this kind do not take.
func assistant(content protocol.Blocks) sdk.ChatCompletionMessageParamUnion {
	m := &sdk.ChatCompletionAssistantMessageParam{}
	if text := content.Text(); text != "" {
		m.Content.OfString = sdk.String(text)
	}
	for _, c := range content.ToolCalls() {
		m.ToolCalls = append(m.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID: wire.CallID(c.ID),
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: wire.CallName(c.Name), Arguments: string(wire.Object(c.Arguments)),
				},
			},
		})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: m}
}

func result(m protocol.Message) sdk.ChatCompletionMessageParamUnion {
	text := m.Content.Text()
	if strings.TrimSpace(text) == "" {
		text = "(nothing)"
	}
	if m.IsError {
		text = "This call failed. " + text // the role has no field for it
	}
	return sdk.ToolMessage(text, wire.CallID(m.ToolCallID))
}
