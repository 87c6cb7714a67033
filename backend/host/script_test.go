package host_test

import (
	"os"
	"path/filepath"
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
}
