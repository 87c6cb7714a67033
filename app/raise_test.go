package app

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"countersign/backend/gateway"
	"countersign/backend/gateway/gatewaytest"
	"countersign/backend/host"
	"countersign/backend/protocol"
)

func TestRaiseWindowAsksTheRunningInstance(t *testing.T) {
	home := t.TempDir()
	raise := RaiseWindow(home, "0.0.0-test")
	if err := raise(t.Context()); !errors.Is(err, ErrNobody) {
		t.Errorf("with nobody there: %v, want ErrNobody", err)
	}
	g := gatewaytest.New(t, gatewaytest.Options(t))
	shown := 0
	refuse := false
	gateway.Handle(g, protocol.MethodWindowShow,
		func(context.Context, gateway.Caller, protocol.Empty) (protocol.OKResult, error) {
			if refuse {
				return protocol.OKResult{}, errors.New("there is no window")
			}
			shown++
			return protocol.OKResult{OK: true}, nil
		})
	if _, err := g.ListenSocket(filepath.Join(home, host.SocketName)); err != nil {
		t.Fatal(err)
	}
	if err := raise(t.Context()); err != nil || shown != 1 {
		t.Errorf("%v, shown %d times", err, shown)
	}
	refuse = true
	if err := raise(t.Context()); err == nil || errors.Is(err, ErrNobody) {
		t.Errorf("a host without a window: %v, want its refusal", err)
	}
}

func TestTrayShowsTheCommandItselfAndBindsToItsPlan(t *testing.T) {
	plan := protocol.ApprovalRequest{Sentence: "Run a command", Command: "ls -la", Cwd: "/w", PlanHash: "h"}
	with := func(change func(*protocol.ApprovalRequest)) protocol.Approval {
		r := plan
		change(&r)
		return protocol.Approval{ID: "a1", Request: r}
	}
	got := waiting(with(func(*protocol.ApprovalRequest) {}))
	if got.What != "ls -la" || got.Where != "/w" || got.Nonce != "h" || got.ID != "a1" || got.HighRisk {
		t.Errorf("%+v", got)
	}
	for name, change := range map[string]func(*protocol.ApprovalRequest){
		"high risk":         func(r *protocol.ApprovalRequest) { r.HighRisk = true },
		"cut":               func(r *protocol.ApprovalRequest) { r.Truncated = true },
		"tainted":           func(r *protocol.ApprovalRequest) { r.Taint = []protocol.TaintSource{{Source: "a web page"}} },
		"code in its input": func(r *protocol.ApprovalRequest) { r.Input = "print(1)" },
		"a script":          func(r *protocol.ApprovalRequest) { r.Scripts = []protocol.ApprovalScript{{Name: "build.sh"}} },
		"without plan":      func(r *protocol.ApprovalRequest) { r.PlanHash = "" },
	} {
		if !waiting(with(change)).HighRisk {
			t.Errorf("%s: can be allowed from the tray", name)
		}
	}
	got = waiting(with(func(r *protocol.ApprovalRequest) { r.Command, r.Cwd, r.Target = "", "", "notes.md" }))
	if got.What != "Run a command" || got.Where != "notes.md" {
		t.Errorf("without a command: %+v", got)
	}
}
