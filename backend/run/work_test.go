package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/backend/approval"
	"countersign/backend/effect"
	"countersign/backend/model"
	"countersign/backend/protocol"
	"countersign/backend/store"
)

const main = protocol.SessionKey("agent:main:main")

func (r *rig) file(name string) string {
	r.t.Helper()
	raw, err := os.ReadFile(filepath.Join(r.workspace, name))
	if errors.Is(err, os.ErrNotExist) {
		return "<absent>"
	}
	must(r.t, err)
	return string(raw)
}

// results are the tool results of a transcript, by call.
func (r *rig) results(key protocol.SessionKey) map[string]protocol.Message {
	out := make(map[string]protocol.Message)
	for _, m := range r.history(key) {
		if m.Role == protocol.RoleToolResult {
			out[m.ToolCallID] = m
		}
	}
	return out
}

func TestAWriteIsAskedDoneReceiptedAndUndone(t *testing.T) {
	r := newRig(t)
	must(t, os.WriteFile(filepath.Join(r.workspace, "notes.md"), []byte("old\n"), 0o640))
	r.model.then(calls(writeFile("c1", "notes.md", "new\n")), answer("done"))
	id := r.say(main, "write it")
	r.reach(id, protocol.RunParked)
	if r.file("notes.md") != "old\n" {
		t.Fatal("written before it was allowed")
	}
	a := r.onePending()
	if a.Request.Sentence == "" || a.Request.Diff == "" || a.Request.Clause == "" || a.Request.PlanHash == "" || len(a.Request.Reach) == 0 {
		t.Fatalf("the card lacks something: %+v", a.Request)
	}
	r.decide(a.ID, protocol.AllowOnce, "")
	r.reach(id, protocol.RunDone)
	if r.file("notes.md") != "new\n" {
		t.Fatalf("file holds %q", r.file("notes.md"))
	}
	rc := r.receipts()[0]
	if rc.Outcome != protocol.OutcomeDone || rc.Authority.ApprovalID != a.ID || rc.Authority.By != "you, in the window" || !rc.Undo.Available || rc.Evidence.HashAfter == "" {
		t.Fatalf("receipt %+v", rc)
	}
	if got := r.results(main)["c1"]; got.ReceiptID != rc.ID {
		t.Fatal("the result does not name its receipt")
	}
	undone, err := r.m.Undo(t.Context(), rc.ID, protocol.ReceiptOrigin{Channel: "window", Sender: "you"})
	must(t, err)
	info, err := os.Stat(filepath.Join(r.workspace, "notes.md"))
	must(t, err)
	if r.file("notes.md") != "old\n" || info.Mode().Perm() != 0o640 || undone.Undo.Undoes != rc.ID {
		t.Fatalf("undone to %q, mode %v, %+v", r.file("notes.md"), info.Mode(), undone)
	}
	if _, err := r.m.Undo(t.Context(), rc.ID, protocol.ReceiptOrigin{}); code(err) != protocol.DetailUndoUnavailable {
		t.Fatalf("undone twice: %v", err)
	}
}

func TestUndoLeavesWhatChangedSinceAlone(t *testing.T) {
	r := newRig(t)
	r.model.then(calls(writeFile("c1", "a.txt", "one")), answer("done"))
	id := r.say(main, "x")
	r.reach(id, protocol.RunParked)
	r.decide(r.onePending().ID, protocol.AllowOnce, "")
	r.reach(id, protocol.RunDone)
	must(t, os.WriteFile(filepath.Join(r.workspace, "a.txt"), []byte("mine now"), 0o644))
	if _, err := r.m.Undo(t.Context(), r.receipts()[0].ID, protocol.ReceiptOrigin{}); code(err) != protocol.DetailUndoConflict {
		t.Fatalf("got %v", err)
	}
	if r.file("a.txt") != "mine now" {
		t.Fatal("undo overwrote something newer")
	}
}

func TestDenyReachesTheModelWithItsReason(t *testing.T) {
	r := newRig(t)
	r.model.then(calls(writeFile("c1", "a.txt", "x")), answer("understood"))
	id := r.say(main, "x")
	r.reach(id, protocol.RunParked)
	r.decide(r.onePending().ID, protocol.Deny, "not in this folder")
	r.reach(id, protocol.RunDone)
	res := r.results(main)["c1"]
	if !res.IsError || !strings.Contains(res.Content.Text(), "not in this folder") {
		t.Fatalf("the model was told %q", res.Content.Text())
	}
	if rc := r.receipts()[0]; rc.Outcome != protocol.OutcomeDenied || r.file("a.txt") != "<absent>" {
		t.Fatalf("%+v", rc)
	}
}

func TestWhatChangedSinceItWasAllowedIsAskedAnew(t *testing.T) {
	r := newRig(t)
	path := filepath.Join(r.workspace, "a.txt")
	must(t, os.WriteFile(path, []byte("1"), 0o644))
	r.model.then(calls(writeFile("c1", "a.txt", "mine")), answer("ok"))
	id := r.say(main, "x")
	r.reach(id, protocol.RunParked)
	first := r.onePending()
	must(t, os.WriteFile(path, []byte("someone else's"), 0o644))
	r.decide(first.ID, protocol.AllowOnce, "")
	r.until("a second question", func() bool {
		p := r.pending()
		return len(p) == 1 && p[0].ID != first.ID && r.run(id).State == protocol.RunParked
	})
	if r.file("a.txt") != "someone else's" {
		t.Fatal("written though it was not what was allowed")
	}
	r.decide(r.onePending().ID, protocol.AllowOnce, "")
	r.reach(id, protocol.RunDone)
	if r.file("a.txt") != "mine" {
		t.Fatal("not written after the second answer")
	}
}

func TestAllowForThisSessionCoversTheIdenticalPlanOnly(t *testing.T) {
	r := newRig(t)
	r.model.then(
		calls(writeFile("c1", "a.txt", "x")), answer("1"),
		calls(writeFile("c2", "b.txt", "x")), answer("2"),
		calls(writeFile("c3", "a.txt", "x")), answer("3"),
	)
	id := r.say(main, "first")
	r.reach(id, protocol.RunParked)
	r.decide(r.onePending().ID, protocol.AllowSession, "")
	r.reach(id, protocol.RunDone)
	must(t, os.Remove(filepath.Join(r.workspace, "a.txt")))
	id = r.say(main, "another file")
	r.reach(id, protocol.RunParked)
	r.decide(r.onePending().ID, protocol.Deny, "")
	r.reach(id, protocol.RunDone)
	r.reach(r.say(main, "the same again"), protocol.RunDone)
	if r.file("a.txt") != "x" || r.file("b.txt") != "<absent>" {
		t.Fatalf("a %q, b %q", r.file("a.txt"), r.file("b.txt"))
	}
	if got := r.receipts()[0].Authority; got.Kind != "grant" {
		t.Fatalf("authority %+v", got)
	}
}

func TestAnApprovalSurvivesARestart(t *testing.T) {
	r := newRig(t)
	r.model.then(calls(writeFile("c1", "a.txt", "x")), answer("ok"))
	id := r.say(main, "x")
	r.reach(id, protocol.RunParked)
	must(t, r.m.Stop(t.Context()))
	r.m = r.boot()
	if r.run(id).State != protocol.RunParked {
		t.Fatalf("after the restart it is %s", r.run(id).State)
	}
	r.decide(r.onePending().ID, protocol.AllowOnce, "")
	r.reach(id, protocol.RunDone)
	if r.file("a.txt") != "x" {
		t.Fatal("not written")
	}
}

func TestAParkedRunHoldsItsLaneOnly(t *testing.T) {
	r := newRig(t)
	r.model.then(calls(writeFile("c1", "a.txt", "x")))
	first := r.say(main, "x")
	r.reach(first, protocol.RunParked)
	behind := r.say(main, "behind it")
	r.reach(r.say("agent:main:other", "elsewhere"), protocol.RunDone)
	if s := r.run(behind).State; s != protocol.RunQueued {
		t.Fatalf("the one behind is %s", s)
	}
	r.decide(r.onePending().ID, protocol.Deny, "")
	r.reach(first, protocol.RunDone)
	r.reach(behind, protocol.RunDone)
}

func TestResultsComeInTheModelsOrder(t *testing.T) {
	r := newRig(t)
	r.act.hold("slow")
	r.model.then(calls(toolCall("c1", "peek", map[string]string{"name": "slow"}), toolCall("c2", "peek", map[string]string{"name": "quick"})), answer("ok"))
	id := r.say(main, "x")
	seen := map[string]bool{<-r.act.begun: true, <-r.act.begun: true} // both read at once
	if !seen["slow"] || !seen["quick"] {
		t.Fatalf("began %v", seen)
	}
	r.until("the quick one's receipt", func() bool { return len(r.receipts()) == 1 })
	if n := len(r.results(main)); n != 0 {
		t.Fatalf("%d results stand before the first call's", n)
	}
	r.act.releaseAll()
	r.reach(id, protocol.RunDone)
	h := r.history(main)
	if h[2].ToolCallID != "c1" || h[3].ToolCallID != "c2" {
		t.Fatalf("results of %s, %s", h[2].ToolCallID, h[3].ToolCallID)
	}
}

func TestABatchIsDecidedBeforeAnyBeginsAndKeepsItsOrder(t *testing.T) {
	r := newRig(t)
	r.model.then(calls(
		toolCall("c1", "act", map[string]string{"name": "before"}), writeFile("c2", "a.txt", "x"), toolCall("c3", "act", map[string]string{"name": "after"}),
	), answer("ok"))
	id := r.say(main, "x")
	r.reach(id, protocol.RunParked)
	if r.act.count("before") != 1 || r.act.count("after") != 0 {
		t.Fatalf("before %d, after %d", r.act.count("before"), r.act.count("after"))
	}
	r.decide(r.onePending().ID, protocol.AllowOnce, "")
	r.reach(id, protocol.RunDone)
	if r.act.count("before") != 1 || r.act.count("after") != 1 {
		t.Fatalf("before %d, after %d", r.act.count("before"), r.act.count("after"))
	}
}

func TestWhatTheModelGotWrongIsToldToItAndNothingIsDone(t *testing.T) {
	r := newRig(t)
	r.model.then(calls(
		toolCall("c1", "nothing", map[string]string{}),
		toolCall("c2", "act", map[string]string{"nam": "x"}),
		protocol.ToolCallBlock{ID: "c3", Name: "act", Arguments: json.RawMessage(`"broken {"`)},
		protocol.ToolCallBlock{ID: "c4", Name: "read", Arguments: json.RawMessage(`{"path":"../../etc/passwd"}`)},
		protocol.ToolCallBlock{ID: "c4", Name: "peek", Arguments: json.RawMessage(`{"name":"twice the same id"}`)},
	), answer("sorry"))
	r.reach(r.say(main, "x"), protocol.RunDone)
	results := r.results(main)
	if len(results) != 5 {
		t.Fatalf("%d results for 5 calls", len(results))
	}
	for _, id := range []string{"c1", "c2", "c3", "c4"} {
		if !results[id].IsError {
			t.Errorf("%s was not told as an error: %q", id, results[id].Content.Text())
		}
	}
	denied := 0
	for _, rc := range r.receipts() {
		if rc.Outcome == protocol.OutcomeDenied && rc.Tool == "read" {
			denied++
		}
	}
	if denied != 1 {
		t.Fatalf("%d refusals receipted", denied)
	}
}

func TestAQuestionParksAndItsAnswerIsTheResult(t *testing.T) {
	r := newRig(t)
	r.model.then(calls(toolCall("c1", "ask", map[string]any{"question": "Go on?", "options": []map[string]string{{"label": "Yes"}, {"label": "No"}}})), answer("ok"))
	id := r.say(main, "x")
	if got := r.reach(id, protocol.RunParked); got.ParkReason != protocol.ParkQuestion {
		t.Fatalf("parked for %s", got.ParkReason)
	}
	var q protocol.Question
	r.read(func(tx *store.ReadTx) error {
		all, err := approval.Questions(tx, id, false)
		q = all[0]
		return err
	})
	by := protocol.Resolver{Kind: "window", Name: "you"}
	if _, err := r.m.Answer(t.Context(), q.ID, approval.Answer{Options: []string{"Maybe"}}, by); err == nil {
		t.Fatal("an answer that was not offered was taken")
	}
	_, err := r.m.Answer(t.Context(), q.ID, approval.Answer{Options: []string{"Yes"}}, by)
	must(t, err)
	r.reach(id, protocol.RunDone)
	if got := r.results(main)["c1"].Content.Text(); !strings.Contains(got, "Yes") {
		t.Fatalf("the model was told %q", got)
	}
	if _, err := r.m.Answer(t.Context(), q.ID, approval.Answer{Options: []string{"No"}}, by); code(err) != protocol.DetailAlreadyAnswered {
		t.Fatalf("answered twice: %v", err)
	}
}

func TestAModelErrorKeepsTheTextAndEndsVisibly(t *testing.T) {
	r := newRig(t)
	r.model.then(step{
		text: "half an ans", resp: model.Response{Content: protocol.Blocks{protocol.TextBlock{Text: "half an ans"}}},
		err: &model.Error{Kind: protocol.ErrorAuth, Sentence: "The key was refused. Enter another in Settings.", Streamed: true},
	}, answer("whole"))
	id := r.say(main, "x")
	got := r.reach(id, protocol.RunFailed)
	if got.ErrorKind != protocol.ErrorAuth || got.ErrorMessage != "The key was refused. Enter another in Settings." {
		t.Fatalf("ended with %+v", got)
	}
	last := r.history(main)[1]
	if !last.Incomplete || last.Content.Text() != "half an ans" || last.ErrorMessage == "" {
		t.Fatalf("kept %+v", last)
	}
	r.reach(r.say(main, "again"), protocol.RunDone)
}

func TestAnAnswerCutByItsLengthDispatchesNothing(t *testing.T) {
	r := newRig(t)
	r.model.then(step{resp: model.Response{
		Content:    protocol.Blocks{protocol.TextBlock{Text: "long"}, toolCall("c1", "act", map[string]string{"name": "half"})},
		StopReason: protocol.StopLength,
	}})
	r.reach(r.say(main, "x"), protocol.RunDone)
	if r.act.count("half") != 0 {
		t.Fatal("a call of a cut answer was carried out")
	}
	if m := r.history(main)[1]; !m.Incomplete || m.ErrorMessage == "" {
		t.Fatalf("not marked: %+v", m)
	}
}

func TestUsageIsCountedAndMarkedWhenEstimated(t *testing.T) {
	r := newRig(t)
	r.model.then(step{resp: model.Response{
		Content: protocol.Blocks{protocol.TextBlock{Text: "x"}}, StopReason: protocol.StopEnd, Usage: protocol.Usage{Input: 7, Output: 3}, UsageKnown: true,
	}}, answer("estimated"))
	id := r.say(main, "x")
	if got := r.reach(id, protocol.RunDone); got.InputTokens != 7 || got.OutputTokens != 3 {
		t.Fatalf("counted %d in, %d out", got.InputTokens, got.OutputTokens)
	}
	r.reach(r.say(main, "y"), protocol.RunDone)
	h := r.history(main)
	if u := h[1].Usage; u == nil || u.Estimated {
		t.Fatalf("usage %+v", u)
	}
	if u := h[3].Usage; u == nil || !u.Estimated || u.Input == 0 || u.Output == 0 {
		t.Fatalf("usage %+v", u)
	}
}

func TestALeaseThatIsVoidWritesNothing(t *testing.T) {
	r := newRig(t)
	hold := make(chan struct{})
	begun := make(chan struct{})
	r.model.then(step{hold: hold, begun: begun, resp: answer("from the dead").resp}, answer("from the living"))
	id := r.say(main, "x")
	<-begun
	old := r.m
	r.m = r.boot() // as after a crash: the old one still believes it works
	r.reach(id, protocol.RunDone)
	close(hold)
	must(t, old.Stop(context.Background()))
	h := r.history(main)
	if len(h) != 2 || h[1].Content.Text() != "from the living" {
		t.Fatalf("transcript %+v", h)
	}
	if got := r.run(id); got.Recoveries != 1 {
		t.Fatalf("%d recoveries counted", got.Recoveries)
	}
}

func TestReceiptsOfAllThisVerify(t *testing.T) {
	r := newRig(t)
	r.model.then(calls(toolCall("c1", "act", map[string]string{"name": "a"}), toolCall("c2", "peek", map[string]string{"name": "b"})), answer("ok"))
	r.reach(r.say(main, "x"), protocol.RunDone)
	r.read(func(tx *store.ReadTx) error {
		_, n, broken, err := effect.Verify(tx)
		if n != 2 || broken != nil {
			t.Fatalf("%d receipts, broken %+v", n, broken)
		}
		return err
	})
}
