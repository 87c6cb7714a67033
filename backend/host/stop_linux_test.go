package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/backend/protocol"
)

// processesWith lists the processes whose command line holds a marker.
func processesWith(t *testing.T, marker string) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, path := range dirs {
		raw, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(raw), marker) && !strings.HasPrefix(path, "/proc/self") {
			out = append(out, strings.ReplaceAll(string(raw), "\x00", " "))
		}
	}
	return out
}

// Stop ends a command that ignores SIGTERM, its child, and a grandchild in a
// session of its own, within two seconds.
func TestStopEndsTheWholeProcessTreeOfACommand(t *testing.T) {
	r := newRig(t)
	c := r.window()
	const marker = "987654.25"
	script := `trap "" TERM; sh -c 'trap "" TERM; sleep ` + marker + `' & setsid sh -c 'trap "" TERM HUP; sleep ` + marker + `' & echo begun; sleep ` + marker
	run := chat(c, "run sh -c '"+strings.ReplaceAll(script, "'", `'\''`)+"'")
	a := call[protocol.Approval](c, protocol.MethodApprovalGet, protocol.ApprovalGetParams{ID: run.ApprovalIDs[0]})
	if a.Request.CommandArgv[2] != script {
		t.Fatalf("the practice model does not pass this quoting on: %q", a.Request.CommandArgv)
	}
	call[protocol.ApprovalResolveResult](c, protocol.MethodApprovalResolve, protocol.ApprovalResolveParams{ID: a.ID, Decision: protocol.AllowOnce})
	for begun := false; !begun; {
		e := next(c)
		begun = e.Event == protocol.EventAgent && strings.Contains(string(e.Payload), "begun")
	}
	patience := time.After(10 * time.Second)
	for len(processesWith(t, "sleep\x00"+marker)) < 3 {
		select {
		case <-patience:
			t.Fatalf("running: %v", processesWith(t, marker))
		case <-time.After(5 * time.Millisecond):
		}
	}
	asked := time.Now()
	call[protocol.ChatAbortResult](c, protocol.MethodChatAbort, protocol.ChatAbortParams{SessionKey: "main"})
	run = settled(c, run.RunID)
	took := time.Since(asked)
	if left := processesWith(t, marker); run.State != protocol.RunStopped || len(left) != 0 || took > 2*time.Second {
		t.Fatalf("%s after %v, left: %v", run.State, took, left)
	}
	receipts := call[protocol.ReceiptsList](c, protocol.MethodReceiptsList, protocol.ReceiptsListParams{})
	if receipts.Receipts[0].Outcome != protocol.OutcomeStopped {
		t.Fatalf("receipt %+v", receipts.Receipts[0])
	}
}
