package session

import (
	"maps"
	"strings"

	"countersign/backend/protocol"
)

// missingResult is what a model is told about a call whose result was never
// stored. It must not suggest a repeat.
const missingResult = "The result of this call was not recorded. It may or may not have happened; do not repeat it without checking."

// Repair returns a history that providers accept: each tool call has exactly one
// result, right after the message that made it; results without a call are left
// out; so are messages that say nothing, results apart, and those of the owner
// that were stopped before anybody read them. A result belongs to the
// nearest call of its identifier before it: identifiers that come twice (an import, a
// provider that counts from zero) never give a call the outcome of another.
// Messages are never edited, so that signed thinking stays as it was. It changes
// nothing that is stored.
func Repair(history []protocol.Message) []protocol.Message {
	results := match(history)
	out := make([]protocol.Message, 0, len(history))
	for i, m := range history {
		if m.Role == protocol.RoleToolResult || isEmpty(m) || m.Role == protocol.RoleUser && m.StopReason == protocol.StopAborted {
			continue
		}
		out = append(out, m)
		if m.Role != protocol.RoleAssistant {
			continue
		}
		for n, call := range m.Content.ToolCalls() {
			result, ok := results[place{i, n}]
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

// place is where a call stands: the nth of the message at an index.
type place struct{ message, nth int }

// match finds the result of each call: the first that comes after it and before
// the next call of the same identifier.
func match(history []protocol.Message) map[place]protocol.Message {
	results := make(map[place]protocol.Message)
	open := make(map[string][]place)
	for i, m := range history {
		switch m.Role {
		case protocol.RoleAssistant:
			mine := make(map[string][]place)
			for n, call := range m.Content.ToolCalls() {
				mine[call.ID] = append(mine[call.ID], place{i, n})
			}
			maps.Copy(open, mine)
		case protocol.RoleToolResult:
			if waiting := open[m.ToolCallID]; len(waiting) > 0 {
				results[waiting[0]], open[m.ToolCallID] = m, waiting[1:]
			}
		}
	}
	return results
}

// isEmpty reports a message that says nothing a provider would accept.
func isEmpty(m protocol.Message) bool {
	for _, b := range m.Content {
		switch b := b.(type) {
		case protocol.TextBlock:
			if strings.TrimSpace(b.Text) != "" {
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
