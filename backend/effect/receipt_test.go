package effect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"countersign/backend/effect"
	"countersign/backend/protocol"
	"countersign/backend/store"
)

func TestAReceiptTellsAllThatIsKnown(t *testing.T) {
	r := newRig(t)
	seq := r.db.LastSeq()
	want := protocol.Receipt{
		ID: "receipt-full", EffectID: "e", Class: protocol.ClassCommand, Tool: "exec", Args: json.RawMessage(`{"argv":["ls"]}`), Target: "ls", Represents: "you",
		Origin: protocol.ReceiptOrigin{Channel: "window", Sender: "you", AgentID: "main", AgentName: "Ada", SessionKey: "agent:main:main", RunID: "run", ToolCallID: "call"},
		Taint:  []protocol.TaintSource{{Source: "a page", Passage: "passage"}},
		Authority: protocol.Authority{
			Kind: "approval", Clause: "Running commands is asked each time.", ApprovalID: "a1", Decision: protocol.AllowOnce, By: "you, in the tray", AtMs: 150, Reason: "fine",
		},
		Outcome: protocol.OutcomeDone, Evidence: protocol.Evidence{ExitStatus: exit(0), DurationMs: 5, Sandbox: "bubblewrap", Output: "a\nb", OutputCut: 7, Note: "exited with 0"},
		Sentence: "Ran ls in site; it finished without an error.", Undo: protocol.UndoState{Reason: "What a command did cannot be taken back from here."},
		StartedAtMs: 200, EndedAtMs: 300, Seq: 1,
	}
	e := planned("e")
	e.Class, e.Tool, e.Args, e.Target, e.Authority, e.StartedMs = want.Class, want.Tool, want.Args, want.Target, want.Authority, 200
	r.bring(e, effect.Started)
	got := r.finish(e, effect.Ending{
		ReceiptID: want.ID, Outcome: want.Outcome, Evidence: want.Evidence, Facts: effect.Facts{Where: "site"}, ResultText: "the model's words", IsError: true,
		Taint: protocol.TaintOutside, Sources: want.Taint, Origin: want.Origin, Represents: "you",
	})
	want.Chain = got.Chain
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(r.read("receipt-full"), want) {
		t.Errorf("written %+v\nread    %+v\nwant    %+v", got, r.read("receipt-full"), want)
	}
	after := r.get("e")
	if after.ResultText != "the model's words" || !after.IsError || after.Taint != protocol.TaintOutside || after.ReceiptID != "receipt-full" || !reflect.DeepEqual(after.Authority, want.Authority) {
		t.Errorf("the effect is %+v", after)
	}
	if got.Chain.Hash == "" || got.Chain.PayloadHash == "" || got.Chain.Prev != "" || r.told(seq) != 1 {
		t.Errorf("chained as %+v, told %d times", got.Chain, r.told(seq))
	}
	if next := r.receipt(nil); next.Chain.Prev != got.Chain.Hash {
		t.Errorf("the next follows %s, want %s", next.Chain.Prev, got.Chain.Hash)
	}
}

const canary = "sk-canary-0123456789"

func hide(s string) string { return strings.ReplaceAll(s, canary, "•••") }

func TestSecretsAreMaskedInAllThatAReceiptShows(t *testing.T) {
	r := newRig(t)
	// Placed so that a sentence cut to fit would end inside the secret.
	edge := strings.Repeat("x", 110) + " " + canary
	rc := r.receipt(func(e *effect.Effect, end *effect.Ending) {
		e.Tool, e.Class = "exec", protocol.ClassCommand
		e.Args = json.RawMessage(`{"argv":["curl","-H","key: ` + canary + `"],"env":{"` + canary + `":["` + canary + `",{"deep":"a` + canary + `b"}]},"big":12345678901234567890,"n":1.50,"t":true,"z":null,"e":"\u003c` + canary + `\u003e"}`)
		e.Target = edge
		e.Authority = protocol.Authority{Kind: "approval", Clause: "c " + canary, Reason: edge}
		end.Outcome = protocol.OutcomeFailed
		end.Evidence = protocol.Evidence{Output: "out " + canary, Error: edge, Note: "note " + canary}
		end.Facts = effect.Facts{Where: canary, Pattern: edge, Question: edge, Answer: edge}
		end.Sources = []protocol.TaintSource{{Source: canary, Passage: canary}}
		end.NoUndo = "no: " + canary
		end.Mask = hide
	})
	raw, err := json.Marshal(rc)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(raw); strings.Contains(s, "sk-can") {
		t.Errorf("the receipt holds a secret, whole or in part: %s", s)
	}
	var columns string
	r.must(func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT payload_json || sentence || target FROM receipts WHERE receipt_id = ?`, string(rc.ID)).Scan(&columns)
	})
	if strings.Contains(columns, "sk-can") {
		t.Errorf("the row holds a secret: %s", columns)
	}
	want := `{"argv":["curl","-H","key: •••"],"big":12345678901234567890,"e":"\u003c•••\u003e","env":{"•••":["•••",{"deep":"a•••b"}]},"n":1.50,"t":true,"z":null}`
	if string(rc.Args) != want {
		t.Errorf("arguments are %s\nwant %s", rc.Args, want)
	}
	if _, _, broken := r.verify(); broken != nil {
		t.Errorf("a masked receipt does not verify: %+v", broken)
	}
}

// A row keeps what an effect was allowed to do as long as it may have to be
// compared or carried out, and nothing of a secret from then on.
func TestARowHidesItsSecretsOnceTheEffectHasEnded(t *testing.T) {
	r := newRig(t)
	row := func(id protocol.EffectID) (columns string) {
		r.must(func(tx *store.Tx) error {
			return tx.QueryRow(`SELECT args_json || plan_json || target || authority_json || result_text FROM effects WHERE effect_id = ?`, string(id)).Scan(&columns)
		})
		return columns
	}
	secretive := func(id string) effect.Effect {
		e := planned(id)
		e.Args = json.RawMessage(`{"path":"notes.md","content":"key ` + canary + `"}`)
		e.Plan = json.RawMessage(`{"args":{"content":"key ` + canary + `"},"detail":{"n":12345678901234567890}}`)
		e.Target = "notes of " + canary
		return e
	}
	for outcome, from := range map[protocol.Outcome]effect.State{
		protocol.OutcomeDone: effect.Started, protocol.OutcomeFailed: effect.Started, protocol.OutcomeUnknown: effect.Started,
		protocol.OutcomeDenied: effect.Planned, protocol.OutcomeStopped: effect.Authorised,
	} {
		e := secretive("e " + string(outcome))
		r.bring(e, from)
		if before := r.get(e.ID); string(before.Plan) != string(e.Plan) || string(before.Args) != string(e.Args) {
			t.Fatalf("%s: what is to be done was changed: %s", outcome, before.Plan)
		}
		e.Authority = protocol.Authority{Kind: "approval", Reason: "for " + canary}
		end := ending("r "+string(outcome), outcome)
		end.Mask = hide
		r.finish(e, end)
		if got := row(e.ID); strings.Contains(got, canary) || !strings.Contains(got, "key •••") || !strings.Contains(got, "12345678901234567890") {
			t.Errorf("%s: the row holds %s", outcome, got)
		}
	}
	e := secretive("a read")
	e.Repeat = "read"
	r.must(func(tx *store.Tx) error {
		end := ending("r read", protocol.OutcomeDone)
		end.Mask = hide
		_, err := effect.Record(tx, e, end, 300)
		return err
	})
	if got := row(e.ID); strings.Contains(got, canary) || !strings.Contains(got, "key •••") {
		t.Errorf("a read: the row holds %s", got)
	}
}

func TestEverySentenceIsMaskedBeforeItIsCut(t *testing.T) {
	r := newRig(t)
	edge := strings.Repeat("x", 110) + " " + canary
	for _, c := range []struct {
		tool    string
		outcome protocol.Outcome
	}{{"ask", protocol.OutcomeDone}, {"search", protocol.OutcomeDone}, {"exec", protocol.OutcomeDenied}, {"exec", protocol.OutcomeFailed}} {
		e := planned("e " + c.tool + string(c.outcome))
		e.Tool, e.Repeat, e.Target, e.Authority = c.tool, "read", edge, protocol.Authority{Kind: "approval", Reason: edge}
		end := ending("r "+c.tool+string(c.outcome), c.outcome)
		end.Mask, end.Evidence.Error, end.Facts = hide, edge, effect.Facts{Pattern: edge, Question: edge, Answer: edge, Where: edge}
		r.insert(e)
		if rc := r.finish(e, end); strings.Contains(rc.Sentence, "sk-") {
			t.Errorf("%s %s: %s", c.tool, c.outcome, rc.Sentence)
		}
	}
}

func TestArgumentsThatAreNoJSONAreLeftOut(t *testing.T) {
	r := newRig(t)
	for _, bad := range []string{``, `{`, `{} {}`, `nothing`} {
		rc := r.receipt(func(e *effect.Effect, _ *effect.Ending) { e.Args = json.RawMessage(bad) })
		if string(rc.Args) != "{}" {
			t.Errorf("%q became %s", bad, rc.Args)
		}
	}
}

func TestNamesThatAreNoTextAreStoredAndVerify(t *testing.T) {
	r := newRig(t)
	r.receipt(func(e *effect.Effect, end *effect.Ending) { e.Target, end.Evidence.Output = "caf\xe9.txt", "\xff\x00" })
	if _, count, broken := r.verify(); broken != nil || count != 1 {
		t.Errorf("broken %+v of %d", broken, count)
	}
}

func TestNothingWasDoneIsNotSaidOfWhatHasBegun(t *testing.T) {
	r := newRig(t)
	for _, began := range []bool{false, true} {
		e := planned(fmt.Sprint("e", began))
		state := effect.Authorised
		if began {
			state = effect.Started
		}
		r.bring(e, state)
		end := ending(fmt.Sprint("receipt ", began), protocol.OutcomeStopped)
		end.Facts.NeverStarted = true
		if rc := r.finish(e, end); began == strings.Contains(rc.Sentence, "nothing was done") {
			t.Errorf("begun %v: %s", began, rc.Sentence)
		}
	}
}

func TestReceiptsAreSearchedFilteredAndPaged(t *testing.T) {
	r := newRig(t)
	targets := []string{`100% sure.md`, `100 sure.md`, `snake_case`, `snakeXcase`, `back\slash`, `backslash`}
	for i, target := range targets {
		r.receipt(func(e *effect.Effect, end *effect.Ending) {
			e.Target = target
			if i%2 == 1 {
				e.Tool, e.Class, e.SessionKey = "exec", protocol.ClassCommand, "agent:main:other"
				end.Outcome = protocol.OutcomeFailed
			}
		})
	}
	seqs := func(p protocol.ReceiptsListParams) (out []int64, l protocol.ReceiptsList) {
		l = r.list(p)
		for _, rc := range l.Receipts {
			out = append(out, rc.Seq)
		}
		return out, l
	}
	for _, c := range []struct {
		name  string
		p     protocol.ReceiptsListParams
		want  []int64
		total int64
		more  bool
	}{
		{"all, newest first", protocol.ReceiptsListParams{}, []int64{6, 5, 4, 3, 2, 1}, 6, false},
		{"per cent is a letter", protocol.ReceiptsListParams{Search: "100%"}, []int64{1}, 1, false},
		{"underscore is a letter", protocol.ReceiptsListParams{Search: "e_c"}, []int64{3}, 1, false},
		{"backslash is a letter", protocol.ReceiptsListParams{Search: `k\s`}, []int64{5}, 1, false},
		{"spaces around do not matter", protocol.ReceiptsListParams{Search: "  SNAKE "}, []int64{4, 3}, 2, false},
		{"by sentence", protocol.ReceiptsListParams{Search: "Could not run"}, []int64{6, 4, 2}, 3, false},
		{"by tool", protocol.ReceiptsListParams{Tool: "exec"}, []int64{6, 4, 2}, 3, false},
		{"by id", protocol.ReceiptsListParams{Search: "receipt-0003"}, []int64{3}, 1, false},
		{"by session", protocol.ReceiptsListParams{SessionKey: "agent:main:other"}, []int64{6, 4, 2}, 3, false},
		{"by run", protocol.ReceiptsListParams{RunID: "run of effect-0002"}, []int64{2}, 1, false},
		{"by class", protocol.ReceiptsListParams{Classes: []protocol.EffectClass{protocol.ClassWrite, protocol.ClassSend}}, []int64{5, 3, 1}, 3, false},
		{"by two outcomes", protocol.ReceiptsListParams{Outcomes: []protocol.Outcome{protocol.OutcomeDone, protocol.OutcomeFailed}, Limit: 2}, []int64{6, 5}, 6, true},
		{"filters together", protocol.ReceiptsListParams{Outcomes: []protocol.Outcome{protocol.OutcomeDone}, Search: "sure", Classes: []protocol.EffectClass{protocol.ClassWrite}}, []int64{1}, 1, false},
		{"nothing fits", protocol.ReceiptsListParams{Tool: "exec", Outcomes: []protocol.Outcome{protocol.OutcomeDone}}, nil, 0, false},
		{"first page", protocol.ReceiptsListParams{Limit: 4}, []int64{6, 5, 4, 3}, 6, true},
		{"second page", protocol.ReceiptsListParams{Limit: 4, BeforeSeq: 3}, []int64{2, 1}, 6, false},
		{"exactly a page", protocol.ReceiptsListParams{Limit: 6}, []int64{6, 5, 4, 3, 2, 1}, 6, false},
		{"before the first", protocol.ReceiptsListParams{BeforeSeq: 1}, nil, 6, false},
	} {
		got, l := seqs(c.p)
		if !slices.Equal(got, c.want) || l.Total != c.total || l.HasMore != c.more || l.Receipts == nil {
			t.Errorf("%s: %v of %d, more %v; want %v of %d, more %v", c.name, got, l.Total, l.HasMore, c.want, c.total, c.more)
		}
	}
}

func TestTheLimitOfAListIsFiveHundred(t *testing.T) {
	r := newRig(t)
	r.chain(501)
	for limit, want := range map[int]int{0: 100, -1: 100, 499: 499, 500: 500, 501: 500, 1 << 30: 500} {
		if got := r.list(protocol.ReceiptsListParams{Limit: limit}); len(got.Receipts) != want || !got.HasMore || got.Total != 501 {
			t.Errorf("limit %d gives %d, more %v, of %d", limit, len(got.Receipts), got.HasMore, got.Total)
		}
	}
}

func TestAReceiptIsFoundByAPrefixThatFitsNoOther(t *testing.T) {
	r := newRig(t)
	for _, id := range []string{"abcd", "abcd-1", "abcd-22", "wi%d-1", "wixd-1", "wi_d-1"} {
		r.receipt(func(_ *effect.Effect, end *effect.Ending) { end.ReceiptID = protocol.ReceiptID(id) })
	}
	for _, c := range []struct {
		in, want protocol.ReceiptID
		err      error
	}{
		{"abcd", "abcd", nil},
		{"abcd-2", "abcd-22", nil},
		{"abcd-", "", effect.ErrAmbiguous},
		{"abc", "", effect.ErrNotFound},
		{"", "", effect.ErrNotFound},
		{"nobody", "", effect.ErrNotFound},
		{"%%%%", "", effect.ErrNotFound},
		{"wi%d", "wi%d-1", nil},
		{"wi_d", "wi_d-1", nil},
	} {
		var got protocol.Receipt
		err := r.write(func(tx *store.Tx) (err error) {
			got, err = effect.GetReceipt(tx, c.in)
			return err
		})
		if !errors.Is(err, c.err) || got.ID != c.want {
			t.Errorf("%q finds %q (%v), want %q (%v)", c.in, got.ID, err, c.want, c.err)
		}
	}
	if !errors.Is(effect.ErrAmbiguous, effect.ErrNotFound) {
		t.Error("who does not know of ambiguous prefixes must still see that nothing was found")
	}
}
