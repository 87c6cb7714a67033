package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/secret"
	"countersign/backend/store"
	"countersign/backend/testkit/modelstub"
)

// A key that the model says itself, or that a command would run over, is shown to
// the one who decides and kept by nobody after that: neither by the row of the
// effect, however it ended, nor by the question, nor by the receipt.
func TestNoSecretStaysInWhatWasAskedAndDone(t *testing.T) {
	const key, inFile = "sk-canary-aaaabbbbccccdddd1111", "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	stub := modelstub.New(t)
	stub.Lenient()
	r := newRig(t)
	c := r.window()
	call[protocol.ModelsAddResult](c, protocol.MethodModelsAdd, protocol.ModelsAddParams{
		Name: "stub", Provider: "openai", BaseURL: stub.URL + "/v1", Model: "m", Key: key, Default: true,
	})
	for name, content := range map[string]string{"deploy.sh": "TOKEN=" + inFile + " true\n", "env.txt": "KEY=" + inFile + "\nMODE=test\n"} {
		if err := os.WriteFile(filepath.Join(r.o.Home, "workspace", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stub.Script(
		modelstub.Calls(
			modelstub.Call{ID: "read", Name: "search", Args: `{"pattern":"` + key + `"}`},
			modelstub.Call{ID: "done", Name: "exec", Args: `{"argv":["sh","deploy.sh","` + key + `"]}`},
			modelstub.Call{ID: "denied", Name: "edit", Args: `{"path":"env.txt","old":"MODE=test","new":"MODE=` + key + `"}`},
		),
		modelstub.Calls(modelstub.Call{ID: "stopped", Name: "exec", Args: `{"argv":["echo"],"stdin":"` + key + `"}`}),
	)
	run := chat(c, "deploy it")
	shown := ""
	for i := 0; run.State == protocol.RunParked && i < 2; i++ {
		a := call[protocol.Approval](c, protocol.MethodApprovalGet, protocol.ApprovalGetParams{ID: run.ApprovalIDs[0]})
		shown += string(mustJSON(t, a.Request))
		decision := protocol.AllowOnce
		if a.Request.Tool == "edit" {
			decision = protocol.Deny
		}
		call[protocol.ApprovalResolveResult](c, protocol.MethodApprovalResolve, protocol.ApprovalResolveParams{ID: a.ID, Decision: decision})
		run = settled(c, run.RunID)
	}
	if strings.Count(shown, key) < 2 || strings.Count(shown, inFile) < 2 {
		t.Fatalf("who decided did not see it: %s", shown)
	}
	call[protocol.ChatAbortResult](c, protocol.MethodChatAbort, protocol.ChatAbortParams{SessionKey: "main"})
	if run = settled(c, run.RunID); run.State != protocol.RunStopped {
		t.Fatalf("ended %s: %s", run.State, run.ErrorMessage)
	}
	r.close()
	r.store(func(tx *store.Tx) error {
		for table, want := range map[string]int{"effects": 4, "approvals": 3, "receipts": 4} {
			if rows := rowsOf(t, tx, table); len(rows) != want {
				t.Errorf("%d %s, want %d", len(rows), table, want)
			} else if all := strings.Join(rows, "\n"); strings.Contains(all, key) || strings.Contains(all, inFile) || !strings.Contains(all, secret.Mask) {
				t.Errorf("%s hold %s", table, all)
			}
		}
		return nil
	})
	r.open()
}

// rowsOf reads every row of a table as text.
func rowsOf(t *testing.T, tx *store.Tx, table string) (out []string) {
	t.Helper()
	rows, err := tx.Query(`SELECT * FROM ` + table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(values...))
	}
	return out
}
