package approval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"countersign/backend/approval"
	"countersign/backend/protocol"
	"countersign/backend/store"
)

var states = []protocol.ApprovalState{
	protocol.ApprovalPending, protocol.ApprovalAllowed, protocol.ApprovalDenied, protocol.ApprovalExpired, protocol.ApprovalCancelled,
}

// bring makes an approval in a state, as it comes there.
func (r *rig) bring(id protocol.ApprovalID, run protocol.RunID, state protocol.ApprovalState) {
	r.Helper()
	r.ask(id, run)
	var err error
	switch state {
	case protocol.ApprovalAllowed:
		_, err = r.decide(id, verdict(protocol.AllowOnce))
	case protocol.ApprovalDenied:
		_, err = r.decide(id, verdict(protocol.Deny))
	case protocol.ApprovalCancelled:
		r.must(func(tx *store.Tx) error { return approval.Cancel(tx, run, "The run was stopped.", nil, 150) })
	case protocol.ApprovalExpired:
		r.force(id, state)
	}
	if err != nil {
		r.Fatal(err)
	}
}

func TestEveryPairOfStateAndVerb(t *testing.T) {
	decide := func(d protocol.Decision) func(*store.Tx, protocol.ApprovalID, protocol.RunID) error {
		return func(tx *store.Tx, id protocol.ApprovalID, _ protocol.RunID) error {
			_, err := approval.Decide(tx, id, verdict(d), 400)
			return err
		}
	}
	var decided *approval.DecidedError
	second := func(err error) bool { return errors.As(err, &decided) }
	fine := func(err error) bool { return err == nil }
	type row map[protocol.ApprovalState]struct {
		to protocol.ApprovalState
		as func(error) bool
	}
	for _, v := range []struct {
		name string
		do   func(*store.Tx, protocol.ApprovalID, protocol.RunID) error
		row  row
	}{
		{"allow once", decide(protocol.AllowOnce), row{
			protocol.ApprovalPending: {protocol.ApprovalAllowed, fine}, protocol.ApprovalAllowed: {protocol.ApprovalAllowed, fine},
			protocol.ApprovalDenied: {protocol.ApprovalDenied, second}, protocol.ApprovalExpired: {protocol.ApprovalExpired, second},
			protocol.ApprovalCancelled: {protocol.ApprovalCancelled, second},
		}},
		{"allow for the session", decide(protocol.AllowSession), row{
			protocol.ApprovalPending: {protocol.ApprovalAllowed, fine}, protocol.ApprovalAllowed: {protocol.ApprovalAllowed, second},
			protocol.ApprovalDenied: {protocol.ApprovalDenied, second}, protocol.ApprovalExpired: {protocol.ApprovalExpired, second},
			protocol.ApprovalCancelled: {protocol.ApprovalCancelled, second},
		}},
		{"deny", decide(protocol.Deny), row{
			protocol.ApprovalPending: {protocol.ApprovalDenied, fine}, protocol.ApprovalAllowed: {protocol.ApprovalAllowed, second},
			protocol.ApprovalDenied: {protocol.ApprovalDenied, fine}, protocol.ApprovalExpired: {protocol.ApprovalExpired, second},
			protocol.ApprovalCancelled: {protocol.ApprovalCancelled, second},
		}},
		{"cancel", func(tx *store.Tx, _ protocol.ApprovalID, run protocol.RunID) error {
			return approval.Cancel(tx, run, "The run was stopped.", nil, 400)
		}, row{
			protocol.ApprovalPending: {protocol.ApprovalCancelled, fine}, protocol.ApprovalAllowed: {protocol.ApprovalAllowed, fine},
			protocol.ApprovalDenied: {protocol.ApprovalDenied, fine}, protocol.ApprovalExpired: {protocol.ApprovalExpired, fine},
			protocol.ApprovalCancelled: {protocol.ApprovalCancelled, fine},
		}},
		{"consume", func(tx *store.Tx, id protocol.ApprovalID, _ protocol.RunID) error {
			return approval.Consume(tx, id, "hash", 400)
		}, row{
			protocol.ApprovalPending: {protocol.ApprovalPending, isConsumed}, protocol.ApprovalAllowed: {protocol.ApprovalAllowed, fine},
			protocol.ApprovalDenied: {protocol.ApprovalDenied, isConsumed}, protocol.ApprovalExpired: {protocol.ApprovalExpired, isConsumed},
			protocol.ApprovalCancelled: {protocol.ApprovalCancelled, isConsumed},
		}},
	} {
		for _, from := range states {
			t.Run(fmt.Sprintf("%s of a %s one", v.name, from), func(t *testing.T) {
				r := newRig(t)
				r.bring("aaaa-1", "run", from)
				before, seq := r.get("aaaa-1"), r.db.LastSeq()
				err := r.write(func(tx *store.Tx) error { return v.do(tx, "aaaa-1", "run") })
				want, after := v.row[from], r.get("aaaa-1")
				if after.State != want.to || !want.as(err) {
					t.Errorf("it is %s (%v), want %s", after.State, err, want.to)
				}
				if moved := from != want.to; !moved && (!reflect.DeepEqual(before, after) || r.told(seq) != 0) {
					t.Errorf("it did not move and yet changed from %+v to %+v", before, after)
				} else if moved && (after.Version != before.Version+1 || r.told(seq) != 1) {
					t.Errorf("version %d after %d, told %d times", after.Version, before.Version, r.told(seq))
				}
			})
		}
	}
}

func isConsumed(err error) bool { return errors.Is(err, approval.ErrConsumed) }

func TestADecisionIsKeptWithWhoWhenAndWhy(t *testing.T) {
	r := newRig(t)
	r.ask("aaaa-1", "run")
	a, err := r.decide("aaaa-1", verdict(protocol.Deny))
	want := protocol.Approval{
		ID: "aaaa-1", Request: request("run"), State: protocol.ApprovalDenied, CreatedAtMs: 100, Decision: protocol.Deny, Reason: "because", ResolvedAtMs: 200,
		Resolver: &protocol.Resolver{Kind: "client", ID: "c1", Name: "you, in the window"}, Version: 2,
	}
	if err != nil || !reflect.DeepEqual(a, want) || !reflect.DeepEqual(r.get("aaaa-1"), want) {
		t.Errorf("decided as %+v (%v)", a, err)
	}
	_, err = r.decide("aaaa-1", verdict(protocol.AllowOnce))
	if err == nil || !strings.Contains(err.Error(), "denied by you, in the window") {
		t.Errorf("whoever comes second is told %v", err)
	}
	r.bring("aaaa-2", "other", protocol.ApprovalCancelled)
	if _, err = r.decide("aaaa-2", verdict(protocol.AllowOnce)); err == nil || !strings.Contains(err.Error(), "cancelled by Countersign") {
		t.Errorf("of a cancelled one is told %v", err)
	}
}

// A thousand times two people and an impatient finger press at once.
func TestOfManyWhoDecideAtOnceOneWins(t *testing.T) {
	r := newRig(t)
	races := 1000
	presses := []protocol.Decision{protocol.AllowOnce, protocol.Deny, protocol.AllowOnce, protocol.AllowSession}
	type answer struct {
		a   protocol.Approval
		err error
	}
	race := func(n int) {
		id := protocol.ApprovalID(fmt.Sprintf("race-%04d", n))
		r.ask(id, "run")
		answers := make([]answer, len(presses))
		var wg sync.WaitGroup
		for i, d := range presses {
			wg.Go(func() {
				v := verdict(d)
				v.Resolver.ID = fmt.Sprint(i)
				answers[i].a, answers[i].err = r.decide(id, v)
			})
		}
		wg.Wait()
		final := r.get(id)
		if final.Version != 2 || final.State == protocol.ApprovalPending {
			t.Errorf("race %d was decided %d times: %+v", n, final.Version-1, final)
		}
		for i, got := range answers {
			var decided *approval.DecidedError
			switch {
			case presses[i] == final.Decision && got.err == nil && reflect.DeepEqual(got.a, final):
			case presses[i] != final.Decision && errors.As(got.err, &decided) && reflect.DeepEqual(decided.Approval, final):
			default:
				t.Errorf("race %d: %s was answered %+v (%v) although it was decided %+v", n, presses[i], got.a, got.err, final)
			}
		}
		used := 0
		for range 2 {
			if r.write(func(tx *store.Tx) error { return approval.Consume(tx, id, "hash", 300) }) == nil {
				used++
			}
		}
		if allowed := final.State == protocol.ApprovalAllowed; allowed != (used == 1) || used > 1 {
			t.Errorf("race %d ended %s and was used %d times", n, final.State, used)
		}
	}
	var all sync.WaitGroup
	turn := make(chan struct{}, 20)
	for n := range races {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			race(n)
		})
	}
	all.Wait()
}

func TestAnApprovalIsUsedOnceAndForItsPlanOnly(t *testing.T) {
	r := newRig(t)
	r.bring("aaaa-1", "run", protocol.ApprovalAllowed)
	use := func(hash string) error {
		return r.write(func(tx *store.Tx) error { return approval.Consume(tx, "aaaa-1", hash, 300) })
	}
	for _, other := range []string{"", "HASH", "hash ", "other"} {
		if err := use(other); !isConsumed(err) {
			t.Errorf("used for plan %q: %v", other, err)
		}
	}
	var used sync.WaitGroup
	won := make(chan struct{}, 50)
	for range 50 {
		used.Go(func() {
			if use("hash") == nil {
				won <- struct{}{}
			}
		})
	}
	used.Wait()
	if len(won) != 1 {
		t.Errorf("used %d times", len(won))
	}
	// A use that was rolled back did not happen.
	r.bring("aaaa-2", "run", protocol.ApprovalAllowed)
	broken := errors.New("the start could not be stored")
	err := r.write(func(tx *store.Tx) error { return errors.Join(approval.Consume(tx, "aaaa-2", "hash", 300), broken) })
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	r.must(func(tx *store.Tx) error { return approval.Consume(tx, "aaaa-2", "hash", 300) })
}

func TestWhatWasShownMustBeWhatIsAsked(t *testing.T) {
	r := newRig(t)
	r.ask("aaaa-1", "run")
	v := verdict(protocol.AllowOnce)
	v.PlanHash = "what I saw"
	if _, err := r.decide("aaaa-1", v); !errors.Is(err, approval.ErrPlanHash) || r.get("aaaa-1").State != protocol.ApprovalPending {
		t.Errorf("decided on another plan: %v", err)
	}
	v.PlanHash = "hash"
	if _, err := r.decide("aaaa-1", v); err != nil {
		t.Errorf("the right plan: %v", err)
	}
}

func TestOnlyWhatIsOfferedCanBeDecided(t *testing.T) {
	for i, c := range []struct {
		name      string
		offered   []protocol.Decision
		truncated bool
		can       []protocol.Decision
	}{
		{"all", everything, false, everything},
		{"once only", []protocol.Decision{protocol.AllowOnce, protocol.Deny}, false, []protocol.Decision{protocol.AllowOnce, protocol.Deny}},
		{"always, where offered", []protocol.Decision{protocol.AllowAlways}, false, []protocol.Decision{protocol.AllowAlways, protocol.Deny}},
		{"cut, offering deny", []protocol.Decision{protocol.Deny}, true, []protocol.Decision{protocol.Deny}},
		{"cut, offering all by mistake", everything, true, []protocol.Decision{protocol.Deny}},
		{"nothing: refusing is always possible", nil, false, []protocol.Decision{protocol.Deny}},
	} {
		r := newRig(t)
		for j, d := range []protocol.Decision{protocol.AllowOnce, protocol.AllowSession, protocol.AllowAlways, protocol.Deny, "yes", ""} {
			id := protocol.ApprovalID(fmt.Sprintf("case-%d-%d", i, j))
			req := request("run")
			req.AllowedDecisions, req.Truncated = c.offered, c.truncated
			r.must(func(tx *store.Tx) error {
				return approval.Ask(tx, protocol.Approval{ID: id, Request: req, CreatedAtMs: 1})
			})
			_, err := r.decide(id, verdict(d))
			if can := slices.Contains(c.can, d); can != (err == nil) || !can && (!errors.Is(err, approval.ErrNotOffered) || r.get(id).State != protocol.ApprovalPending) {
				t.Errorf("%s: %q gives %v", c.name, d, err)
			}
		}
	}
}

func TestAnApprovalIsFoundByAPrefixThatFitsNoOther(t *testing.T) {
	r := newRig(t)
	for _, id := range []protocol.ApprovalID{"abcd", "abcd-1", "abcd-22", "abce-1", "wi%d-1", "wi_d-1", `wi\d-1`, "wixd-1", "umläut", "umlaut"} {
		r.ask(id, "run")
	}
	for _, c := range []struct {
		in, want protocol.ApprovalID
		err      error
	}{
		{"abcd", "abcd", nil}, // whole, though others begin with it
		{"abcd-1", "abcd-1", nil},
		{"abcd-2", "abcd-22", nil},
		{"abcd-", "", approval.ErrAmbiguous},
		{"abce", "abce-1", nil},
		{"abc", "", approval.ErrNotFound}, // too short
		{"", "", approval.ErrNotFound},
		{"abcdx", "", approval.ErrNotFound},
		{"ABCD", "", approval.ErrNotFound},
		{"%%%%", "", approval.ErrNotFound},
		{"____", "", approval.ErrNotFound},
		{"wi%d", "wi%d-1", nil},
		{"wi_d", "wi_d-1", nil},
		{`wi\d`, `wi\d-1`, nil},
		{"umlä", "umläut", nil},
	} {
		var got protocol.Approval
		err := r.write(func(tx *store.Tx) (err error) {
			got, err = approval.Get(tx, c.in)
			return err
		})
		if !errors.Is(err, c.err) || got.ID != c.want {
			t.Errorf("%q finds %q (%v), want %q (%v)", c.in, got.ID, err, c.want, c.err)
		}
	}
	if a, err := r.decide("abcd-2", verdict(protocol.Deny)); err != nil || a.ID != "abcd-22" || r.get("abcd-1").State != protocol.ApprovalPending {
		t.Errorf("a prefix decided %+v (%v)", a, err)
	}
}

func TestListsComeOldestFirst(t *testing.T) {
	r := newRig(t)
	for i, run := range []protocol.RunID{"one", "two", "one", "two"} {
		r.ask(protocol.ApprovalID(fmt.Sprintf("aaaa-%d", 9-i)), run)
	}
	if _, err := r.decide("aaaa-9", verdict(protocol.Deny)); err != nil {
		t.Fatal(err)
	}
	ids := func(fn func(*store.Tx) ([]protocol.Approval, error)) (out []protocol.ApprovalID) {
		r.must(func(tx *store.Tx) error {
			found, err := fn(tx)
			for _, a := range found {
				out = append(out, a.ID)
			}
			return err
		})
		return out
	}
	for _, c := range []struct {
		name string
		fn   func(*store.Tx) ([]protocol.Approval, error)
		want []protocol.ApprovalID
	}{
		{"pending", func(tx *store.Tx) ([]protocol.Approval, error) { return approval.Pending(tx, "") }, []protocol.ApprovalID{"aaaa-8", "aaaa-7", "aaaa-6"}},
		{"of a run", func(tx *store.Tx) ([]protocol.Approval, error) { return approval.Pending(tx, "one") }, []protocol.ApprovalID{"aaaa-7"}},
		{"all", func(tx *store.Tx) ([]protocol.Approval, error) { return approval.List(tx, "", 100) }, []protocol.ApprovalID{"aaaa-9", "aaaa-8", "aaaa-7", "aaaa-6"}},
		{"newest", func(tx *store.Tx) ([]protocol.Approval, error) { return approval.List(tx, "agent:main:main", 2) }, []protocol.ApprovalID{"aaaa-7", "aaaa-6"}},
		{"of another session", func(tx *store.Tx) ([]protocol.Approval, error) { return approval.List(tx, "agent:x:y", 2) }, nil},
	} {
		if got := ids(c.fn); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	r.must(func(tx *store.Tx) error {
		newest, ok, err := approval.OfEffect(tx, "effect of one")
		_, none, err2 := approval.OfEffect(tx, "nothing")
		if !ok || newest.ID != "aaaa-7" || none {
			t.Errorf("of an effect: %v %+v, of none: %v", ok, newest, none)
		}
		return errors.Join(err, err2)
	})
}

func TestCancelEndsWhatOneRunAskedAndNothingElse(t *testing.T) {
	r := newRig(t)
	r.ask("aaaa-1", "one")
	r.ask("aaaa-2", "two")
	r.asks("q1", "one", protocol.Question{})
	r.asks("q2", "two", protocol.Question{})
	r.must(func(tx *store.Tx) error { return approval.Cancel(tx, "", "nobody", nil, 1) })
	r.must(func(tx *store.Tx) error { return approval.Cancel(tx, "one", "The run was stopped.", nil, 300) })
	a := r.get("aaaa-1")
	if a.State != protocol.ApprovalCancelled || a.Reason != "The run was stopped." || a.Decision != "" || a.Resolver.Kind != "system" || a.ResolvedAtMs != 300 {
		t.Errorf("cancelled as %+v", a)
	}
	if r.get("aaaa-2").State != protocol.ApprovalPending || r.question("q1").State != "cancelled" || r.question("q2").State != "pending" {
		t.Errorf("others: %+v, %+v, %+v", r.get("aaaa-2"), r.question("q1"), r.question("q2"))
	}
}

func TestWhatWasAskedIsKeptAsItWas(t *testing.T) {
	r := newRig(t)
	req := request("run")
	req.CommandArgv, req.Diff, req.Reach, req.HighRisk = []string{"sh", "-c", "echo \"<&>\"\n\u2028"}, "- a\n+ b\n", []string{"the network"}, true
	req.Taint = []protocol.TaintSource{{Source: "a page", Passage: "ignore all"}}
	r.must(func(tx *store.Tx) error {
		return approval.Ask(tx, protocol.Approval{ID: "aaaa-1", Request: req, CreatedAtMs: 1})
	})
	if got := r.get("aaaa-1").Request; !reflect.DeepEqual(got, req) {
		t.Errorf("kept as %+v", got)
	}
	err := r.db.Write(context.Background(), func(tx *store.Tx) error { return approval.Ask(tx, protocol.Approval{ID: "aaaa-1", Request: req}) })
	if err == nil {
		t.Error("one id was asked twice")
	}
}

// Whoever decides has to see everything; nobody does afterwards.
func TestWhatWasAskedIsMaskedOnceItIsDecided(t *testing.T) {
	hide := func(raw json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(raw, []byte("canary"), []byte("•••"))
	}
	for name, decide := range map[string]func(*store.Tx, protocol.ApprovalID) error{
		"allowed": func(tx *store.Tx, id protocol.ApprovalID) error {
			_, err := approval.Decide(tx, id, approval.Verdict{Decision: protocol.AllowOnce, Mask: hide}, 200)
			return err
		},
		"denied": func(tx *store.Tx, id protocol.ApprovalID) error {
			_, err := approval.Decide(tx, id, approval.Verdict{Decision: protocol.Deny, Mask: hide}, 200)
			return err
		},
		"cancelled": func(tx *store.Tx, _ protocol.ApprovalID) error {
			return approval.Cancel(tx, "one", "The run was stopped.", hide, 200)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			a := protocol.Approval{ID: "aaaa", Request: request("one"), CreatedAtMs: 100}
			a.Request.Diff, a.Request.Scripts = "+canary", []protocol.ApprovalScript{{Name: "s", Text: "canary"}}
			r.must(func(tx *store.Tx) error { return approval.Ask(tx, a) })
			if before := r.get(a.ID); before.Request.Diff != "+canary" || before.Request.Scripts[0].Text != "canary" {
				t.Fatalf("asked with %+v", before.Request)
			}
			r.must(func(tx *store.Tx) error { return decide(tx, a.ID) })
			after := r.get(a.ID)
			if after.Request.Diff != "+•••" || after.Request.Scripts[0].Text != "•••" || after.Request.PlanHash != a.Request.PlanHash {
				t.Fatalf("kept %+v", after.Request)
			}
		})
	}
}
