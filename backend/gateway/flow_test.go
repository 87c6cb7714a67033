package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/backend/gateway"
	"countersign/backend/gateway/gatewaytest"
	"countersign/backend/protocol"
)

func chat(run protocol.RunID, state protocol.ChatState, text string) protocol.ChatEvent {
	return protocol.ChatEvent{RunID: run, SessionKey: "agent:main:main", State: state, DeltaText: text}
}

func decodeChat(t *testing.T, e protocol.Event) protocol.ChatEvent {
	t.Helper()
	var c protocol.ChatEvent
	if err := json.Unmarshal(e.Payload, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheAnswerToChatSendComesBeforeTheEventsOfItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gatewaytest.New(t, gatewaytest.Options(t))
		gateway.Handle(g, protocol.MethodChatSend, func(_ context.Context, _ gateway.Caller, p protocol.ChatSendParams) (protocol.ChatSendResult, error) {
			// A host without any delay: the reply is over before the answer is.
			run := protocol.RunID(p.IdempotencyKey)
			g.Broadcast(protocol.EventRun, protocol.RunEvent{Run: protocol.Run{RunID: run, State: protocol.RunRunning}})
			g.Broadcast(protocol.EventChat, chat(run, protocol.ChatStateDelta, "hel"))
			g.Broadcast(protocol.EventChat, chat(run, protocol.ChatStateDelta, "lo"))
			g.Broadcast(protocol.EventChat, chat(run, protocol.ChatStateFinal, ""))
			return protocol.ChatSendResult{RunID: run, Status: protocol.ChatStarted}, nil
		})
		c, other := gatewaytest.Dial(t, g, window), gatewaytest.Dial(t, g, page)
		c.Connect(gatewaytest.Params())
		other.Connect(gatewaytest.Params())
		<-time.After(time.Second)
		drain(c)
		drain(other)

		asked := time.Now()
		id := c.Start(protocol.MethodChatSend, protocol.ChatSendParams{SessionKey: "main", Message: "hi", IdempotencyKey: "r1"})
		if res := c.Answer(id); !res.OK || len(c.Events) != 0 {
			t.Fatalf("before the answer came %d events", len(c.Events))
		}
		if took := time.Since(asked); took != 0 {
			t.Errorf("the answer waited %v", took)
		}
		first := c.Event()
		if first.Event != protocol.EventRun || time.Since(asked) == 0 {
			t.Errorf("first came %s, %v after the answer", first.Event, time.Since(asked))
		}
		if d := decodeChat(t, c.Event()); d.DeltaText != "hello" {
			t.Errorf("the text is %q", d.DeltaText)
		}
		if f := decodeChat(t, c.Event()); f.State != protocol.ChatStateFinal {
			t.Errorf("the last state is %s", f.State)
		}
		// Whoever did not ask waits for nothing.
		if e := other.Event(); e.Event != protocol.EventRun {
			t.Errorf("the other client got %s", e.Event)
		}
	})
}

func TestARefusedChatSendReleasesItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gatewaytest.New(t, gatewaytest.Options(t))
		refuse := make(chan struct{})
		gateway.Handle(g, protocol.MethodChatSend, func(context.Context, gateway.Caller, protocol.ChatSendParams) (protocol.ChatSendResult, error) {
			<-refuse
			return protocol.ChatSendResult{}, protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailKeyReused, "This key was used.")
		})
		c := gatewaytest.Dial(t, g, window)
		c.Connect(gatewaytest.Params())
		<-time.After(time.Second)
		drain(c)
		params := protocol.ChatSendParams{SessionKey: "main", Message: "hi", IdempotencyKey: "r1"}
		a, b := c.Start(protocol.MethodChatSend, params), c.Start(protocol.MethodChatSend, params)
		synctest.Wait()
		g.Broadcast(protocol.EventChat, chat("r1", protocol.ChatStateFinal, ""))
		close(refuse)
		c.Answer(a)
		c.Answer(b)
		if got := c.Event(); got.Event != protocol.EventChat || len(c.Events) != 0 {
			t.Errorf("after the refusals came %s, before them %d events", got.Event, len(c.Events))
		}
	})
}

func TestChatSendsOfOneConnectionKeepTheirOrderAndAbortFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gatewaytest.New(t, gatewaytest.Options(t))
		var order []string
		release := make(chan struct{})
		gateway.Handle(g, protocol.MethodChatSend, func(_ context.Context, _ gateway.Caller, p protocol.ChatSendParams) (protocol.ChatSendResult, error) {
			if p.IdempotencyKey == "0" {
				<-release
			}
			order = append(order, p.IdempotencyKey)
			return protocol.ChatSendResult{}, nil
		})
		gateway.Handle(g, protocol.MethodChatAbort, func(context.Context, gateway.Caller, protocol.ChatAbortParams) (protocol.ChatAbortResult, error) {
			order = append(order, "abort")
			return protocol.ChatAbortResult{OK: true}, nil
		})
		gateway.Handle(g, protocol.MethodStatus, func(context.Context, gateway.Caller, protocol.StatusParams) (protocol.Status, error) {
			return protocol.Status{}, nil
		})
		c := gatewaytest.Dial(t, g, window)
		c.Connect(gatewaytest.Params())
		var want []string
		for n := range 20 {
			c.Start(protocol.MethodChatSend, protocol.ChatSendParams{SessionKey: "main", Message: "x", IdempotencyKey: fmt.Sprint(n)})
			want = append(want, fmt.Sprint(n))
		}
		c.Start(protocol.MethodChatAbort, protocol.ChatAbortParams{SessionKey: "main"})
		if res := c.Call(protocol.MethodStatus, protocol.StatusParams{}); !res.OK {
			t.Error("another call waited for the sends")
		}
		close(release)
		synctest.Wait()
		if want = append(want, "abort"); !slices.Equal(order, want) {
			t.Errorf("the order is %v", order)
		}
	})
}

func TestStopGetsThroughWhenAConnectionIsFullOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gatewaytest.New(t, gatewaytest.Options(t))
		release := make(chan struct{})
		gateway.Handle(g, protocol.MethodStatus, func(context.Context, gateway.Caller, protocol.StatusParams) (protocol.Status, error) {
			<-release
			return protocol.Status{}, nil
		})
		gateway.Handle(g, protocol.MethodChatAbort, func(context.Context, gateway.Caller, protocol.ChatAbortParams) (protocol.ChatAbortResult, error) {
			return protocol.ChatAbortResult{OK: true}, nil
		})
		c := gatewaytest.Dial(t, g, window)
		c.Connect(gatewaytest.Params())
		for range 64 {
			c.Start(protocol.MethodStatus, protocol.StatusParams{})
		}
		if res := c.Call(protocol.MethodStatus, protocol.StatusParams{}); res.OK || !res.Error.Retryable {
			t.Errorf("the 65th call at once was answered %+v", res.Error)
		}
		if res := c.Call(protocol.MethodChatAbort, protocol.ChatAbortParams{SessionKey: "main"}); !res.OK {
			t.Errorf("stop did not get through: %+v", res.Error)
		}
		close(release)
	})
}

func TestAnIDInUseEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gatewaytest.New(t, gatewaytest.Options(t))
		release := make(chan struct{})
		gateway.Handle(g, protocol.MethodStatus, func(context.Context, gateway.Caller, protocol.StatusParams) (protocol.Status, error) {
			<-release
			return protocol.Status{}, nil
		})
		c := gatewaytest.Dial(t, g, window)
		c.Connect(gatewaytest.Params())
		c.Send(`{"type":"req","id":"x","method":"status"}`)
		c.Send(`{"type":"req","id":"x","method":"status"}`)
		<-time.After(2 * time.Second)
		if code, reason, ended := c.Pipe.Ended(); !ended || code != protocol.ClosePolicy || reason != "request id in use" {
			t.Errorf("ended %v with %d %s", ended, code, reason)
		}
		close(release)
	})
}

func TestWhatWasAskedIsDoneThoughTheAskerLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gatewaytest.New(t, gatewaytest.Options(t))
		done := make(chan error, 1)
		gateway.Handle(g, protocol.MethodChatAbort, func(ctx context.Context, _ gateway.Caller, _ protocol.ChatAbortParams) (protocol.ChatAbortResult, error) {
			<-time.After(time.Second)
			done <- ctx.Err()
			return protocol.ChatAbortResult{OK: true}, nil
		})
		c := gatewaytest.Dial(t, g, window)
		c.Connect(gatewaytest.Params())
		c.Start(protocol.MethodChatAbort, protocol.ChatAbortParams{SessionKey: "main"})
		synctest.Wait()
		c.Close()
		if err := <-done; err != nil {
			t.Errorf("the call was cancelled: %v", err)
		}
	})
}

func drain(c *gatewaytest.Client) []protocol.Event {
	var out []protocol.Event
	for {
		frame, ok := c.TryRecv()
		if !ok {
			return out
		}
		var e protocol.Event
		if err := json.Unmarshal(frame, &e); err != nil {
			c.T.Fatal(err)
		}
		out = append(out, e)
	}
}

// A slow reader takes one frame now and then while the reply runs; what it joins
// must be the reply, tools must stay where they stood in it, and numbers must
// have no holes.
func TestMergedTextIsTheWholeText(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, peer := range []gateway.Peer{window, page} {
		synctest.Test(t, func(t *testing.T) {
			g := gatewaytest.New(t, gatewaytest.Options(t))
			c := gatewaytest.DialBuffered(t, g, peer, 1)
			c.Connect(gatewaytest.Params())
			var want, got strings.Builder
			var frames []protocol.Event
			take := func() {
				synctest.Wait()
				if frame, ok := c.TryRecv(); ok {
					var e protocol.Event
					if err := json.Unmarshal(frame, &e); err != nil {
						t.Fatal(err)
					}
					frames = append(frames, e)
				}
			}
			for n := range 2000 {
				switch random.IntN(20) {
				case 0:
					g.Broadcast(protocol.EventAgent, protocol.AgentEvent{RunID: "r", Stream: protocol.StreamTool, Data: protocol.ToolData{
						Phase: protocol.ToolStart, ToolCallID: fmt.Sprint(n), Name: fmt.Sprintf("<%d>", n)}})
					fmt.Fprintf(&want, "<%d>", n)
				case 1, 2, 3:
					take()
				case 4:
					<-time.After(time.Duration(random.IntN(50)) * time.Millisecond)
				default:
					piece := fmt.Sprintf("%d ü ", n)
					g.Broadcast(protocol.EventChat, chat("r", protocol.ChatStateDelta, piece))
					g.Broadcast(protocol.EventAgent, protocol.AgentEvent{RunID: "r", Stream: protocol.StreamThinking, Data: protocol.ThinkingData{Delta: piece}})
					want.WriteString(piece)
				}
			}
			g.Broadcast(protocol.EventChat, chat("r", protocol.ChatStateFinal, ""))
			for range 3000 {
				take()
				<-time.After(time.Millisecond)
			}
			deltas := 0
			for n, e := range frames {
				if n > 0 && e.Seq != frames[n-1].Seq+1 {
					t.Fatalf("seq %d follows %d", e.Seq, frames[n-1].Seq)
				}
				switch e.Event {
				case protocol.EventChat:
					d := decodeChat(t, e)
					got.WriteString(d.DeltaText)
					deltas++
				case protocol.EventAgent:
					var a struct{ Data protocol.ToolData }
					if err := json.Unmarshal(e.Payload, &a); err != nil {
						t.Fatal(err)
					}
					got.WriteString(a.Data.Name)
				}
			}
			if got.String() != want.String() {
				t.Errorf("%s: seed %d: the text is not the reply", peer.Kind, seed)
			}
			if deltas > 1500 {
				t.Errorf("%s: %d deltas: nothing was merged", peer.Kind, deltas)
			}
			if last := frames[len(frames)-1]; last.Event == protocol.EventChat && decodeChat(t, last).State != protocol.ChatStateFinal {
				t.Error("the final is not last")
			}
		})
	}
}

func TestAReplaceThatIsMergedReplacesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gatewaytest.New(t, gatewaytest.Options(t))
		c := gatewaytest.DialBuffered(t, g, page, 1)
		c.Connect(gatewaytest.Params())
		g.Broadcast(protocol.EventRun, protocol.RunEvent{})
		g.Broadcast(protocol.EventRun, protocol.RunEvent{})
		synctest.Wait() // one in the pipe, one stuck in the writer
		for _, e := range []protocol.ChatEvent{
			chat("r", protocol.ChatStateDelta, "wrong "), chat("r", protocol.ChatStateDelta, "start"),
			{RunID: "r", State: protocol.ChatStateDelta, DeltaText: "right", Replace: true, Usage: &protocol.Usage{Input: 7}},
			chat("r", protocol.ChatStateDelta, " end"),
		} {
			g.Broadcast(protocol.EventChat, e)
		}
		c.Event()
		c.Event()
		d := decodeChat(t, c.Event())
		if d.DeltaText != "right end" || !d.Replace || d.Usage == nil || d.Usage.Input != 7 {
			t.Errorf("merged to %+v", d)
		}
	})
}

func TestTheWindowGetsAtMostThirtyDeltasASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gatewaytest.New(t, gatewaytest.Options(t))
		c := gatewaytest.Dial(t, g, window)
		c.Connect(gatewaytest.Params())
		<-time.After(time.Second)
		drain(c)
		for range 1000 {
			g.Broadcast(protocol.EventChat, chat("r", protocol.ChatStateDelta, "x"))
			<-time.After(time.Millisecond)
		}
		text, frames := "", 0
		for _, e := range drain(c) {
			text += decodeChat(t, e).DeltaText
			frames++
		}
		if frames > 31 || frames < 25 {
			t.Errorf("%d frames in a second", frames)
		}
		g.Broadcast(protocol.EventChat, chat("r", protocol.ChatStateFinal, ""))
		synctest.Wait()
		for _, e := range drain(c) {
			text += decodeChat(t, e).DeltaText
		}
		if len(text) != 1000 {
			t.Errorf("%d of 1000 letters came", len(text))
		}
	})
}

func TestASlowClientIsClosedAndHarmsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gatewaytest.New(t, gatewaytest.Options(t))
		slow, quick := gatewaytest.DialBuffered(t, g, page, 1), gatewaytest.Dial(t, g, page)
		slow.Connect(gatewaytest.Params())
		quick.Connect(gatewaytest.Params())
		big := strings.Repeat("x", 1<<20)
		got := 0
		for range 60 {
			g.Broadcast(protocol.EventSessionMessage, protocol.SessionMessageEvent{Message: protocol.Message{ErrorMessage: big}})
			g.Broadcast(protocol.EventTick, protocol.TickEvent{})
			synctest.Wait()
			for _, e := range drain(quick) {
				if e.Event == protocol.EventSessionMessage {
					got++
				}
			}
		}
		if got != 60 {
			t.Errorf("the quick client got %d of 60", got)
		}
		if code, reason, ended := slow.Pipe.Ended(); !ended || code != protocol.ClosePolicy || reason != "slow consumer" {
			t.Errorf("the slow client ended %v with %d %s", ended, code, reason)
		}
		if _, _, ended := quick.Pipe.Ended(); ended {
			t.Error("the quick client ended too")
		}
	})
}

func TestFiftyMegabytesOfTextStayWithinBoundsAndTheEndIsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gatewaytest.New(t, gatewaytest.Options(t))
		c := gatewaytest.DialBuffered(t, g, page, 1)
		c.Connect(gatewaytest.Params())
		piece := strings.Repeat("y", 10_000)
		for range 5000 {
			g.Broadcast(protocol.EventChat, chat("r", protocol.ChatStateDelta, piece))
			g.Broadcast(protocol.EventAgent, protocol.AgentEvent{RunID: "r", Stream: protocol.StreamAssistant, Data: protocol.AssistantData{Delta: piece}})
		}
		final := chat("r", protocol.ChatStateFinal, "")
		final.Message = &protocol.Message{Content: protocol.Blocks{protocol.TextBlock{Text: "all of it"}}}
		g.Broadcast(protocol.EventChat, final)
		g.Broadcast(protocol.EventChat, chat("r2", protocol.ChatStateDelta, "next"))
		var last []protocol.ChatEvent
		bytes := 0
		for {
			synctest.Wait()
			frame, ok := c.TryRecv()
			if !ok {
				break
			}
			bytes += len(frame)
			var e protocol.Event
			if err := json.Unmarshal(frame, &e); err != nil {
				t.Fatal(err)
			}
			if e.Event == protocol.EventChat {
				last = append(last, decodeChat(t, e))
			}
		}
		if bytes > 6<<20 {
			t.Errorf("%d bytes waited for one slow reader", bytes)
		}
		if n := len(last); n < 2 || last[n-2].Message == nil || last[n-2].Message.Content.Text() != "all of it" || last[n-1].DeltaText != "next" {
			t.Errorf("the end of the run did not come whole")
		}
	})
}

func TestEventsGoToThoseWhoMayAndUnderstand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gatewaytest.New(t, gatewaytest.Options(t))
		dial := func(scopes []protocol.Scope, caps ...string) *gatewaytest.Client {
			c := gatewaytest.Dial(t, g, window)
			p := gatewaytest.Params()
			p.Scopes, p.Caps = scopes, caps
			c.Connect(p)
			return c
		}
		read := []protocol.Scope{protocol.ScopeRead}
		clients := map[string]*gatewaytest.Client{
			"read": dial(read), "tools": dial(read, protocol.CapToolEvents), "changes": dial(read, protocol.CapChanges),
			"approvals": dial([]protocol.Scope{protocol.ScopeApprovals}), "questions": dial([]protocol.Scope{protocol.ScopeQuestions}),
		}
		<-time.After(time.Second)
		for _, c := range clients {
			drain(c)
		}
		agent := func(s protocol.AgentStream, data any) protocol.AgentEvent {
			return protocol.AgentEvent{RunID: "r", Stream: s, Data: data}
		}
		rows := []struct {
			event   protocol.EventName
			payload any
			to      string
		}{
			{protocol.EventTick, protocol.TickEvent{}, "approvals changes questions read tools"},
			{protocol.EventChat, chat("r", protocol.ChatStateFinal, ""), "changes read tools"},
			{protocol.EventAgent, agent(protocol.StreamLifecycle, protocol.LifecycleData{}), "changes read tools"},
			{protocol.EventAgent, agent(protocol.StreamTool, protocol.ToolData{}), "tools"},
			{protocol.EventRun, protocol.RunEvent{}, "changes"},
			{protocol.EventReceipt, protocol.ReceiptEvent{}, "changes"},
			{protocol.EventSettings, protocol.SettingsEvent{}, "changes"},
			{protocol.EventChange, protocol.ChangeEvent{Seq: 1}, "changes"},
			{protocol.EventApprovalRequested, protocol.Approval{}, "approvals"},
			{protocol.EventQuestionRequested, protocol.QuestionEvent{}, "questions"},
			// Mistakes of the host reach nobody.
			{"made.up", protocol.TickEvent{}, ""},
			{protocol.EventChat, protocol.TickEvent{}, ""},
			{protocol.EventChat, &protocol.ChatEvent{}, ""},
			{protocol.EventChat, nil, ""},
			{protocol.EventChallenge, protocol.Challenge{}, ""},
		}
		for _, row := range rows {
			g.Broadcast(row.event, row.payload)
			<-time.After(time.Second)
			var got []string
			for name, c := range clients {
				if len(drain(c)) > 0 {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != row.to {
				t.Errorf("%s %T went to %v, should go to %q", row.event, row.payload, got, row.to)
			}
		}
	})
}

func TestStopTellsClientsWaitsForCallsAndRefusesNewOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := gatewaytest.Options(t)
		g, err := gateway.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		g.Start()
		g.Start()
		gateway.Handle(g, protocol.MethodStatus, func(context.Context, gateway.Caller, protocol.StatusParams) (protocol.Status, error) {
			<-time.After(time.Second)
			return protocol.Status{PID: 7}, nil
		})
		c := gatewaytest.Dial(t, g, window)
		c.Connect(gatewaytest.Params())
		id := c.Start(protocol.MethodStatus, protocol.StatusParams{})
		synctest.Wait()
		stopped := make(chan struct{})
		go func() { g.Stop(t.Context()); g.Stop(t.Context()); close(stopped) }()
		synctest.Wait()
		late := c.Start(protocol.MethodStatus, protocol.StatusParams{})
		if res := c.Answer(late); res.OK || res.Error.Details.Reason != "gateway-restarting" {
			t.Errorf("a late call was answered %+v", res)
		}
		if res := c.Answer(id); !res.OK {
			t.Error("a running call was not finished")
		}
		<-stopped
		if !slices.ContainsFunc(c.Events, func(e protocol.Event) bool { return e.Event == protocol.EventShutdown }) {
			t.Error("no shutdown event")
		}
		if code, _, ended := c.Pipe.Ended(); !ended || code != protocol.CloseRestart {
			t.Errorf("closed with %d", code)
		}
		after := gatewaytest.NewPipe(1)
		if err := g.ServeConn(t.Context(), after, window); err != nil {
			t.Fatal(err)
		}
		if code, _, _ := after.Ended(); code != protocol.CloseRestart {
			t.Errorf("a connection after the end was closed with %d", code)
		}
	})
}

func TestHandlersThatDifferFromTheTableAreRefused(t *testing.T) {
	g := gatewaytest.New(t, gatewaytest.Options(t))
	for name, register := range map[string]func(){
		"unknown method": func() { g.Handle("made.up", nil) },
		"connect":        func() { g.Handle(protocol.MethodConnect, nil) },
		"twice":          func() { g.Handle(protocol.MethodPresence, nil) },
		"wrong params": func() {
			gateway.Handle(g, protocol.MethodStatus, func(context.Context, gateway.Caller, protocol.Empty) (protocol.Status, error) {
				return protocol.Status{}, nil
			})
		},
		"wrong result": func() {
			gateway.Handle(g, protocol.MethodStatus, func(context.Context, gateway.Caller, protocol.StatusParams) (protocol.Health, error) {
				return protocol.Health{}, nil
			})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: registered", name)
				}
			}()
			register()
		}()
	}
}
