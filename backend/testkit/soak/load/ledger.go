package load

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"countersign/backend/protocol"
	"countersign/backend/testkit/invariant"
)

// ledger is what the outside knows: every message sent, every answer got. It is
// safe for concurrent use.
type ledger struct {
	// marker stands in the argv of every command, canary is a secret the host is
	// given.
	marker string
	canary string
	// waiting counts calls without an answer, moments tells the killer of them.
	waiting atomic.Int64
	moments moments

	mu       sync.Mutex // guards all below
	sessions []protocol.SessionKey
	messages map[protocol.SessionKey][]*invariant.Message
	commands []invariant.Command
	decided  map[protocol.ApprovalID]protocol.Decision
	tallied  Tally
	// wrong are answers that break a promise all by themselves.
	wrong []wrong
}

// wrong is one such answer.
type wrong struct {
	kind  invariant.Kind
	words string
}

// Tally counts what was done.
type Tally struct {
	Messages, Acked, Again, Commands, Decisions, Resumed, Stops int
}

// String names the figures.
func (t Tally) String() string {
	return fmt.Sprintf("%d messages (%d acknowledged, %d sent again), %d commands, %d decisions, %d resumed, %d stops",
		t.Messages, t.Acked, t.Again, t.Commands, t.Decisions, t.Resumed, t.Stops)
}

func newLedger() *ledger {
	return &ledger{
		marker: "soak-" + uuid.NewString(), canary: "canary-" + uuid.NewString(),
		messages: make(map[protocol.SessionKey][]*invariant.Message), decided: make(map[protocol.ApprovalID]protocol.Decision),
		moments: moments{came: make(chan struct{}, 1024)},
	}
}

// write notes a message before it is sent the first time.
func (l *ledger) write(m *invariant.Message, commands []invariant.Command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.messages[m.Session] == nil {
		l.sessions = append(l.sessions, m.Session)
	}
	l.messages[m.Session] = append(l.messages[m.Session], m)
	l.commands = append(l.commands, commands...)
	l.tallied.Messages++
	l.tallied.Commands += len(commands)
}

func (l *ledger) acked(m *invariant.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !m.Acked {
		m.Acked = true
		l.tallied.Acked++
	}
}

func (l *ledger) decide(id protocol.ApprovalID, d protocol.Decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.decided[id] = d
	l.tallied.Decisions++
}

func (l *ledger) count(add func(*Tally)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	add(&l.tallied)
}

func (l *ledger) tally() Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tallied
}

// account copies what is known now.
func (l *ledger) account() invariant.Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := invariant.Account{Commands: slices.Clone(l.commands), Canaries: []string{l.canary}}
	for _, key := range l.sessions {
		for _, m := range l.messages[key] {
			a.Messages = append(a.Messages, *m)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.decided)) {
		a.Decided = append(a.Decided, invariant.Decided{Approval: id, Decision: l.decided[id]})
	}
	return a
}

// say notes an answer that breaks a promise.
func (l *ledger) say(k invariant.Kind, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, wrong{k, fmt.Sprintf(format, args...)})
}

// takeWrong returns what was noted since it was last asked.
func (l *ledger) takeWrong() []wrong {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.wrong
	l.wrong = nil
	return out
}
