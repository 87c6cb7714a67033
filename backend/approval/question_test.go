package approval_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"countersign/backend/approval"
	"countersign/backend/protocol"
	"countersign/backend/store"
)

func (r *rig) asks(id protocol.QuestionID, run protocol.RunID, q protocol.Question) {
	r.Helper()
	q.ID, q.RunID, q.Text, q.State = id, run, "Which?", "pending"
	r.must(func(tx *store.Tx) error { return approval.AskQuestion(tx, protocol.EffectID("effect of "+id), q) })
}

func (r *rig) question(id protocol.QuestionID) (q protocol.Question) {
	r.Helper()
	r.must(func(tx *store.Tx) (err error) {
		q, err = approval.GetQuestion(tx, id)
		return err
	})
	return q
}

func (r *rig) answer(id protocol.QuestionID, a approval.Answer) (q protocol.Question, err error) {
	err = r.write(func(tx *store.Tx) (err error) {
		q, err = approval.AnswerQuestion(tx, id, a, protocol.Resolver{Kind: "client", Name: "you"}, 200)
		return err
	})
	return q, err
}

func options(labels ...string) (out []protocol.QuestionOption) {
	for _, l := range labels {
		out = append(out, protocol.QuestionOption{Label: l})
	}
	return out
}

func TestWhichAnswersFitWhichQuestions(t *testing.T) {
	open := protocol.Question{}
	one := protocol.Question{Options: options("A", "B")}
	oneOrText := protocol.Question{Options: options("A", "B"), FreeText: true}
	several := protocol.Question{Options: options("A", "B", "C"), Multiple: true}
	r := newRig(t)
	for i, c := range []struct {
		name string
		q    protocol.Question
		a    approval.Answer
		fits bool
	}{
		{"text to an open one", open, approval.Answer{Text: "because"}, true},
		{"nothing to an open one", open, approval.Answer{}, false},
		{"space to an open one", open, approval.Answer{Text: " \n\t"}, false},
		{"an option to an open one", open, approval.Answer{Options: []string{"A"}}, false},
		{"an option", one, approval.Answer{Options: []string{"B"}}, true},
		{"no option", one, approval.Answer{}, false},
		{"another option", one, approval.Answer{Options: []string{"C"}}, false},
		{"an option in other letters", one, approval.Answer{Options: []string{"b"}}, false},
		{"two of one", one, approval.Answer{Options: []string{"A", "B"}}, false},
		{"text where none is taken", one, approval.Answer{Text: "A"}, false},
		{"text beside an option where none is taken", one, approval.Answer{Options: []string{"A"}, Text: "x"}, false},
		{"space beside an option", one, approval.Answer{Options: []string{"A"}, Text: "  "}, true},
		{"text instead", oneOrText, approval.Answer{Text: "neither"}, true},
		{"an option and text", oneOrText, approval.Answer{Options: []string{"A"}, Text: "but slowly"}, true},
		{"two where text is taken", oneOrText, approval.Answer{Options: []string{"A", "B"}}, false},
		{"several", several, approval.Answer{Options: []string{"C", "A"}}, true},
		{"one of several", several, approval.Answer{Options: []string{"A"}}, true},
		{"the same twice", several, approval.Answer{Options: []string{"A", "A"}}, false},
		{"several with a wrong one", several, approval.Answer{Options: []string{"A", "D"}}, false},
	} {
		id := protocol.QuestionID(fmt.Sprintf("q%d", i))
		r.asks(id, "run", c.q)
		got, err := r.answer(id, c.a)
		switch {
		case c.fits && (err != nil || got.State != "answered" || !slices.Equal(got.Answers, c.a.Options)):
			t.Errorf("%s: %+v (%v)", c.name, got, err)
		case !c.fits && (!errors.Is(err, approval.ErrNoAnswer) || r.question(id).State != "pending"):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestAnAnswerIsKeptWithWhoGaveIt(t *testing.T) {
	r := newRig(t)
	r.asks("q1", "run", protocol.Question{})
	seq := r.db.LastSeq()
	if _, err := r.answer("q1", approval.Answer{Text: "  yes, please \n"}); err != nil {
		t.Fatal(err)
	}
	q := r.question("q1")
	if q.AnswerText != "yes, please" || q.Resolver.Name != "you" || q.ResolvedAtMs != 200 || q.Version != 2 || r.told(seq) != 1 {
		t.Errorf("answered as %+v, told %d times", q, r.told(seq))
	}
	r.must(func(tx *store.Tx) error {
		same, err := approval.QuestionOfEffect(tx, "effect of q1")
		if same.ID != "q1" {
			t.Errorf("of its effect: %+v", same)
		}
		return err
	})
}

func TestAQuestionIsAnsweredOnce(t *testing.T) {
	r := newRig(t)
	r.asks("q1", "run", protocol.Question{Options: options("A", "B")})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var won []string
	for i := range 50 {
		label := string("AB"[i%2])
		wg.Go(func() {
			_, err := r.answer("q1", approval.Answer{Options: []string{label}})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won = append(won, label)
			} else if !errors.Is(err, approval.ErrAnswered) {
				t.Errorf("a late answer: %v", err)
			}
		})
	}
	wg.Wait()
	if q := r.question("q1"); len(won) != 1 || !slices.Equal(q.Answers, won) || q.Version != 2 {
		t.Errorf("%v were told that they answered; it is %+v", won, q)
	}
}

func TestACancelledOrUnknownQuestionTakesNoAnswer(t *testing.T) {
	r := newRig(t)
	r.asks("q1", "run", protocol.Question{})
	r.must(func(tx *store.Tx) error { return approval.Cancel(tx, "run", "", nil, 150) })
	if _, err := r.answer("q1", approval.Answer{Text: "late"}); !errors.Is(err, approval.ErrAnswered) || r.question("q1").State != "cancelled" {
		t.Errorf("answered after it was cancelled: %v", err)
	}
	if _, err := r.answer("q9", approval.Answer{Text: "x"}); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	err := r.write(func(tx *store.Tx) error {
		_, err := approval.QuestionOfEffect(tx, "nothing")
		return err
	})
	if !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("of an effect without one: %v", err)
	}
}

func TestQuestionsAreListedOldestFirst(t *testing.T) {
	r := newRig(t)
	for _, id := range []protocol.QuestionID{"q3", "q2", "q1"} {
		r.asks(id, protocol.RunID("run of "+id), protocol.Question{})
	}
	if _, err := r.answer("q2", approval.Answer{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		run  protocol.RunID
		all  bool
		want []protocol.QuestionID
	}{
		{"", false, []protocol.QuestionID{"q3", "q1"}},
		{"", true, []protocol.QuestionID{"q3", "q2", "q1"}},
		{"run of q2", false, nil},
		{"run of q2", true, []protocol.QuestionID{"q2"}},
	} {
		var got []protocol.QuestionID
		r.must(func(tx *store.Tx) error {
			found, err := approval.Questions(tx, c.run, c.all)
			got = nil
			for _, q := range found {
				got = append(got, q.ID)
			}
			return err
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("of %q, all %v: %v, want %v", c.run, c.all, got, c.want)
		}
	}
}
