//go:build peers

package peers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"countersign/backend/client"
	"countersign/backend/protocol"
)

// judged is a value of ours and the definition it must fit.
type judged struct {
	Schema string          `json:"schema"`
	Value  json.RawMessage `json:"value"`
}

// difference is one way in which a value does not fit.
type difference struct {
	Path  string   `json:"path"`
	Rule  string   `json:"rule"`
	Names []string `json:"names"`
}

// judge has the schema's own validator look at values.
func judge(t *testing.T, values []judged) [][]difference {
	t.Helper()
	in, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node(t), filepath.Join("testdata", "validate.mjs"), peer(t, "protocol"))
	cmd.Stdin = bytes.NewReader(in)
	out, status := output(t, cmd)
	if status != 0 {
		t.Fatalf("the validator ended with %d: %s", status, out)
	}
	return decode[[][]difference](t, out)
}

// The validator must find what is wrong, or all below proves nothing.
func TestTheValidatorFindsFaults(t *testing.T) {
	rows := []judged{
		{"/definitions/TickEvent", json.RawMessage(`{"ts":1}`)},
		{"/definitions/TickEvent", json.RawMessage(`{"ts":-1}`)},
		{"/definitions/TickEvent", json.RawMessage(`{}`)},
		{"/definitions/TickEvent", json.RawMessage(`{"ts":1,"extra":true}`)},
	}
	for i, found := range judge(t, rows) {
		if wrong := i > 0; (len(found) > 0) != wrong {
			t.Errorf("%s: %+v", rows[i].Value, found)
		}
	}
}

// session is a whole conversation with all frames that came.
type session struct {
	t      *testing.T
	conn   *client.Conn
	frames []json.RawMessage
	judged []judged
}

// openSession connects as a program of protocol v4 would: without our capability.
func openSession(t *testing.T, h *host, o client.Options) *session {
	t.Helper()
	s := &session{t: t}
	o.Caps = []string{protocol.CapToolEvents, protocol.CapApprovals, protocol.CapExecApprovals}
	o.Name, o.Version = "peers", "1"
	transport := dial(t, h.WS, func(frame []byte) { s.frames = append(s.frames, frame) })
	var err error
	if s.conn, err = client.New(t.Context(), transport, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.conn.Close() }) // the host may have ended it
	return s
}

func (s *session) fits(definition string, value any) {
	s.t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		s.t.Fatal(err)
	}
	s.judged = append(s.judged, judged{"/definitions/" + definition, raw})
}

// call makes a call that must succeed and keeps its payload for judgement.
func (s *session) call(m protocol.Method, params any, definition string) json.RawMessage {
	s.t.Helper()
	var raw json.RawMessage
	if err := s.conn.Call(s.t.Context(), m, params, &raw); err != nil {
		s.t.Fatalf("%s: %v", m, err)
	}
	if definition != "" {
		s.fits(definition, raw)
	}
	return raw
}

// refused makes a call that must fail; the frame is judged with all others.
func (s *session) refused(m protocol.Method, params any) {
	s.t.Helper()
	var raw json.RawMessage
	if err := s.conn.Call(s.t.Context(), m, params, &raw); err == nil {
		s.t.Errorf("%s was answered with %s", m, raw)
	}
}

// until takes events up to the first one that is meant.
func (s *session) until(event protocol.EventName, part string) json.RawMessage {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for {
		e, err := s.conn.Event(ctx)
		if err != nil {
			s.t.Fatalf("waiting for %s with %s: %v", event, part, err)
		}
		if e.Event == event && strings.Contains(string(e.Payload), part) {
			return e.Payload
		}
	}
}

func (s *session) say(key, text string) {
	s.t.Helper()
	s.call(protocol.MethodChatSend, protocol.ChatSendParams{SessionKey: "s", Message: text, IdempotencyKey: key}, "")
}

// talk goes through all that protocol v4 and we have in common.
func (s *session) talk() {
	s.call(protocol.MethodHealth, protocol.HealthParams{Probe: true}, "Snapshot/properties/health")
	s.call(protocol.MethodAgentsList, protocol.Empty{}, "AgentsListResult")
	s.call(protocol.MethodModelsList, protocol.ModelsListParams{}, "ModelsListResult")
	s.call(protocol.MethodToolsCatalog, protocol.ToolsCatalogParams{}, "ToolsCatalogResult")
	s.call(protocol.MethodSessionsCreate, protocol.SessionsCreateParams{Key: "s", Label: "A name"}, "SessionsCreateResult")

	s.say("run", "run echo hi")
	asked := decode[protocol.Approval](s.t, string(s.until(protocol.EventApprovalRequested, "")))
	s.call(protocol.MethodApprovalResolve, protocol.ApprovalResolveParams{ID: asked.ID, Decision: protocol.AllowOnce}, "")
	s.until(protocol.EventChat, `"state":"final"`)

	s.say("ask", "ask me whether to go")
	question := decode[protocol.QuestionEvent](s.t, string(s.until(protocol.EventQuestionRequested, ""))).Question
	s.call(protocol.MethodQuestionList, protocol.QuestionListParams{}, "QuestionListResult")
	s.call(protocol.MethodQuestionResolve, protocol.QuestionResolveParams{ID: question.ID, Answers: []string{question.Options[0].Label}}, "QuestionResolveResult")
	s.until(protocol.EventChat, `"state":"final"`)

	s.say("stop", "run sleep 60")
	s.until(protocol.EventApprovalRequested, "")
	s.call(protocol.MethodChatAbort, protocol.ChatAbortParams{SessionKey: "s", RunID: "stop"}, "")
	s.until(protocol.EventChat, `"state":"aborted"`)
	s.say("fail", "pretend to have a wrong key")
	s.until(protocol.EventChat, `"state":"error"`)

	history := decode[protocol.ChatHistory](s.t, string(s.call(protocol.MethodChatHistory, protocol.ChatHistoryParams{SessionKey: "s"}, "")))
	s.fits("SessionRow", history.SessionInfo)
	list := decode[struct{ Sessions []json.RawMessage }](s.t, string(s.call(protocol.MethodSessionsList, protocol.SessionsListParams{}, "")))
	for _, row := range list.Sessions {
		s.fits("SessionRow", row)
	}
	s.refused("cron.list", protocol.Empty{})
	s.refused(protocol.MethodChatSend, map[string]any{"sessionKey": "s"})
	s.refused(protocol.MethodSessionsCreate, protocol.SessionsCreateParams{AgentID: "nobody"})
	s.call(protocol.MethodSessionsReset, protocol.SessionsResetParams{Key: "s"}, "")
	s.call(protocol.MethodSessionsDelete, protocol.SessionsDeleteParams{Key: "s", DeleteTranscript: true}, "SessionsDeleteResult")
}

func TestOurFramesFitTheSchema(t *testing.T) {
	h := startHost(t)
	reader := openSession(t, h, client.Options{Token: token})
	reader.refused(protocol.MethodApprovalResolve, protocol.ApprovalResolveParams{ID: "a", Decision: protocol.Deny})
	owner := openSession(t, h, client.Options{Key: newKey(t), Bootstrap: h.Ticket, Scopes: []protocol.Scope{
		protocol.ScopeRead, protocol.ScopeWrite, protocol.ScopeAdmin, protocol.ScopeApprovals, protocol.ScopeQuestions, protocol.ScopePairing,
	}})
	owner.talk()
	owner.until(protocol.EventTick, "")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := h.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	owner.until(protocol.EventShutdown, "")

	values := slices.Concat(reader.judged, owner.judged)
	events := map[protocol.EventName]bool{}
	for _, frame := range slices.Concat(reader.frames, owner.frames) {
		values = append(values, definitions(t, frame, events)...)
	}
	for _, row := range protocol.EventPayloads() {
		if slices.Contains(owner.conn.Hello().Features.Events, row.Event) && !events[row.Event] {
			t.Errorf("no %s was seen, though it is offered", row.Event)
		}
	}
	compare(t, values, judge(t, values))
}

// definitions tells what a frame and its payload must fit.
func definitions(t *testing.T, frame json.RawMessage, seen map[protocol.EventName]bool) []judged {
	t.Helper()
	var f struct {
		Type    protocol.FrameType
		Event   protocol.EventName
		Payload json.RawMessage
		Error   *struct{ Details json.RawMessage }
	}
	if err := json.Unmarshal(frame, &f); err != nil {
		t.Fatal(err)
	}
	if f.Type == protocol.FrameRes {
		out := []judged{{"/definitions/ResponseFrame", frame}}
		if strings.Contains(string(f.Payload), `"type":"hello-ok"`) {
			out = append(out, judged{"/definitions/HelloOk", f.Payload})
		}
		if f.Error != nil && bytes.Contains(f.Error.Details, []byte(`"MISSING_SCOPE"`)) {
			out = append(out, judged{"/definitions/MissingScopeErrorDetails", f.Error.Details})
		}
		if f.Error != nil && bytes.Contains(f.Error.Details, []byte(`"UNKNOWN_AGENT_ID"`)) {
			out = append(out, judged{"/definitions/UnknownAgentIdErrorDetails", f.Error.Details})
		}
		return out
	}
	seen[f.Event] = true
	out := []judged{{"/definitions/EventFrame", frame}}
	part := func(definition string, path ...string) {
		value := f.Payload
		for _, key := range path {
			var object map[string]json.RawMessage
			if json.Unmarshal(value, &object) != nil || object[key] == nil {
				return
			}
			value = object[key]
		}
		out = append(out, judged{"/definitions/" + definition, value})
	}
	switch f.Event {
	case protocol.EventTick:
		part("TickEvent")
	case protocol.EventShutdown:
		part("ShutdownEvent")
	case protocol.EventHealth:
		part("Snapshot/properties/health")
	case protocol.EventPresence:
		part("Snapshot/properties/presence", "presence")
	case protocol.EventAgent:
		part("AgentEvent")
	case protocol.EventSessionsChanged:
		part("SessionRow", "row")
	case protocol.EventChat:
		state := decode[protocol.ChatEvent](t, string(f.Payload)).State
		part("Chat" + strings.ToUpper(string(state[:1])) + string(state[1:]) + "Event")
	case protocol.EventApprovalRequested:
		// The event has no definition; its request is what was asked for.
		part("ExecApprovalRequestParams", "request")
	case protocol.EventQuestionRequested:
		part("QuestionRecord")
	case protocol.EventQuestionResolved:
		part("QuestionResolvedEvent")
	}
	return out
}

var index = regexp.MustCompile(`/\d+`)

// compare holds the differences found against those that are meant.
func compare(t *testing.T, values []judged, found [][]difference) {
	t.Helper()
	meant, seen, strange := map[string]bool{}, map[string]bool{}, map[string]string{}
	for _, d := range deviations() {
		for _, name := range d.names {
			meant[d.key(name)] = true
		}
	}
	for i, differences := range found {
		for _, key := range keysFound(strings.TrimPrefix(values[i].Schema, "/definitions/"), differences, meant) {
			seen[key] = true
			if !meant[key] {
				strange[key] = string(values[i].Value)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(strange)) {
		t.Errorf("not as the schema says, and not listed: %s\n\tin %.400s", key, strange[key])
	}
	for _, key := range slices.Sorted(maps.Keys(meant)) {
		if !seen[key] {
			t.Errorf("listed as a difference, but as the schema says: %s", key)
		}
	}
	t.Logf("%d values judged, %d differences meant", len(values), len(meant))
}

// keysFound names the differences of one value as the list does.
func keysFound(definition string, differences []difference, meant map[string]bool) []string {
	var out []string
	either := map[string]bool{} // where none of several fits, each of them is reported too
	for _, d := range differences {
		either[d.Path] = either[d.Path] || d.Rule == "anyOf"
	}
	if key := (deviation{in: definition, rule: whole}).key(""); len(differences) > 0 && meant[key] {
		return []string{key}
	}
	for _, d := range differences {
		if d.Rule == "const" && either[d.Path] {
			continue
		}
		in, at := definition, index.ReplaceAllString(d.Path, "/*")
		if rest, ok := strings.CutPrefix(at, "/snapshot/health"); ok && in == "HelloOk" {
			in, at = health, rest
		}
		names := d.Names
		if len(names) == 0 {
			names = []string{""}
		}
		for _, name := range names {
			out = append(out, deviation{in: in, at: at, rule: d.Rule}.key(name))
		}
	}
	return out
}

// The keys a call may have are closed on both sides, so each key that only one
// side knows is either ours, or refused by us; both lists are data.
func TestTheParamsWeTakeAreTheSchemas(t *testing.T) {
	schema := decode[struct {
		Definitions map[string]struct {
			Properties map[string]json.RawMessage
		}
	}](t, readFile(t, filepath.Join(peer(t, "protocol"), "node_modules", "@openclaw", "gateway-protocol", "protocol.schema.json")))
	judgedMethods := 0
	for _, call := range protocol.Calls() {
		name := call.Params.Name()
		theirs, common := schema.Definitions[name]
		if !common || len(theirs.Properties) == 0 {
			continue
		}
		judgedMethods++
		ours := map[string]bool{}
		for f := range call.Params.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			ours[key] = true
		}
		var own, refused []string
		for key := range ours {
			if _, known := theirs.Properties[key]; !known {
				own = append(own, key)
			}
		}
		for key := range theirs.Properties {
			if !ours[key] {
				refused = append(refused, key)
			}
		}
		slices.Sort(own)
		slices.Sort(refused)
		want := params()[name]
		if !slices.Equal(own, want.own) || !slices.Equal(refused, want.refused) {
			t.Errorf("%s: our own keys are %q, listed %q; refused are %q, listed %q", name, own, want.own, refused, want.refused)
		}
	}
	if judgedMethods < 10 {
		t.Errorf("only %d methods were compared", judgedMethods)
	}
	for name := range params() {
		if _, known := schema.Definitions[name]; !known {
			t.Errorf("%s is listed, but the schema does not define it", name)
		}
	}
}

// deviation is a difference from the schema that is meant.
type deviation struct {
	// in is the definition, at the place in a value ("*" for any element), rule the
	// schema's keyword, names the keys it is about, or one empty name.
	in, at, rule string
	names        []string
	why          string
}

func (d deviation) key(name string) string {
	return strings.TrimSpace(fmt.Sprintf("%s%s %s %s", d.in, d.at, d.rule, name))
}

// keysOf are the params one side knows and the other does not.
type keysOf struct{ own, refused []string }

func TestEveryDeviationHasItsReason(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range deviations() {
		if len(d.why) < 20 || len(d.names) == 0 {
			t.Errorf("%s%s %s lacks a reason or names", d.in, d.at, d.rule)
		}
		for _, name := range d.names {
			if seen[d.key(name)] {
				t.Errorf("%s is listed twice", d.key(name))
			}
			seen[d.key(name)] = true
		}
	}
}
