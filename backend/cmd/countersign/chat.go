package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"countersign/backend/client"
	"countersign/backend/protocol"
)

func chatCommand(g *globals) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "chat TEXT",
		Short: "Send a message and follow the reply; exit 0 done, 3 parked, 1 failed",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return chat(cmd.Context(), g, key, strings.Join(args, " "), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&key, "session", "main", "session to write in")
	return cmd
}

// chatLine is what chat prints with --json at the end.
type chatLine struct {
	RunID  protocol.RunID    `json:"runId"`
	State  protocol.RunState `json:"state"`
	Text   string            `json:"text"`
	Waits  string            `json:"waitsFor,omitempty"`
	Run    protocol.Run      `json:"run"`
	Failed string            `json:"error,omitempty"`
}

func chat(ctx context.Context, g *globals, key, text string, out io.Writer) error {
	c, err := dial(ctx, g, reading())
	if err != nil {
		return err
	}
	f := &follower{client: c, out: out, stream: !g.json}
	err = f.send(ctx, key, text)
	if err == nil {
		err = f.blocked(ctx, key)
	}
	if err == nil {
		err = f.follow(ctx)
	}
	if g.json && f.line.State != "" {
		if encErr := json.NewEncoder(out).Encode(f.line); encErr != nil {
			err = errors.Join(err, encErr)
		}
	}
	return errors.Join(err, c.Close())
}

// follower sends one message and follows its run to an end or a wait.
type follower struct {
	client  *client.Conn
	out     io.Writer
	stream  bool
	line    chatLine
	current strings.Builder
	midLine bool
}

func (f *follower) send(ctx context.Context, key, text string) error {
	var ack protocol.ChatSendResult
	err := call(ctx, f.client, protocol.MethodChatSend, protocol.ChatSendParams{SessionKey: key, Message: text, IdempotencyKey: uuid.NewString()}, &ack)
	f.line.RunID = ack.RunID
	return err
}

// blocked ends the following of a message that will not be read before a person
// has done something: its conversation waits for one, or all work is paused. The
// message is kept and goes on by itself then.
func (f *follower) blocked(ctx context.Context, key string) error {
	var open protocol.RunsList
	if err := call(ctx, f.client, protocol.MethodRunsList, protocol.RunsListParams{SessionKey: key, Open: true}, &open); err != nil {
		return err
	}
	var health protocol.Health
	if err := call(ctx, f.client, protocol.MethodHealth, protocol.HealthParams{}, &health); err != nil {
		return err
	}
	words := ""
	for _, r := range open.Runs {
		switch {
		case r.RunID == f.line.RunID && r.State != protocol.RunQueued:
			return nil
		case r.RunID == f.line.RunID:
			f.line.State, f.line.Run = r.State, r
		case r.State == protocol.RunParked:
			words = fmt.Sprintf("Your message is kept and waits behind “%s”.\n%s", r.Title, waitsFor(r))
		}
	}
	if words == "" && health.Paused {
		words = "Your message is kept. All work is paused; resume it in the window or the tray."
	}
	if words == "" || f.line.State != protocol.RunQueued {
		return nil
	}
	f.line.Waits = words
	if !f.stream {
		words = ""
	}
	return &exitError{status: exitParked, words: printable(words)}
}

func (f *follower) follow(ctx context.Context) error {
	for {
		e, err := f.client.Event(ctx)
		if err != nil {
			return err
		}
		switch e.Event {
		case protocol.EventChat:
			var ce protocol.ChatEvent
			if json.Unmarshal(e.Payload, &ce) == nil && ce.RunID == f.line.RunID {
				f.chat(ce)
			}
		case protocol.EventSessionMessage:
			var me protocol.SessionMessageEvent
			if json.Unmarshal(e.Payload, &me) == nil && me.RunID == f.line.RunID && me.Message.Role == protocol.RoleAssistant {
				f.settled(me.Message)
			}
		case protocol.EventRun:
			var re protocol.RunEvent
			if json.Unmarshal(e.Payload, &re) == nil && re.Run.RunID == f.line.RunID {
				if done, err := f.run(re.Run); done {
					return err
				}
			}
		}
	}
}

func (f *follower) chat(e protocol.ChatEvent) {
	switch {
	case e.State == protocol.ChatStateDelta && e.Replace:
		f.newLine()
		f.current.Reset()
		fallthrough
	case e.State == protocol.ChatStateDelta:
		f.current.WriteString(e.DeltaText)
		f.print(e.DeltaText)
	}
}

// settled ends the text of an answer that is stored, so that the next begins on
// a line of its own.
func (f *follower) settled(m protocol.Message) {
	if rest, ok := strings.CutPrefix(m.Content.Text(), f.current.String()); ok {
		f.print(rest)
	}
	f.newLine()
	f.current.Reset()
	f.line.Text = m.Content.Text()
}

func (f *follower) print(text string) {
	if !f.stream || text == "" {
		return
	}
	fmt.Fprint(f.out, printable(text))
	f.midLine = !strings.HasSuffix(text, "\n")
}

func (f *follower) newLine() {
	if f.stream && f.midLine {
		fmt.Fprintln(f.out)
		f.midLine = false
	}
}

// run looks at the state of the run; done ends the following.
func (f *follower) run(r protocol.Run) (done bool, err error) {
	f.line.State, f.line.Run = r.State, r
	switch r.State {
	case protocol.RunDone:
		f.newLine()
		return true, nil
	case protocol.RunFailed, protocol.RunStopped:
		f.newLine()
		f.line.Failed = r.ErrorMessage
		return true, &exitError{status: exitFailed, words: r.ErrorMessage}
	case protocol.RunParked:
		f.newLine()
		f.line.Waits = waitsFor(r)
		words := ""
		if f.stream {
			words = f.line.Waits
		}
		return true, &exitError{status: exitParked, words: words}
	}
	return false, nil
}

func waitsFor(r protocol.Run) string {
	switch {
	case len(r.ApprovalIDs) > 0:
		ids := make([]string, len(r.ApprovalIDs))
		for i, id := range r.ApprovalIDs {
			ids[i] = string(id)
		}
		return fmt.Sprintf("It waits for your approval: %s\nDecide in the window, or with: countersign approvals allow %s", strings.Join(ids, " "), ids[0])
	case len(r.QuestionIDs) > 0:
		return "It asked you a question. Answer it in the window."
	}
	return r.ParkDetail + " Decide in the window."
}
