package run_test

import (
	"fmt"
	"sync"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/run"
	"countersign/backend/session"
	"countersign/backend/store"
)

func admission(key protocol.SessionKey, id protocol.RunID, text string) run.Admission {
	return run.Admission{SessionKey: key, Key: id, Text: text, Origin: protocol.OriginOwner, Channel: "window", Sender: "you"}
}

func TestAcknowledgedMeansStored(t *testing.T) {
	r := newRig(t)
	hold := make(chan struct{})
	r.model.then(step{hold: hold, resp: answer("hi").resp})
	_, err := r.m.Admit(t.Context(), admission("agent:main:main", "k1", "hello"))
	must(t, err)
	got := r.run("k1")
	if got.Title != "hello" || got.SessionKey != "agent:main:main" || got.State.Ended() {
		t.Fatalf("stored %+v", got)
	}
	close(hold)
	r.reach("k1", protocol.RunDone)
	h := r.history("agent:main:main")
	if len(h) != 2 || h[0].Content.Text() != "hello" || h[1].Content.Text() != "hi" {
		t.Fatalf("transcript %+v", h)
	}
}

func TestSameKeyAndContentIsAnsweredAgainAndRunsOnce(t *testing.T) {
	r := newRig(t)
	r.model.then(answer("first"))
	a := admission("agent:main:main", "k1", "hello")
	_, err := r.m.Admit(t.Context(), a)
	must(t, err)
	r.reach("k1", protocol.RunDone)
	again, err := r.m.Admit(t.Context(), a)
	must(t, err)
	if again.Status != protocol.ChatOK || again.RunID != "k1" {
		t.Fatalf("answered %+v", again)
	}
	if n := len(r.model.asked()); n != 1 {
		t.Fatalf("the model was called %d times", n)
	}
}

func TestSameKeyWithOtherContentIsRefused(t *testing.T) {
	r := newRig(t)
	_, err := r.m.Admit(t.Context(), admission("agent:main:main", "k1", "hello"))
	must(t, err)
	for _, other := range []run.Admission{
		admission("agent:main:main", "k1", "hullo"),
		admission("agent:main:other", "k1", "hello"),
	} {
		if _, err := r.m.Admit(t.Context(), other); code(err) != protocol.DetailKeyReused {
			t.Fatalf("%q in %s: %v", other.Text, other.SessionKey, err)
		}
	}
}

func TestConcurrentRepeatsMakeOneRun(t *testing.T) {
	r := newRig(t)
	var wg sync.WaitGroup
	statuses := make([]protocol.ChatSendStatus, 50)
	for i := range statuses {
		wg.Go(func() {
			res, err := r.m.Admit(t.Context(), admission("agent:main:main", "same", "hello"))
			if err != nil {
				t.Error(err)
			}
			statuses[i] = res.Status
		})
	}
	wg.Wait()
	started := 0
	for _, s := range statuses {
		if s == protocol.ChatStarted {
			started++
		}
	}
	if started != 1 {
		t.Fatalf("%d of 50 were started", started)
	}
	r.reach("same", protocol.RunDone)
	if n := len(r.model.asked()); n != 1 {
		t.Fatalf("the model was called %d times", n)
	}
}

func TestAdmissionRefusesWhatCannotRun(t *testing.T) {
	r := newRig(t)
	r.say("agent:main:archived", "x")
	r.write(func(tx *store.Tx) error {
		yes := true
		_, err := session.Apply(tx, "agent:main:archived", session.Patch{Archived: &yes}, 1)
		return err
	})
	rows := []struct {
		name   string
		a      run.Admission
		detail protocol.Detail
	}{
		{"no key", admission("agent:main:main", "", "x"), ""},
		{"nothing said", admission("agent:main:main", "a", "  "), ""},
		{"bad text", admission("agent:main:main", "b", "\xff"), ""},
		{"unknown agent", admission("agent:nobody:main", "c", "x"), protocol.DetailUnknownAgent},
		{"archived", admission("agent:main:archived", "d", "x"), protocol.DetailSessionChanged},
		{"another window", func() run.Admission {
			a := admission("agent:main:main", "e", "x")
			a.ExpectedSession = "gone"
			return a
		}(), protocol.DetailSessionChanged},
		{"another leaf", func() run.Admission {
			a := admission("agent:main:main", "f", "x")
			a.ExpectedLeaf = "gone"
			return a
		}(), protocol.DetailSessionChanged},
		{"edits what is not there", func() run.Admission {
			a := admission("agent:main:main", "g", "x")
			a.Replace = "gone"
			return a
		}(), protocol.DetailSessionChanged},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := r.m.Admit(t.Context(), row.a)
			if err == nil || code(err) != row.detail {
				t.Fatalf("got %v", err)
			}
			r.read(func(tx *store.ReadTx) error {
				if _, err := queue.Get(tx, row.a.Key); err == nil {
					t.Fatal("a refused message was stored")
				}
				return nil
			})
		})
	}
}

func TestMessagesOfOneSessionRunInTheirOrder(t *testing.T) {
	r := newRig(t)
	hold := make(chan struct{})
	r.model.then(step{hold: hold, resp: answer("one").resp}, answer("two"), answer("three"))
	ids := []protocol.RunID{r.say("agent:main:main", "1"), r.say("agent:main:main", "2"), r.say("agent:main:main", "3")}
	other := r.say("agent:main:other", "elsewhere")
	r.reach(other, protocol.RunDone)
	if s := r.run(ids[1]).State; s != protocol.RunQueued {
		t.Fatalf("the second is %s while the first works", s)
	}
	close(hold)
	for _, id := range ids {
		r.reach(id, protocol.RunDone)
	}
	var said string
	for _, m := range r.history("agent:main:main") {
		if m.Role == protocol.RoleUser {
			said += m.Content.Text()
		}
	}
	if said != "123" {
		t.Fatalf("said in the order %s", said)
	}
	for i, m := range r.history("agent:main:main") {
		want := protocol.RoleUser
		if i%2 == 1 {
			want = protocol.RoleAssistant
		}
		if m.Role != want {
			t.Fatalf("message %d is of %s", i, m.Role)
		}
	}
}

func TestEditAndResendReplacesWhatFollowed(t *testing.T) {
	r := newRig(t)
	r.model.then(answer("about cats"), answer("about dogs"))
	r.reach(r.say("agent:main:main", "cats"), protocol.RunDone)
	first := r.history("agent:main:main")[0]
	a := admission("agent:main:main", "edit", "dogs")
	a.Replace = first.ID
	_, err := r.m.Admit(t.Context(), a)
	must(t, err)
	r.reach("edit", protocol.RunDone)
	h := r.history("agent:main:main")
	if len(h) != 2 || h[0].Content.Text() != "dogs" || h[1].Content.Text() != "about dogs" {
		t.Fatalf("transcript %+v", h)
	}
	last := r.model.asked()[1]
	if len(last.Messages) != 1 || last.Messages[0].Content.Text() != "dogs" {
		t.Fatalf("the model was sent %+v", last.Messages)
	}
}

func TestAttachmentsAreStoredAndSentToTheModel(t *testing.T) {
	r := newRig(t)
	a := admission("agent:main:main", "k", "look")
	a.Attachments = []run.Attachment{
		{Name: "p.png", MimeType: "image/png", Content: []byte("\x89PNG not really")},
		{Name: "n.txt", MimeType: "text/plain", Content: []byte("a note")},
	}
	_, err := r.m.Admit(t.Context(), a)
	must(t, err)
	r.reach("k", protocol.RunDone)
	sent := r.model.asked()[0].Messages[0].Content
	img, ok := sent[1].(protocol.ImageBlock)
	if !ok || img.Data == "" || img.FileName != "p.png" {
		t.Fatalf("picture sent as %+v", sent[1])
	}
	file, ok := sent[2].(protocol.FileBlock)
	if !ok || file.Text != "a note" {
		t.Fatalf("file sent as %+v", sent[2])
	}
	stored := r.history("agent:main:main")[0].Content[1].(protocol.ImageBlock)
	if stored.Data != "" || stored.Blob == "" {
		t.Fatal("the picture itself lies in the transcript")
	}
	if content, err := r.blobs.Get(stored.Blob); err != nil || string(content) != string(a.Attachments[0].Content) {
		t.Fatalf("stored %q, %v", content, err)
	}
	a.Attachments[1].Content = []byte("another note")
	if _, err := r.m.Admit(t.Context(), a); code(err) != protocol.DetailKeyReused {
		t.Fatalf("another attachment under the same key: %v", err)
	}
}

func TestManySessionsAtOnce(t *testing.T) {
	r := newRig(t)
	var ids []protocol.RunID
	for i := range 40 {
		ids = append(ids, r.say(protocol.SessionKey(fmt.Sprintf("agent:main:s%d", i)), "hi"))
	}
	for _, id := range ids {
		r.reach(id, protocol.RunDone)
		r.until("clients to hear of the end", func() bool { return len(r.events.ends(id)) > 0 })
		if ends := r.events.ends(id); len(ends) != 1 || ends[0] != protocol.ChatStateFinal {
			t.Fatalf("%s ended with %v", id, ends)
		}
	}
}
