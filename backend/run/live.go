package run

import (
	"strings"
	"sync"
	"time"

	"countersign/backend/model"
	"countersign/backend/protocol"
	"countersign/backend/queue"
)

// live is what is shown of a run while it works and stored nowhere: the text so
// far, running output, and the numbering of its events. It is safe for
// concurrent use.
type live struct {
	events Events
	run    protocol.RunID
	key    protocol.SessionKey
	agent  protocol.AgentID

	mu       sync.Mutex // guards all below
	seq      int64
	text     strings.Builder
	thinking strings.Builder
}

func newLive(events Events, r queue.Run) *live {
	// Versions rise with each change of a run, so events of a later lease carry
	// higher numbers than those of an earlier one.
	return &live{events: events, run: r.ID, key: r.SessionKey, agent: r.AgentID, seq: r.Version << 20}
}

// delta shows a part of an answer. A reset drops what was shown of it before.
func (l *live) delta(d model.Delta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.Reset {
		l.text.Reset()
		l.thinking.Reset()
		l.chat(protocol.ChatEvent{State: protocol.ChatStateDelta, Replace: true})
	}
	if d.Thinking != "" {
		l.thinking.WriteString(d.Thinking)
		l.agentEvent(protocol.StreamThinking, protocol.ThinkingData{Delta: d.Thinking})
	}
	if d.Text != "" {
		l.text.WriteString(d.Text)
		l.chat(protocol.ChatEvent{State: protocol.ChatStateDelta, DeltaText: d.Text})
	}
}

// soFar returns the text of the answer that streams now.
func (l *live) soFar() (text, thinking string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String(), l.thinking.String()
}

// settled forgets the text of an answer that is stored now.
func (l *live) settled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
	l.thinking.Reset()
}

func (l *live) phase(phase, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chat(protocol.ChatEvent{State: protocol.ChatStateStatus, Phase: phase})
	l.agentEvent(protocol.StreamRunStatus, protocol.RunStatusData{Phase: phase, Text: text})
}

func (l *live) lifecycle(phase, errText string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.agentEvent(protocol.StreamLifecycle, protocol.LifecycleData{Phase: phase, Error: errText})
}

// retrying shows that a model call is tried again, why, and when.
func (l *live) retrying(a model.Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.agentEvent(protocol.StreamRunStatus, protocol.RunStatusData{
		Phase: "retrying", Text: a.Err.Sentence, Attempt: a.Number, RetryAtMs: a.At.UnixMilli(),
	})
}

func (l *live) tool(d protocol.ToolData) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.agentEvent(protocol.StreamTool, d)
}

// finished tells how the run ended.
func (l *live) finished(e queue.Ending, final *protocol.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.State {
	case protocol.RunDone:
		l.agentEvent(protocol.StreamLifecycle, protocol.LifecycleData{Phase: "end"})
		l.chat(protocol.ChatEvent{State: protocol.ChatStateFinal, Message: final, Usage: final.Usage, StopReason: final.StopReason})
	case protocol.RunStopped:
		l.agentEvent(protocol.StreamLifecycle, protocol.LifecycleData{Phase: "end"})
		l.chat(protocol.ChatEvent{State: protocol.ChatStateAborted, StopReason: protocol.StopAborted, ErrorMessage: e.ErrorMessage})
	default:
		l.agentEvent(protocol.StreamLifecycle, protocol.LifecycleData{Phase: "error", Error: e.ErrorMessage})
		l.chat(protocol.ChatEvent{State: protocol.ChatStateError, ErrorMessage: e.ErrorMessage, ErrorKind: e.ErrorKind, StopReason: protocol.StopError})
	}
}

// chat and agentEvent number an event and send it on; mu is held.
func (l *live) chat(e protocol.ChatEvent) {
	l.seq++
	e.RunID, e.SessionKey, e.AgentID, e.Seq = l.run, l.key, l.agent, l.seq
	l.events.Chat(e)
}

func (l *live) agentEvent(stream protocol.AgentStream, data any) {
	l.seq++
	l.events.Agent(protocol.AgentEvent{RunID: l.run, SessionKey: l.key, Seq: l.seq, Stream: stream, TsMs: time.Now().UnixMilli(), Data: data})
}

// output gathers running output of one call and sends it on in pieces.
type output struct {
	live *live
	call protocol.ToolCallBlock
	mask func(string) string

	mu     sync.Mutex // guards all below
	stream string
	held   strings.Builder
	last   time.Time
	sent   int
}

// maxLiveOutput bounds how much running output of one call is shown, in bytes;
// the stored result is bounded on its own.
const maxLiveOutput = 256 << 10

func (o *output) add(stream, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if stream != o.stream {
		o.flush()
		o.stream = stream
	}
	if o.sent+o.held.Len()+len(text) > maxLiveOutput {
		return
	}
	o.held.WriteString(text)
	if time.Since(o.last) >= toolUpdateEvery {
		o.flush()
	}
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush()
}

func (o *output) flush() {
	if o.held.Len() == 0 {
		return
	}
	o.live.tool(protocol.ToolData{Phase: protocol.ToolUpdate, ToolCallID: o.call.ID, Name: o.call.Name, Output: o.mask(o.held.String()), Stream: o.stream})
	o.sent += o.held.Len()
	o.held.Reset()
	o.last = time.Now()
}
