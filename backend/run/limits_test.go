package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"countersign/backend/approval"
	"countersign/backend/model"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/run"
	"countersign/backend/session"
	"countersign/backend/store"
	"countersign/backend/tool"
)

func (r *rig) loopForEver() {
	for i := range 100 {
		r.model.then(calls(toolCall(fmt.Sprintf("c%d", i), "peek", map[string]string{"name": "again"})))
	}
}

func (r *rig) resume(id protocol.RunID, c protocol.RunChoice) error {
	_, err := r.m.Resume(r.t.Context(), protocol.RunsResumeParams{RunID: id, Choice: c}, "you")
	return err
}

func TestEachCeilingParksCanBeRaisedOnceAndThenEnds(t *testing.T) {
	rows := []struct {
		name   protocol.CeilingName
		limits queue.Limits
		arm    func(*rig)
	}{
		{protocol.CeilingModelCalls, queue.Limits{ModelCalls: 3, ToolCalls: 1000, WallMs: 60_000}, (*rig).loopForEver},
		{protocol.CeilingToolCalls, queue.Limits{ModelCalls: 1000, ToolCalls: 3, WallMs: 60_000}, (*rig).loopForEver},
		{protocol.CeilingWallTime, queue.Limits{ModelCalls: 1000, ToolCalls: 1000, WallMs: 60}, func(r *rig) {
			for range 5 {
				r.model.then(step{hold: make(chan struct{}), text: "thinking"})
			}
		}},
	}
	for _, row := range rows {
		t.Run(string(row.name), func(t *testing.T) {
			r := newRig(t)
			r.limits = row.limits
			row.arm(r)
			id := r.say(main, "loop")
			got := r.reach(id, protocol.RunParked)
			if got.ParkReason != protocol.ParkCeiling || got.ParkDetail != string(row.name) {
				t.Fatalf("parked for %s %s", got.ParkReason, got.ParkDetail)
			}
			if got.ModelCalls > row.limits.ModelCalls {
				t.Fatalf("%d model calls were made", got.ModelCalls)
			}
			must(t, r.resume(id, protocol.ChoiceContinue))
			ended := r.reach(id, protocol.RunFailed)
			if !strings.Contains(ended.ErrorMessage, "a second time") {
				t.Fatalf("ended with %q", ended.ErrorMessage)
			}
			if n := int64(len(r.model.asked())); n > 2*row.limits.ModelCalls {
				t.Fatalf("the model was called %d times", n)
			}
		})
	}
}

func TestGivingUpAtACeilingEndsTheRun(t *testing.T) {
	r := newRig(t)
	r.limits.ModelCalls = 1
	r.loopForEver()
	id := r.say(main, "loop")
	r.reach(id, protocol.RunParked)
	must(t, r.resume(id, protocol.ChoiceGiveUp))
	r.reach(id, protocol.RunStopped)
	if err := r.resume(id, protocol.ChoiceContinue); code(err) != protocol.DetailStale {
		t.Fatalf("decided after the end: %v", err)
	}
}

func TestStopEndsAWorkingToolAndKeepsTheHistoryValid(t *testing.T) {
	r := newRig(t)
	r.act.hold("long")
	r.model.then(calls(toolCall("c1", "act", map[string]string{"name": "long"}), toolCall("c2", "act", map[string]string{"name": "next"})), answer("after"))
	id := r.say(main, "x")
	<-r.act.begun
	ids, err := r.m.Abort(t.Context(), main, "", "you, in the window")
	must(t, err)
	if len(ids) != 1 || ids[0] != id {
		t.Fatalf("stopped %v", ids)
	}
	r.reach(id, protocol.RunStopped)
	if r.act.count("next") != 0 {
		t.Fatal("the next call began after Stop")
	}
	results := r.results(main)
	if len(results) != 2 || !results["c1"].IsError || !results["c2"].IsError {
		t.Fatalf("results %+v", results)
	}
	if rc := r.receipts()[0]; rc.Outcome != protocol.OutcomeStopped {
		t.Fatalf("receipt %+v", rc)
	}
	if ends := r.events.ends(id); len(ends) != 1 || ends[0] != protocol.ChatStateAborted {
		t.Fatalf("clients saw %v", ends)
	}
	r.reach(r.say(main, "and now?"), protocol.RunDone)
}

func TestStopKeepsTheTextThatHadArrived(t *testing.T) {
	r := newRig(t)
	begun := make(chan struct{})
	r.model.then(step{hold: make(chan struct{}), begun: begun, text: "so far"})
	id := r.say(main, "x")
	<-begun
	_, err := r.m.Abort(t.Context(), main, id, "you")
	must(t, err)
	r.reach(id, protocol.RunStopped)
	h := r.history(main)
	if len(h) != 2 || h[1].Content.Text() != "so far" || !h[1].Incomplete || h[1].StopReason != protocol.StopAborted {
		t.Fatalf("transcript %+v", h)
	}
}

func TestStopEndsWhatWaitsAtOnce(t *testing.T) {
	r := newRig(t)
	r.model.then(calls(writeFile("c1", "a.txt", "x")))
	parked := r.say(main, "asked")
	r.reach(parked, protocol.RunParked)
	queued := r.say(main, "never begun")
	approvalID := r.onePending().ID
	ids, err := r.m.Abort(t.Context(), main, "", "you")
	must(t, err)
	if len(ids) != 2 {
		t.Fatalf("stopped %v", ids)
	}
	if r.run(parked).State != protocol.RunStopped || r.run(queued).State != protocol.RunStopped {
		t.Fatalf("%s, %s", r.run(parked).State, r.run(queued).State)
	}
	if len(r.pending()) != 0 {
		t.Fatal("the question still stands")
	}
	said := 0
	for _, m := range r.history(main) {
		if m.Role == protocol.RoleUser {
			said++
		}
	}
	if said != 2 {
		t.Fatalf("%d of 2 messages are seen to have ended", said)
	}
	if list := r.receipts(); len(list) != 1 || list[0].Outcome != protocol.OutcomeStopped {
		t.Fatalf("what waited has the receipts %+v", list)
	}
	if a, err := r.m.Resolve(t.Context(), approvalID, verdict(protocol.AllowOnce)); code(err) != protocol.DetailApprovalAlreadyResolved {
		t.Fatalf("allowed after Stop: %+v, %v", a, err)
	}
	if r.file("a.txt") != "<absent>" {
		t.Fatal("written after Stop")
	}
}

func TestAMessageStoppedInTheQueueIsSeenAndHeardByNobody(t *testing.T) {
	r := newRig(t)
	r.model.then(calls(writeFile("c1", "a.txt", "x")), answer("written"))
	asked := r.say(main, "asked")
	r.reach(asked, protocol.RunParked)
	queued := r.say(main, "delete everything")
	_, err := r.m.Abort(t.Context(), main, queued, "you")
	must(t, err)
	r.decide(r.onePending().ID, protocol.AllowOnce, "")
	r.reach(asked, protocol.RunDone)
	if r.file("a.txt") != "x" {
		t.Errorf("the allowed call was forgotten: %q", r.file("a.txt"))
	}
	for _, req := range r.model.asked() {
		for _, m := range req.Messages {
			if strings.Contains(m.Content.Text(), "delete everything") {
				t.Fatal("the stopped message reached the model")
			}
		}
	}
	seen := 0
	for _, m := range r.history(main) {
		if m.RunID == queued {
			seen++
		}
	}
	if seen != 1 {
		t.Errorf("the stopped message stands %d times in the transcript", seen)
	}
}

func TestPauseReleasesBeforeTheNextStepAndGoesOnAfter(t *testing.T) {
	r := newRig(t)
	r.act.hold("step")
	r.model.then(calls(toolCall("c1", "act", map[string]string{"name": "step"})), answer("done"))
	id := r.say(main, "x")
	<-r.act.begun
	must(t, r.m.SetPaused(t.Context(), true))
	r.act.releaseAll()
	r.until("released", func() bool { got := r.run(id); return got.State == protocol.RunQueued })
	if got := r.results(main)["c1"]; got.IsError {
		t.Fatal("what ran was not let finish its step")
	}
	waiting := r.say("agent:main:other", "kept")
	must(t, r.m.SetPaused(t.Context(), false))
	r.reach(id, protocol.RunDone)
	r.reach(waiting, protocol.RunDone)
	if got := r.run(id); got.Recoveries != 0 || r.act.count("step") != 1 {
		t.Fatalf("%d recoveries, done %d times", got.Recoveries, r.act.count("step"))
	}
}

func TestACleanStopIsFree(t *testing.T) {
	r := newRig(t)
	begun := make(chan struct{})
	r.model.then(step{hold: make(chan struct{}), begun: begun}, answer("after the restart"))
	id := r.say(main, "x")
	<-begun
	must(t, r.m.Stop(t.Context()))
	if got := r.run(id); got.State != protocol.RunQueued {
		t.Fatalf("after the stop it is %s", got.State)
	}
	r.m = r.boot()
	got := r.reach(id, protocol.RunDone)
	if got.Recoveries != 0 {
		t.Fatalf("%d recoveries", got.Recoveries)
	}
}

// crash leaves a run in the middle of an act, as a killed process does, and
// boots again.
func (r *rig) crash(name string) (protocol.RunID, *run.Manager) {
	r.t.Helper()
	r.act.hold(name)
	r.model.then(calls(toolCall("c1", "act", map[string]string{"name": name})), answer("ok"))
	id := r.say(main, "x")
	<-r.act.begun
	old := r.m
	r.m = r.boot()
	return id, old
}

func TestAnActFoundStartedIsUnknownAndNeverRepeated(t *testing.T) {
	for _, choice := range []protocol.RunChoice{protocol.ChoiceContinue, protocol.ChoiceTreatAsDone, protocol.ChoiceGiveUp} {
		t.Run(string(choice), func(t *testing.T) {
			r := newRig(t)
			id, old := r.crash("pay")
			got := r.reach(id, protocol.RunParked)
			if got.ParkReason != protocol.ParkUnknown {
				t.Fatalf("parked for %s", got.ParkReason)
			}
			if rc := r.receipts()[0]; rc.Outcome != protocol.OutcomeUnknown {
				t.Fatalf("receipt %+v", rc)
			}
			must(t, r.resume(id, choice))
			if choice == protocol.ChoiceGiveUp {
				r.reach(id, protocol.RunStopped)
			} else {
				r.reach(id, protocol.RunDone)
				told := r.results(main)["c1"].Content.Text()
				if !strings.Contains(told, "do not repeat") && !strings.Contains(told, "Do not repeat") {
					t.Fatalf("the model was told %q", told)
				}
			}
			r.act.releaseAll()
			must(t, old.Stop(context.Background()))
			if n := r.act.count("pay"); n != 1 {
				t.Fatalf("done %d times", n)
			}
			if n := len(r.results(main)); n != 1 {
				t.Fatalf("%d results", n)
			}
		})
	}
}

func TestAToolThatCanFindOutIsAskedBeforeCallingItUnknown(t *testing.T) {
	r := newRig(t)
	r.act.resolve = func(string) (tool.Result, bool) { return tool.Result{Content: "it had happened"}, true }
	id, old := r.crash("pay")
	r.reach(id, protocol.RunDone)
	if rc := r.receipts()[0]; rc.Outcome != protocol.OutcomeDone {
		t.Fatalf("receipt %+v", rc)
	}
	r.act.releaseAll()
	must(t, old.Stop(context.Background()))
	if n := r.act.count("pay"); n != 1 {
		t.Fatalf("done %d times", n)
	}
}

func TestRecoveriesAreCountedOnDiskAndEnd(t *testing.T) {
	r := newRig(t)
	var old []*run.Manager
	begun := make(chan struct{})
	r.model.then(step{hold: make(chan struct{}), begun: begun})
	id := r.say(main, "x")
	for range 3 {
		<-begun
		begun = make(chan struct{})
		r.model.then(step{hold: make(chan struct{}), begun: begun})
		old = append(old, r.m)
		r.m = r.boot()
	}
	<-begun
	old = append(old, r.m)
	r.m = r.boot()
	got := r.reach(id, protocol.RunParked)
	if got.ParkReason != protocol.ParkRecovery || got.Recoveries != 3 {
		t.Fatalf("parked for %s after %d recoveries", got.ParkReason, got.Recoveries)
	}
	r.model.then(answer("at last"))
	_, err := r.m.Resume(t.Context(), protocol.RunsResumeParams{RunID: id, Choice: protocol.ChoiceContinue, Note: "look first"}, "you")
	must(t, err)
	r.reach(id, protocol.RunDone)
	if h := r.history(main); h[1].Role != protocol.RoleUser || h[1].Content.Text() != "look first" {
		t.Fatalf("the note is not in the transcript: %+v", h)
	}
	for _, m := range old {
		must(t, m.Stop(context.Background()))
	}
}

func TestResetAndDeleteStopWhatWorks(t *testing.T) {
	r := newRig(t)
	begun := make(chan struct{})
	r.model.then(step{hold: make(chan struct{}), begun: begun, text: "half"})
	id := r.say(main, "x")
	<-begun
	s, err := r.m.Reset(t.Context(), main, "new", "you")
	must(t, err)
	r.reach(id, protocol.RunStopped)
	if h := r.history(main); len(h) != 0 {
		t.Fatalf("the new transcript holds %+v", h)
	}
	r.reach(r.say(main, "fresh"), protocol.RunDone)
	must(t, r.m.Delete(t.Context(), main, true, s.ID, "you"))
	r.read(func(tx *store.ReadTx) error {
		if _, err := session.Get(tx, main); err == nil {
			t.Fatal("still there")
		}
		return nil
	})
}

func TestModelCallsAreCountedBeforeTheyAreMade(t *testing.T) {
	r := newRig(t)
	begun := make(chan struct{})
	hold := make(chan struct{})
	r.model.then(step{hold: hold, begun: begun, resp: model.Response{Content: protocol.Blocks{protocol.TextBlock{Text: "x"}}}})
	id := r.say(main, "x")
	<-begun
	if got := r.run(id); got.ModelCalls != 1 || got.State != protocol.RunRunning {
		t.Fatalf("%d calls counted while the first is made", got.ModelCalls)
	}
	close(hold)
	r.reach(id, protocol.RunDone)
}

func TestDecidingHasOneWinner(t *testing.T) {
	r := newRig(t)
	for i := range 20 {
		key := protocol.SessionKey(fmt.Sprintf("agent:main:race%d", i))
		name := fmt.Sprintf("f%d.txt", i)
		r.model.then(calls(writeFile("c1", name, "x")))
		id := r.say(key, "x")
		r.reach(id, protocol.RunParked)
		a := r.onePending()
		results := make(chan error, 10)
		for n := range cap(results) {
			go func() {
				d := protocol.AllowOnce
				if n%2 == 1 {
					d = protocol.Deny
				}
				_, err := r.m.Resolve(context.Background(), a.ID, verdict(d))
				results <- err
			}()
		}
		won := 0
		for range cap(results) {
			if err := <-results; err == nil {
				won++
			} else if code(err) != protocol.DetailApprovalAlreadyResolved {
				t.Fatal(err)
			}
		}
		if won != 5 { // the winner, and the four that said the same
			t.Fatalf("%d of 10 were told that their decision holds", won)
		}
		r.reach(id, protocol.RunDone)
	}
	var written int
	for _, rc := range r.receipts() {
		if rc.Outcome == protocol.OutcomeDone {
			written++
		}
	}
	files := 0
	for i := range 20 {
		if r.file(fmt.Sprintf("f%d.txt", i)) == "x" {
			files++
		}
	}
	if files != written {
		t.Fatalf("%d files, %d receipts of writing", files, written)
	}
}

func verdict(d protocol.Decision) approval.Verdict {
	return approval.Verdict{Decision: d, Resolver: protocol.Resolver{Kind: "window", Name: "you"}}
}
