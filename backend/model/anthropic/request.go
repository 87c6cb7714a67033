package anthropic

import (
	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"countersign/backend/model"
	"countersign/backend/model/internal/wire"
	"countersign/backend/protocol"
)

// standardMaxTokens is the answer's limit where the caller sets none; the API
// demands one. Older models refuse it and say what they give.
const standardMaxTokens = 32_000

// leastAnswer is what thinking leaves of the limit.
const leastAnswer = 1024

// budgets are the tokens of thinking for models that are told a number.
var budgets = map[string]int64{"low": 2048, "medium": 8192, "high": 16384}

// opening stands before a history that begins with an answer, which the API
// refuses.
const opening = "(The conversation goes on from here.)"

// params builds a request. Its beginning (tools, system, history) is byte for
// byte the same as long as they are, and is marked for the cache in three places.
func params(req model.Request, all []turn, known habits) sdk.MessageNewParams {
	p := sdk.MessageNewParams{
		Model:     sdk.Model(req.Model),
		MaxTokens: int64(req.MaxTokens),
		Messages:  messages(all),
	}
	if p.MaxTokens <= 0 {
		p.MaxTokens = standardMaxTokens
	}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	for i, t := range req.Tools {
		spec := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Schema)}
		if t.Description != "" {
			spec.Description = sdk.String(t.Description)
		}
		if i == len(req.Tools)-1 {
			spec.CacheControl = sdk.NewCacheControlEphemeralParam()
		}
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: spec})
	}
	if req.Thinking != "" && mayThink(all) {
		think(&p, known.mode, req.Thinking)
	}
	if known.most > 0 && p.MaxTokens > known.most {
		p.MaxTokens = known.most
		if e := p.Thinking.OfEnabled; e != nil && e.BudgetTokens > known.most-leastAnswer {
			e.BudgetTokens = max(leastAnswer, known.most-leastAnswer)
		}
	}
	return p
}

// think asks for thinking in the way the model takes.
func think(p *sdk.MessageNewParams, m mode, effort string) {
	switch m {
	case modeAdaptive:
		p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}
		p.OutputConfig.Effort = sdk.OutputConfigEffort(effort)
	case modeBudget:
		budget := budgets[effort]
		if budget == 0 {
			budget = budgets["low"]
		}
		p.Thinking = sdk.ThinkingConfigParamOfEnabled(budget)
		p.MaxTokens += budget
	case modeNone:
	}
}

// turn is one message of the API, all that one side says in a row.
type turn struct {
	assistant bool
	blocks    []sdk.ContentBlockParamUnion
}

// turns turns a history into turns of alternating roles, the person's first.
func turns(history []protocol.Message) []turn {
	var out []turn
	for _, m := range history {
		t := turn{assistant: m.Role == protocol.RoleAssistant}
		if m.Role == protocol.RoleToolResult {
			t.blocks = []sdk.ContentBlockParamUnion{result(m)}
		} else {
			t.blocks = content(m.Content)
		}
		if len(t.blocks) == 0 {
			continue
		}
		if len(out) == 0 && t.assistant {
			out = append(out, turn{blocks: []sdk.ContentBlockParamUnion{sdk.NewTextBlock(opening)}})
		}
		if n := len(out); n > 0 && out[n-1].assistant == t.assistant {
			out[n-1].blocks = append(out[n-1].blocks, t.blocks...)
			continue
		}
		out = append(out, t)
	}
	return out
}

// messages are the turns as they are sent, with the end marked for the cache.
func messages(all []turn) []sdk.MessageParam {
	out := make([]sdk.MessageParam, len(all))
	for i, t := range all {
		if i == len(all)-1 {
			if mark := t.blocks[len(t.blocks)-1].GetCacheControl(); mark != nil {
				*mark = sdk.NewCacheControlEphemeralParam()
			}
		}
		if t.assistant {
			out[i] = sdk.NewAssistantMessage(t.blocks...)
		} else {
			out[i] = sdk.NewUserMessage(t.blocks...)
		}
	}
	return out
}

func content(blocks protocol.Blocks) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	for _, b := range blocks {
		switch b := b.(type) {
		case protocol.TextBlock:
			out = append(out, sdk.NewTextBlock(b.Text))
		case protocol.ThinkingBlock:
			switch {
			case b.Signature == "":
				// Thinking without a signature, from a cut answer or another provider,
				// is refused by the API.
			case b.Redacted:
				out = append(out, sdk.NewRedactedThinkingBlock(b.Signature))
			default:
				out = append(out, sdk.NewThinkingBlock(b.Signature, b.Thinking))
			}
		case protocol.ToolCallBlock:
			out = append(out, sdk.NewToolUseBlock(wire.CallID(b.ID), wire.Object(b.Arguments), wire.CallName(b.Name)))
		case protocol.ImageBlock:
			out = append(out, sdk.NewImageBlockBase64(b.MimeType, b.Data))
		}
	}
	return out
}

func result(m protocol.Message) sdk.ContentBlockParamUnion {
	r := &sdk.ToolResultBlockParam{ToolUseID: wire.CallID(m.ToolCallID)}
	if m.IsError {
		r.IsError = sdk.Bool(true)
	}
	for _, b := range content(m.Content) {
		switch {
		case b.OfText != nil:
			r.Content = append(r.Content, sdk.ToolResultBlockParamContentUnion{OfText: b.OfText})
		case b.OfImage != nil:
			r.Content = append(r.Content, sdk.ToolResultBlockParamContentUnion{OfImage: b.OfImage})
		}
	}
	if len(r.Content) == 0 {
		r.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: "(nothing)"}}}
	}
	return sdk.ContentBlockParamUnion{OfToolResult: r}
}
