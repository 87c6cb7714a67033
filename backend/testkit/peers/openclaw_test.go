//go:build peers

package peers_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"countersign/backend/protocol"
)

// openclaw is OpenClaw's own client, with a state folder of its own.
type openclaw struct {
	t     *testing.T
	node  string
	main  string
	state string
}

func newOpenClaw(t *testing.T) *openclaw {
	t.Helper()
	o := &openclaw{t: t, node: node(t), main: filepath.Join(peer(t, "openclaw"), "node_modules", "openclaw", "openclaw.mjs"), state: t.TempDir()}
	if err := os.WriteFile(filepath.Join(o.state, "openclaw.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *openclaw) env() []string {
	return []string{
		"OPENCLAW_STATE_DIR=" + o.state, "OPENCLAW_CONFIG_PATH=" + filepath.Join(o.state, "openclaw.json"),
		"HOME=" + o.state, "PATH=" + filepath.Dir(o.node) + ":" + os.Getenv("PATH"),
	}
}

// call is `openclaw gateway call`, with what it printed and its status.
func (o *openclaw) call(h *host, token, method string, params any) (string, int) {
	o.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		o.t.Fatal(err)
	}
	cmd := exec.Command(o.node, o.main, "gateway", "call", method, "--url", h.address(), "--token", token, "--json", "--timeout", "120000", "--params", string(raw))
	cmd.Env = append(os.Environ(), o.env()...)
	return output(o.t, cmd)
}

// called is a call that must succeed.
func called[T any](o *openclaw, h *host, m protocol.Method, params any) T {
	o.t.Helper()
	out, status := o.call(h, token, string(m), params)
	if status != 0 {
		o.t.Fatalf("%s ended with %d: %s", m, status, out)
	}
	return decode[T](o.t, out)
}

func TestOpenClawCallsTheGateway(t *testing.T) {
	o, h := newOpenClaw(t), startHost(t)
	if health := called[protocol.Health](o, h, protocol.MethodHealth, protocol.Empty{}); !health.OK || health.DefaultAgentID != protocol.MainAgent {
		t.Errorf("health is %+v", health)
	}
	if status := called[protocol.Status](o, h, protocol.MethodStatus, protocol.Empty{}); status.PID != h.PID || status.RuntimeVersion == "" {
		t.Errorf("status is %+v, the host is %d", status, h.PID)
	}
	send := protocol.ChatSendParams{SessionKey: "x", Message: "say hello from practice", IdempotencyKey: "one-key"}
	first := called[protocol.ChatSendResult](o, h, protocol.MethodChatSend, send)
	again := called[protocol.ChatSendResult](o, h, protocol.MethodChatSend, send)
	if first.RunID != "one-key" || first.Status != protocol.ChatStarted || again.RunID != first.RunID || again.Status == protocol.ChatStarted {
		t.Errorf("sent %+v, then %+v", first, again)
	}
	history := called[protocol.ChatHistory](o, h, protocol.MethodChatHistory, protocol.ChatHistoryParams{SessionKey: "x"})
	if len(history.Messages) != 2 || history.Messages[0].Content.Text() != send.Message {
		t.Fatalf("two sends under one key left %d messages: %+v", len(history.Messages), history.Messages)
	}
	if answer := history.Messages[1]; answer.Role != protocol.RoleAssistant || !strings.HasSuffix(answer.Content.Text(), "hello from practice") {
		t.Errorf("the answer is %+v", answer)
	}
	list := called[protocol.SessionsList](o, h, protocol.MethodSessionsList, protocol.Empty{})
	if list.Count != 1 || list.Sessions[0].Key != "agent:main:x" || list.Sessions[0].Status != protocol.SessionDone {
		t.Errorf("sessions are %+v", list)
	}
	models := called[protocol.ModelsList](o, h, protocol.MethodModelsList, protocol.Empty{})
	if len(models.Models) != 1 || models.Models[0].Provider != protocol.ProviderPractice || !models.Models[0].Available {
		t.Errorf("models are %+v", models)
	}
	if agents := called[protocol.AgentsList](o, h, protocol.MethodAgentsList, protocol.Empty{}); agents.DefaultID != protocol.MainAgent || len(agents.Agents) != 1 {
		t.Errorf("agents are %+v", agents)
	}
}

func TestOpenClawIsRefused(t *testing.T) {
	o, h := newOpenClaw(t), startHost(t)
	rows := []struct {
		name, token, method string
		params              any
		code, detail        string
	}{
		{"a wrong token", "wrong", "health", protocol.Empty{}, "FORBIDDEN", "AUTH_TOKEN_MISMATCH"},
		{
			"deciding by token", token, "exec.approval.resolve", protocol.ApprovalResolveParams{ID: "a", Decision: protocol.AllowOnce},
			"FORBIDDEN", "MISSING_SCOPE",
		},
		{"what nobody answers", token, "cron.list", protocol.Empty{}, "INVALID_REQUEST", "UNKNOWN_METHOD"},
	}
	for _, row := range rows {
		out, status := o.call(h, row.token, row.method, row.params)
		if status == 0 || !strings.Contains(out, row.code) || !strings.Contains(out, row.detail) {
			t.Errorf("%s ended with %d: %s", row.name, status, out)
		}
	}
}
