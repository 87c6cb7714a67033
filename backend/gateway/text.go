package gateway

import (
	"encoding/json"

	"countersign/backend/protocol"
)

// textKey tells which running texts may be merged with one another.
type textKey struct {
	event  protocol.EventName
	stream protocol.AgentStream
	call   string
	output string
}

// runningText is a piece of a reply, of reasoning or of a tool's output while it
// grows. Pieces with one key are merged by joining their parts. A piece that came
// from a broadcast is shared and never changed; own makes one that may be.
type runningText struct {
	key  textKey
	part []byte
	// replace says that the part replaces all text so far.
	replace bool
	chat    protocol.ChatEvent
	agent   protocol.AgentEvent
}

// textOf returns the running text in a payload, or nil where nothing may be
// merged.
func textOf(event protocol.EventName, payload any) *runningText {
	switch p := payload.(type) {
	case protocol.ChatEvent:
		if p.State != protocol.ChatStateDelta {
			return nil
		}
		return &runningText{key: textKey{event: event}, part: []byte(p.DeltaText), replace: p.Replace, chat: p}
	case protocol.AgentEvent:
		t := &runningText{key: textKey{event: event, stream: p.Stream}, agent: p}
		switch d := p.Data.(type) {
		case protocol.AssistantData:
			t.part = []byte(d.Delta)
		case protocol.ThinkingData:
			t.part = []byte(d.Delta)
		case protocol.ToolData:
			if d.Phase != protocol.ToolUpdate {
				return nil
			}
			t.key.call, t.key.output, t.part = d.ToolCallID, d.Stream, []byte(d.Output)
		default:
			return nil
		}
		return t
	}
	return nil
}

// own returns a piece of one's own, to which others may be added.
func (t *runningText) own() *runningText {
	mine := *t
	mine.part = append(make([]byte, 0, len(t.part)+64), t.part...)
	return &mine
}

// absorb adds a later piece; everything but the text is the later one's.
func (t *runningText) absorb(later *runningText) {
	if later.replace {
		t.part, t.replace = t.part[:0], true
	}
	t.part = append(t.part, later.part...)
	message, usage := t.chat.Message, t.chat.Usage
	t.chat, t.agent = later.chat, later.agent
	if t.chat.Message == nil {
		t.chat.Message = message
	}
	if t.chat.Usage == nil {
		t.chat.Usage = usage
	}
}

func (t *runningText) encode() ([]byte, error) {
	part := string(t.part)
	if t.key.event == protocol.EventChat {
		t.chat.DeltaText, t.chat.Replace = part, t.replace
		return json.Marshal(t.chat)
	}
	switch d := t.agent.Data.(type) {
	case protocol.AssistantData:
		d.Delta = part
		t.agent.Data = d
	case protocol.ThinkingData:
		d.Delta = part
		t.agent.Data = d
	case protocol.ToolData:
		d.Output = part
		t.agent.Data = d
	}
	return json.Marshal(t.agent)
}

// runOf is the run an event belongs to, which decides what it waits for.
func runOf(payload any) protocol.RunID {
	switch p := payload.(type) {
	case protocol.ChatEvent:
		return p.RunID
	case protocol.AgentEvent:
		return p.RunID
	case protocol.SessionMessageEvent:
		return p.RunID
	case protocol.RunEvent:
		return p.Run.RunID
	case protocol.ReceiptEvent:
		return p.Receipt.Origin.RunID
	case protocol.Approval:
		return p.Request.RunID
	case protocol.ApprovalResolvedEvent:
		return p.Request.RunID
	case protocol.QuestionEvent:
		return p.Question.RunID
	}
	return ""
}

// endsRun reports an event after which no text of the run comes.
func endsRun(payload any) bool {
	switch p := payload.(type) {
	case protocol.ChatEvent:
		return p.State == protocol.ChatStateFinal || p.State == protocol.ChatStateAborted || p.State == protocol.ChatStateError
	case protocol.RunEvent:
		return p.Run.State.Ended()
	}
	return false
}
