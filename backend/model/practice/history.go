package practice

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"countersign/backend/protocol"
)

// history is what the practice model takes from the messages before it.
type history struct {
	// request is the newest thing a person asked.
	request string
	// first says that nobody has answered in this conversation yet.
	first bool
	// seed makes the identifiers of this request's calls.
	seed string
	made map[string]bool
	told map[string]protocol.Message
}

// read finds the newest request and what has been done since. Messages that the
// host adds on its own account are not requests, unless there is nothing else.
func read(messages []protocol.Message) history {
	h := history{first: true, made: make(map[string]bool), told: make(map[string]protocol.Message)}
	newest, asked, ordinal := -1, 0, 0
	for i, m := range messages {
		if m.Role != protocol.RoleUser {
			continue
		}
		asked++
		own := m.Origin == protocol.OriginSystem || m.Origin == protocol.OriginRecovery
		if newest < 0 || !own {
			newest, ordinal = i, asked
		}
	}
	if newest < 0 {
		return h
	}
	m := messages[newest]
	h.request = m.Content.Text()
	h.seed = fmt.Sprintf("%s/%d/%d/%s", m.ID, m.Seq, m.TimestampMs, h.request)
	if m.ID == "" && m.Seq == 0 {
		h.seed += fmt.Sprintf("/%d", ordinal)
	}
	for _, m := range messages {
		switch m.Role {
		case protocol.RoleAssistant:
			h.first = h.first && len(m.Content) == 0
			for _, c := range m.Content.ToolCalls() {
				h.made[c.ID] = true
			}
		case protocol.RoleToolResult:
			h.told[m.ToolCallID] = m
		case protocol.RoleUser:
		}
	}
	return h
}

// calls are those of one step in one of its rounds.
func (h history) calls(stepIndex, round int, s step, tools toolbox) []protocol.ToolCallBlock {
	out := make([]protocol.ToolCallBlock, len(s.actions))
	for i, a := range s.actions {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d/%d", h.seed, stepIndex, round, i))
		out[i] = protocol.ToolCallBlock{ID: "practice_" + hex.EncodeToString(sum[:9]), Name: a.kind.tool(), Arguments: tools.arguments(a)}
	}
	return out
}

// results returns what is known of calls; made says that they were made before.
func (h history) results(calls []protocol.ToolCallBlock) (results []protocol.Message, made bool) {
	for _, c := range calls {
		if !h.made[c.ID] {
			return nil, false
		}
		m, ok := h.told[c.ID]
		if !ok {
			m = protocol.Message{IsError: true, Content: protocol.Blocks{protocol.TextBlock{Text: "There is no result for this step."}}}
		}
		results = append(results, m)
	}
	return results, true
}

// stopped reports whether a step failed, was refused, or was answered with no.
// Later steps may depend on it, so they are not begun.
func stopped(done []outcome) bool {
	for _, o := range done {
		if o.result.IsError || o.no() {
			return true
		}
	}
	return false
}
