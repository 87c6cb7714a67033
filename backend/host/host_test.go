package host_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/backend/gateway"
	"countersign/backend/host"
	"countersign/backend/protocol"
	"countersign/backend/sandbox"
	"countersign/backend/store"
	"countersign/backend/testkit/modelstub"
)

func TestTheWholeMainJob(t *testing.T) {
	r := newRig(t)
	c := r.window()
	run := chat(c, "write notes.md: buy milk")
	list := call[[]protocol.Approval](c, protocol.MethodApprovalList, protocol.ApprovalListParams{})
	if len(list) != 1 || list[0].Request.Sentence == "" {
		t.Fatalf("asked %+v", list)
	}
	if run = allow(c, run); run.State != protocol.RunDone {
		t.Fatalf("ended %s: %s", run.State, run.ErrorMessage)
	}
	agents := call[protocol.AgentsList](c, protocol.MethodAgentsList, protocol.Empty{})
	path := filepath.Join(agents.Agents[0].Workspace, "notes.md")
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "buy milk" {
		t.Fatalf("file holds %q, %v", raw, err)
	}
	receipts := call[protocol.ReceiptsList](c, protocol.MethodReceiptsList, protocol.ReceiptsListParams{})
	if len(receipts.Receipts) != 1 || receipts.Receipts[0].Authority.By != "you, in the window" {
		t.Fatalf("receipts %+v", receipts)
	}
	undone := call[protocol.ReceiptsUndoResult](c, protocol.MethodReceiptsUndo, protocol.ReceiptsUndoParams{ID: receipts.Receipts[0].ID})
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) || undone.Receipt.Outcome != protocol.OutcomeDone {
		t.Fatalf("after undo: %v, %+v", err, undone)
	}
	verified := call[protocol.ReceiptsVerifyResult](c, protocol.MethodReceiptsVerify, protocol.Empty{})
	if !verified.OK || verified.Count != 2 {
		t.Fatalf("verified %+v", verified)
	}
}

func TestASecondHostOnTheSameDirectoryIsRefusedAndTheFirstGoesOn(t *testing.T) {
	r := newRig(t)
	o := r.o
	_, err := host.Open(t.Context(), o)
	var locked *store.LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("got %v", err)
	}
	c := r.window()
	if run := chat(c, "help"); run.State != protocol.RunDone {
		t.Fatalf("the first ended %s", run.State)
	}
	socket, err := gateway.DialSocket(t.Context(), filepath.Join(r.o.Home, host.SocketName))
	if err != nil {
		t.Fatalf("the first one's socket was taken away: %v", err)
	}
	if err := socket.Close(1000, ""); err != nil {
		t.Fatal(err)
	}
}

func TestEverythingIsThereAfterARestart(t *testing.T) {
	r := newRig(t)
	c := r.window()
	parked := chat(c, "write a.txt: one")
	r.close()
	r.open()
	c = r.window()
	h := call[protocol.ChatHistory](c, protocol.MethodChatHistory, protocol.ChatHistoryParams{SessionKey: "main"})
	if len(h.Messages) != 2 || len(h.Runs) != 1 || h.Runs[0].State != protocol.RunParked {
		t.Fatalf("history %+v", h)
	}
	run := call[protocol.Run](c, protocol.MethodRunsGet, protocol.RunsGetParams{RunID: parked.RunID})
	if run = allow(c, run); run.State != protocol.RunDone {
		t.Fatalf("ended %s", run.State)
	}
}

func TestNoFileIsOpenToOthers(t *testing.T) {
	r := newRig(t)
	c := r.window()
	allow(c, chat(c, "write a.txt: one"))
	call[protocol.ModelsAddResult](c, protocol.MethodModelsAdd, protocol.ModelsAddParams{Name: "m", Provider: "openai", Model: "x", Key: "sk-test-0123456789"})
	check := func() {
		err := filepath.WalkDir(r.o.Home, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if strings.HasPrefix(path, filepath.Join(r.o.Home, "workspace")) {
				return nil // the owner's own files
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %v", path, info.Mode().Perm())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	check()
	r.close()
	check()
	r.open()
}

// The canaries: a key given to a model, one found in the environment, and a
// token of a device never lie in a file, a log, a receipt or a child's
// environment.
func TestNoSecretLeavesTheKeychain(t *testing.T) {
	const key, envKey = "sk-canary-aaaabbbbccccdddd1111", "sk-ant-canary-eeeeffff00002222"
	stub := modelstub.New(t)
	stub.Lenient()
	r := newRig(t, func(o *host.Options) {
		o.Environ = append(o.Environ, "ANTHROPIC_API_KEY="+envKey, "SOME_TOKEN=canary-token-77778888")
	})
	c := r.window()
	call[protocol.ModelsAddResult](c, protocol.MethodModelsAdd, protocol.ModelsAddParams{
		Name: "stub", Provider: "openai", BaseURL: stub.URL + "/v1", Model: "m", Key: key, Default: true,
	})
	found := call[protocol.ModelsFound](c, protocol.MethodModelsFound, protocol.Empty{})
	if len(found.Offers) == 0 || found.Offers[0].ID != "env:ANTHROPIC_API_KEY" {
		t.Fatalf("found %+v", found)
	}
	// The provider echoes the key in a refusal; the model has commands print what
	// they see, and says the key itself.
	stub.Script(modelstub.Refusal(401, "invalid_request_error", "Incorrect API key provided: "+key, ""))
	if run := chat(c, "hello"); run.State != protocol.RunFailed || strings.Contains(run.ErrorMessage, key) {
		t.Fatalf("ended %s with %q", run.State, run.ErrorMessage)
	}
	stub.Script(
		modelstub.Calls(modelstub.Call{ID: "c1", Name: "exec", Args: `{"argv":["env"]}`}, modelstub.Call{ID: "c2", Name: "exec", Args: `{"argv":["sh","-c","cat /proc/*/environ; cat ` + r.o.Home + `/*"]}`}),
		modelstub.Text("done"),
	)
	run := chat(c, "print your environment")
	for run.State == protocol.RunParked {
		run = allow(c, run)
	}
	if run.State != protocol.RunDone {
		t.Fatalf("ended %s: %s", run.State, run.ErrorMessage)
	}
	sent := false
	for _, req := range stub.Requests() {
		if strings.Contains(string(req.Body), key) || strings.Contains(string(req.Body), envKey) || strings.Contains(string(req.Body), "canary-token") {
			t.Error("a secret was sent to the model")
		}
		sent = sent || req.Header["Authorization"] == "Bearer "+key
	}
	if !sent {
		t.Fatal("the key was never used, so this proves nothing")
	}
	for _, m := range []protocol.Method{protocol.MethodModelsList, protocol.MethodSettingsGet, protocol.MethodStatus, protocol.MethodReceiptsList} {
		if res := c.Call(m, struct{}{}); strings.Contains(string(res.Payload), "canary") {
			t.Errorf("%s tells a secret: %s", m, res.Payload)
		}
	}
	mustNotHold(t, everyFile(t, r.o.Home), key, envKey, "canary-token-77778888")
	r.close()
	mustNotHold(t, everyFile(t, r.o.Home), key, envKey, "canary-token-77778888")
	mustNotHold(t, everyFile(t, filepath.Dir(r.log.Name())), key, envKey, "canary-token-77778888")
	r.open()
}

func TestTheCommandLineCannotDecideUnpaired(t *testing.T) {
	r := newRig(t)
	run := chat(r.window(), "write a.txt: one")
	c := r.dial(gateway.PeerSocket)
	e := refused(c, protocol.MethodApprovalResolve, protocol.ApprovalResolveParams{ID: run.ApprovalIDs[0], Decision: protocol.AllowOnce})
	if e.Details == nil || e.Details.Code != protocol.DetailMissingScope {
		t.Fatalf("told %+v", e)
	}
	for m, params := range map[protocol.Method]any{
		protocol.MethodTicketCreate:  protocol.TicketParams{Kind: "device"},
		protocol.MethodSettingsPatch: protocol.SettingsPatchParams{},
		protocol.MethodFoldersAdd:    protocol.FolderParams{Path: "/"},
		protocol.MethodAgentsUpdate:  protocol.AgentsUpdateParams{AgentID: "main"},
	} {
		if e := refused(c, m, params); e.Details == nil || e.Details.Code != protocol.DetailMissingScope {
			t.Errorf("%s: %+v", m, e)
		}
	}
}

func TestTheTrayDecidesOnceAndNotWhatCarriesMuchRisk(t *testing.T) {
	r := newRig(t)
	c := r.window()
	run := chat(c, "write a.txt: one")
	a := call[protocol.Approval](c, protocol.MethodApprovalGet, protocol.ApprovalGetParams{ID: run.ApprovalIDs[0]})
	if err := r.h.Decide(t.Context(), a.ID, "another plan", true, "tray"); err == nil {
		t.Fatal("allowed for a plan that was not shown")
	}
	if err := r.h.Decide(t.Context(), a.ID, a.Request.PlanHash, true, "tray"); err != nil {
		t.Fatal(err)
	}
	if run = settled(c, run.RunID); run.State != protocol.RunDone {
		t.Fatalf("ended %s", run.State)
	}
	run = chat(c, "run rm -rf stuff")
	a = call[protocol.Approval](c, protocol.MethodApprovalGet, protocol.ApprovalGetParams{ID: run.ApprovalIDs[0]})
	if !a.Request.HighRisk {
		t.Fatalf("rm -rf is not of high risk: %+v", a.Request)
	}
	if err := r.h.Decide(t.Context(), a.ID, a.Request.PlanHash, true, "tray"); err == nil {
		t.Fatal("the tray allowed something of high risk")
	}
	if err := r.h.Decide(t.Context(), a.ID, a.Request.PlanHash, false, "tray"); err != nil {
		t.Fatal(err)
	}
	if run = settled(c, run.RunID); run.State != protocol.RunDone {
		t.Fatalf("ended %s", run.State)
	}
}

func TestTheOverviewFollowsTheWork(t *testing.T) {
	r := newRig(t)
	c := r.window()
	overviews := r.h.Overviews()
	state := func(want string) host.Overview {
		t.Helper()
		for o := range overviews {
			if o.State == want {
				return o
			}
		}
		t.Fatalf("never %s", want)
		return host.Overview{}
	}
	state("idle")
	run := chat(c, "write a.txt: one")
	if o := state("needs-you"); o.NeedsYou != 1 || len(o.Waiting) != 1 {
		t.Fatalf("overview %+v", o)
	}
	if err := r.h.SetPaused(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	allowed := protocol.ApprovalResolveParams{ID: run.ApprovalIDs[0], Decision: protocol.Deny}
	call[protocol.ApprovalResolveResult](c, protocol.MethodApprovalResolve, allowed)
	state("paused")
	if err := r.h.SetPaused(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	state("idle")
}

func TestReceiptsThatWereCutAtTheEndAreFound(t *testing.T) {
	r := newRig(t)
	c := r.window()
	allow(c, chat(c, "write a.txt: one"))
	allow(c, chat(c, "write b.txt: two"))
	r.close() // the mark goes into the keychain
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(r.o.Home, "state.db"), Schemas: host.Schemas(), Format: host.SchemaFormat, Logger: r.o.Logger})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM receipts WHERE seq = (SELECT max(seq) FROM receipts)`)
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	r.open()
	got := call[protocol.ReceiptsVerifyResult](r.window(), protocol.MethodReceiptsVerify, protocol.Empty{})
	if got.OK || got.Anchor != "differs" {
		t.Fatalf("verified %+v", got)
	}
}

func TestFreshAndReopenedHaveTheSameTables(t *testing.T) {
	r := newRig(t)
	r.close()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(r.o.Home, "state.db"), Schemas: host.Schemas(), Format: host.SchemaFormat, Logger: r.o.Logger})
	if err != nil {
		t.Fatal(err)
	}
	drift, err := db.Drift(t.Context())
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if len(drift) != 0 {
		t.Fatalf("the live tables differ from the declared ones: %v", drift)
	}
	r.open()
}

func TestBrokenSettingsDoNotKeepTheOwnerOut(t *testing.T) {
	r := newRig(t)
	r.close()
	path := filepath.Join(r.o.Home, "config.json")
	const broken = "{\n  \"ceilings\": {\"modelCalls\": \"many\"},\n  \"unknown\": 1\n}\n"
	if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	r.open()
	s := call[protocol.Settings](r.window(), protocol.MethodSettingsGet, protocol.Empty{})
	if len(s.Problems) < 2 || s.Problems[0].Line == 0 || s.Ceilings.ModelCalls != 50 {
		t.Fatalf("settings %+v", s)
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != broken {
		t.Fatalf("the file was rewritten: %s, %v", raw, err)
	}
}

func TestKeysAndModels(t *testing.T) {
	r := newRig(t)
	c := r.window()
	add := protocol.ModelsAddParams{Name: "claude", Provider: "anthropic", Model: "claude-x", Key: "sk-ant-1234567890", Default: true}
	call[protocol.ModelsAddResult](c, protocol.MethodModelsAdd, add)
	if v, err := r.ring.Get("Countersign", r.o.Home+":model/claude"); err != nil && len(r.ring.values) == 0 {
		t.Fatalf("key in the keychain: %q, %v", v, err)
	}
	add.Key, add.Model = "", "claude-y"
	if got := call[protocol.ModelsAddResult](c, protocol.MethodModelsAdd, add); !got.Model.HasKey || got.Model.Model != "claude-y" {
		t.Fatalf("an edit without a key lost it: %+v", got)
	}
	for _, bad := range []protocol.ModelsAddParams{
		{Name: "", Provider: "openai", Model: "x", NoKey: true},
		{Name: "x", Provider: "other", Model: "x", NoKey: true},
		{Name: "x", Provider: "openai", NoKey: true},
		{Name: "x", Provider: "openai", Model: "x"},
		{Name: "x", Provider: "openai", Model: "x", NoKey: true, BaseURL: "file:///etc/passwd"},
	} {
		if e := refused(c, protocol.MethodModelsAdd, bad); e.Code == protocol.CodeInternal {
			t.Errorf("%+v: %s", bad, e.Message)
		}
	}
	add.NoKey, add.BaseURL = true, "http://127.0.0.1:9"
	call[protocol.ModelsAddResult](c, protocol.MethodModelsAdd, add)
	if _, err := r.ring.Get("Countersign", r.o.Home+":model/claude"); err == nil {
		t.Fatal("the key of a model that takes none stayed")
	}
	refused(c, protocol.MethodModelsAdd, protocol.ModelsAddParams{Name: "far", Provider: "openai", Model: "x", Key: "sk-1234567890", BaseURL: "http://example.com/v1"})
	call[protocol.ModelsAddResult](c, protocol.MethodModelsAdd, protocol.ModelsAddParams{Name: "other", Provider: "openai", Model: "x", NoKey: true, BaseURL: "http://127.0.0.1:9/v1"})
	call[protocol.OKResult](c, protocol.MethodModelsRemove, protocol.ModelsRemoveParams{Name: "claude"})
	if run := chat(c, "help"); run.Model != "practice" {
		t.Fatalf("after the default was removed %q answered", run.Model)
	}
	call[protocol.OKResult](c, protocol.MethodModelsRemove, protocol.ModelsRemoveParams{Name: "other"})
	for name := range r.ring.values {
		if strings.Contains(name, "model/claude") {
			t.Fatal("the key stayed in the keychain")
		}
	}
	models := call[protocol.ModelsList](c, protocol.MethodModelsList, protocol.ModelsListParams{})
	if len(models.Models) != 1 || models.Models[0].Provider != protocol.ProviderPractice {
		t.Fatalf("models %+v", models)
	}
}

func TestFoldersOfOurOwnDataCannotBeOpened(t *testing.T) {
	r := newRig(t)
	c := r.window()
	outside := t.TempDir()
	for _, path := range []string{"relative", "/", r.o.Home, filepath.Join(r.o.Home, "blobs"), "/does/not/exist", filepath.Join(r.o.Home, "state.db")} {
		refused(c, protocol.MethodFoldersAdd, protocol.FolderParams{Path: path})
	}
	link := filepath.Join(outside, "link")
	if err := os.Symlink(r.o.Home, link); err != nil {
		t.Fatal(err)
	}
	refused(c, protocol.MethodFoldersAdd, protocol.FolderParams{Path: link})
	list := call[protocol.FoldersList](c, protocol.MethodFoldersAdd, protocol.FolderParams{Path: outside, Writable: true})
	if len(list.Folders) != 1 {
		t.Fatalf("folders %+v", list)
	}
	if err := os.WriteFile(filepath.Join(outside, "x.txt"), []byte("seen"), 0o600); err != nil {
		t.Fatal(err)
	}
	if run := chat(c, "read "+filepath.Join(outside, "x.txt")); run.State != protocol.RunDone || !strings.Contains(lastText(c), "seen") {
		t.Fatalf("ended %s: %s", run.State, lastText(c))
	}
	call[protocol.FoldersList](c, protocol.MethodFoldersRemove, protocol.FolderParams{Path: outside})
	chat(c, "read "+filepath.Join(outside, "x.txt"))
	if strings.Contains(lastText(c), "seen") {
		t.Fatal("read from a folder that was closed")
	}
}

// A folder that contains the data directory must not bring it into reach, for
// file tools and for commands.
func TestTheDataDirectoryStaysOutOfReachInsideAnOpenedFolder(t *testing.T) {
	r := newRig(t)
	c := r.window()
	parent := filepath.Dir(r.o.Home)
	call[protocol.FoldersList](c, protocol.MethodFoldersAdd, protocol.FolderParams{Path: parent, Writable: true})
	chat(c, "read "+filepath.Join(r.o.Home, "config.json"))
	chat(c, "list "+r.o.Home)
	receipts := call[protocol.ReceiptsList](c, protocol.MethodReceiptsList, protocol.ReceiptsListParams{})
	for _, rc := range receipts.Receipts {
		if rc.Outcome == protocol.OutcomeDone && rc.Tool == "read" {
			t.Fatalf("read our own data: %+v", rc)
		}
	}
	if sandbox.NewRunner(sandbox.Options{}).Status().Mechanism == sandbox.MechanismNone {
		t.Log("no sandbox here: what a command sees cannot be looked at")
		return
	}
	run := allow(c, chat(c, "run grep -rc SQLite "+r.o.Home))
	if run.State != protocol.RunDone {
		t.Fatalf("ended %s", run.State)
	}
	receipts = call[protocol.ReceiptsList](c, protocol.MethodReceiptsList, protocol.ReceiptsListParams{Limit: 1})
	for line := range strings.Lines(receipts.Receipts[0].Evidence.Output) {
		if strings.Contains(line, "state.db") && strings.HasSuffix(strings.TrimSpace(line), ":1") {
			t.Fatalf("a command saw our own data: %s", line)
		}
	}
}

func TestAnUnknownParameterIsNamed(t *testing.T) {
	r := newRig(t)
	c := r.window()
	e := refused(c, protocol.MethodChatSend, map[string]any{"sessionKey": "main", "message": "x", "idempotencyKey": "k", "foo": 1})
	if e.Code != protocol.CodeInvalidRequest || !strings.Contains(e.Message, "foo") {
		t.Fatalf("told %+v", e)
	}
}

func TestDurableChangesAreReplayedFromASequence(t *testing.T) {
	r := newRig(t)
	c := r.window()
	before := call[protocol.ChatHistory](c, protocol.MethodChatHistory, protocol.ChatHistoryParams{SessionKey: "main"}).LastSeq
	chat(c, "help")
	var live []protocol.ChangeEvent
	for _, e := range c.Events {
		var ch protocol.ChangeEvent
		if e.Event == protocol.EventChange && json.Unmarshal(e.Payload, &ch) == nil {
			live = append(live, ch)
		}
	}
	again := r.dialFrom(before)
	chat(again, "help")
	seen := map[int64]bool{}
	for _, e := range again.Events {
		var ch protocol.ChangeEvent
		if e.Event == protocol.EventChange && json.Unmarshal(e.Payload, &ch) == nil {
			if seen[ch.Seq] {
				t.Fatalf("change %d came twice", ch.Seq)
			}
			seen[ch.Seq] = true
		}
	}
	for _, ch := range live {
		if ch.Seq > before && !seen[ch.Seq] {
			t.Fatalf("change %d was not replayed", ch.Seq)
		}
	}
	if got := len(call[protocol.RunsList](again, protocol.MethodRunsList, protocol.RunsListParams{}).Runs); got != 2 {
		t.Fatalf("%d runs after a replay", got)
	}
}

// A key that stands in a file is hidden from the model; what would write the
// mask back over it is marked as such.
func TestAMaskThatWouldBeWrittenOverASecretIsSaid(t *testing.T) {
	r := newRig(t)
	c := r.window()
	agents := call[protocol.AgentsList](c, protocol.MethodAgentsList, protocol.Empty{})
	path := filepath.Join(agents.Agents[0].Workspace, "env.txt")
	if err := os.WriteFile(path, []byte("KEY=ghp_0123456789abcdefghijABCDEFGHIJ012345\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	chat(c, "read env.txt")
	if h := call[protocol.ChatHistory](c, protocol.MethodChatHistory, protocol.ChatHistoryParams{SessionKey: "main"}); strings.Contains(string(mustJSON(t, h)), "ghp_0123") {
		t.Fatal("the key stands in the transcript")
	}
	run := chat(c, "write env.txt: KEY=[masked: key] more")
	a := call[protocol.Approval](c, protocol.MethodApprovalGet, protocol.ApprovalGetParams{ID: run.ApprovalIDs[0]})
	if !a.Request.HighRisk || !strings.Contains(a.Request.WarningText, "hidden from the model") {
		t.Fatalf("asked without a warning: %+v", a.Request)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
