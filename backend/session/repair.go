package session

import "countersign/backend/protocol"

// missingResult is what a model is told about a call whose result was never
// stored. It must not suggest a repeat.
const missingResult = "The result of this call was not recorded. It may or may not have happened; do not repeat it without checking."

// Repair returns a history that providers accept: each tool call has exactly one
// result, right after the message that made it; results without a call are left
// out; so are messages without content. Messages are never edited, so that signed
// thinking stays as it was. It changes nothing that is stored.
func Repair(history []protocol.Message) []protocol.Message {
	results := make(map[string]protocol.Message)
	for _, m := range history {
		if m.Role == protocol.RoleToolResult {
			if _, seen := results[m.ToolCallID]; !seen {
				results[m.ToolCallID] = m
			}
		}
	}
	out := make([]protocol.Message, 0, len(history))
	for _, m := range history {
		if m.Role == protocol.RoleToolResult || isEmpty(m) {
			continue
		}
		out = append(out, m)
		if m.Role != protocol.RoleAssistant {
			continue
		}
		for _, call := range m.Content.ToolCalls() {
			result, ok := results[call.ID]
			if !ok {
				result = protocol.Message{
					Role: protocol.RoleToolResult, ToolCallID: call.ID, ToolName: call.Name, IsError: true,
					Content: protocol.Blocks{protocol.TextBlock{Text: missingResult}}, TimestampMs: m.TimestampMs, RunID: m.RunID,
				}
			}
			out = append(out, result)
		}
	}
	return out
}

// isEmpty reports a message that says nothing a provider would accept.
func isEmpty(m protocol.Message) bool {
	for _, b := range m.Content {
		switch b := b.(type) {
		case protocol.TextBlock:
			if b.Text != "" {
				return false
			}
		case protocol.ThinkingBlock:
			// Thinking alone is no answer, and no provider takes it back alone.
		default:
			return false
		}
	}
	return true
}
