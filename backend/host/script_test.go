package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/backend/protocol"
)

// What a command would run reaches the one who decides, as it is then.
func TestAnApprovalCarriesTheScriptThatWouldRun(t *testing.T) {
	r := newRig(t)
	c := r.window()
	if err := os.WriteFile(filepath.Join(r.o.Home, "workspace", "build.sh"), []byte("echo one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run := chat(c, "run sh build.sh")
	if run.State != protocol.RunParked {
		t.Fatalf("it is %s: %s", run.State, run.ErrorMessage)
	}
	a := call[protocol.Approval](c, protocol.MethodApprovalGet, protocol.ApprovalGetParams{ID: run.ApprovalIDs[0]})
	if s := a.Request.Scripts; len(s) != 1 || s[0].Name != "build.sh" || s[0].Text != "echo one\n" || len(s[0].SHA256) != 64 {
		t.Fatalf("the card shows %+v", s)
	}
	if a.Request.Truncated || !slices.Contains(a.Request.AllowedDecisions, protocol.AllowOnce) {
		t.Fatalf("cut %v, offered %v", a.Request.Truncated, a.Request.AllowedDecisions)
	}
}

// A script that is too long to be shown is not allowed by its beginning, whatever
// a client offers.
func TestAScriptThatIsCutCannotBeAllowed(t *testing.T) {
	r := newRig(t)
	c := r.window()
	ran := filepath.Join(r.o.Home, "workspace", "ran")
	long := strings.Repeat("echo line\n", 7000) + "touch ran\n"
	if err := os.WriteFile(filepath.Join(r.o.Home, "workspace", "build.sh"), []byte(long), 0o644); err != nil {
		t.Fatal(err)
	}
	run := chat(c, "run sh build.sh")
	if run.State != protocol.RunParked {
		t.Fatalf("it is %s: %s", run.State, run.ErrorMessage)
	}
	a := call[protocol.Approval](c, protocol.MethodApprovalGet, protocol.ApprovalGetParams{ID: run.ApprovalIDs[0]})
	if s := a.Request.Scripts; len(s) != 1 || !s[0].Cut || s[0].SizeBytes != int64(len(long)) || !strings.HasPrefix(long, s[0].Text) {
		t.Fatalf("the card shows %d scripts", len(s))
	}
	if !a.Request.Truncated || !slices.Equal(a.Request.AllowedDecisions, []protocol.Decision{protocol.Deny}) {
		t.Fatalf("cut %v, offered %v", a.Request.Truncated, a.Request.AllowedDecisions)
	}
	for _, d := range []protocol.Decision{protocol.AllowOnce, protocol.AllowSession, protocol.AllowAlways} {
		refused(c, protocol.MethodApprovalResolve, protocol.ApprovalResolveParams{ID: a.ID, Decision: d, PlanHash: a.Request.PlanHash})
	}
	if _, err := os.Stat(ran); err == nil {
		t.Fatal("it ran")
	}
	call[protocol.ApprovalResolveResult](c, protocol.MethodApprovalResolve, protocol.ApprovalResolveParams{ID: a.ID, Decision: protocol.Deny})
}

// What was allowed and what is there now are two things, and the second question
// says in which way.
func TestAScriptThatChangedIsAskedAgainWithWhatChanged(t *testing.T) {
	r := newRig(t)
	c := r.window()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(r.o.Home, "workspace", "build.sh"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("echo one > ran\n")
	run := chat(c, "run sh build.sh")
	first := run.ApprovalIDs[0]
	write("echo two > ran\n")
	run = allow(c, run)
	if run.State != protocol.RunParked || len(run.ApprovalIDs) != 1 || run.ApprovalIDs[0] == first {
		t.Fatalf("it is %s and waits for %v", run.State, run.ApprovalIDs)
	}
	a := call[protocol.Approval](c, protocol.MethodApprovalGet, protocol.ApprovalGetParams{ID: run.ApprovalIDs[0]})
	if a.Request.Changed != "Since you allowed this, build.sh was changed." || a.Request.Scripts[0].Text != "echo two > ran\n" {
		t.Fatalf("it says %q and shows %q", a.Request.Changed, a.Request.Scripts[0].Text)
	}
	if run = allow(c, run); run.State != protocol.RunDone {
		t.Fatalf("it is %s: %s", run.State, run.ErrorMessage)
	}
	if ran, err := os.ReadFile(filepath.Join(r.o.Home, "workspace", "ran")); err != nil || string(ran) != "two\n" {
		t.Fatalf("it wrote %q (%v)", ran, err)
	}
}
