package effect_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/backend/effect"
	"countersign/backend/protocol"
)

var update = flag.Bool("update", false, "rewrite testdata")

type said struct {
	label string
	r     protocol.Receipt
	f     effect.Facts
}

func no() *bool       { b := false; return &b }
func yes() *bool      { b := true; return &b }
func exit(n int) *int { return &n }
func of(tool, target string, class protocol.EffectClass) protocol.Receipt {
	return protocol.Receipt{Tool: tool, Target: target, Class: class}
}

// acts are the tools with a target each that shows something.
var acts = []struct {
	r protocol.Receipt
	f effect.Facts
}{
	{of("read", "notes.md", protocol.ClassRead), effect.Facts{Lines: 12}},
	{of("list", "letters", protocol.ClassRead), effect.Facts{Items: 3}},
	{of("search", "letters", protocol.ClassRead), effect.Facts{Items: 2, Pattern: "tax 2026"}},
	{of("write", "notes.md", protocol.ClassWrite), effect.Facts{Lines: 4}},
	{of("edit", "notes.md", protocol.ClassWrite), effect.Facts{Lines: 1}},
	{of("exec", "npm test", protocol.ClassCommand), effect.Facts{Where: "site"}},
	{of("ask", "Which printer?", protocol.ClassAsk), effect.Facts{Question: "Which printer?", Answer: "The one upstairs"}},
	{of("undo", "notes.md", protocol.ClassUndo), effect.Facts{}},
	{of("weather", "Vienna", protocol.ClassRead), effect.Facts{}},
}

func everySentence() []said {
	var out []said
	add := func(label string, outcome protocol.Outcome, r protocol.Receipt, f effect.Facts) {
		r.Outcome = outcome
		out = append(out, said{label, r, f})
	}
	for _, a := range acts {
		r, f := a.r, a.f
		finished := r
		if r.Tool == "exec" {
			finished.Evidence.ExitStatus = exit(0)
		}
		add(r.Tool+" done", protocol.OutcomeDone, finished, f)
		broken := r
		broken.Evidence.Error = "the disk is full."
		add(r.Tool+" failed", protocol.OutcomeFailed, broken, f)
		add(r.Tool+" failed, no reason", protocol.OutcomeFailed, r, f)
		refused := r
		refused.Authority = protocol.Authority{Kind: "clause", Clause: "This agent is not allowed to use this tool."}
		add(r.Tool+" refused by a clause", protocol.OutcomeDenied, refused, f)
		refused.Authority = protocol.Authority{Kind: "approval"}
		add(r.Tool+" denied", protocol.OutcomeDenied, refused, f)
		refused.Authority.Reason = "not today"
		add(r.Tool+" denied with a reason", protocol.OutcomeDenied, refused, f)
		add(r.Tool+" unknown", protocol.OutcomeUnknown, r, f)
		add(r.Tool+" stopped", protocol.OutcomeStopped, r, f)
		f.NeverStarted = true
		add(r.Tool+" stopped before it began", protocol.OutcomeStopped, r, f)
	}
	for _, c := range particular() {
		if c.r.Outcome == "" {
			c.r.Outcome = protocol.OutcomeDone
		}
		out = append(out, c)
	}
	return out
}

// particular are the facts that change a sentence.
func particular() []said {
	long := "letters/" + strings.Repeat("ä", 300) + ".md"
	with := func(r protocol.Receipt, e protocol.Evidence) protocol.Receipt { r.Evidence = e; return r }
	ended := func(r protocol.Receipt, o protocol.Outcome) protocol.Receipt { r.Outcome = o; return r }
	file := of("write", "notes.md", protocol.ClassWrite)
	run := of("exec", "make", protocol.ClassCommand)
	return []said{
		{"read one line", of("read", "a", protocol.ClassRead), effect.Facts{Lines: 1}},
		{"read an empty file", of("read", "a", protocol.ClassRead), effect.Facts{}},
		{"list an empty folder", of("list", "a", protocol.ClassRead), effect.Facts{}},
		{"list the workspace", of("list", ".", protocol.ClassRead), effect.Facts{Items: 1}},
		{"search without a match", of("search", "a", protocol.ClassRead), effect.Facts{Pattern: "x"}},
		{"search with one match", of("search", "a", protocol.ClassRead), effect.Facts{Pattern: "x", Items: 1}},
		{"search refused before it was read", ended(of("search", "a", protocol.ClassRead), protocol.OutcomeDenied), effect.Facts{}},
		{"write a new file", with(file, protocol.Evidence{ExistedBefore: no()}), effect.Facts{Lines: 2}},
		{"write a new empty file", with(file, protocol.Evidence{ExistedBefore: no()}), effect.Facts{}},
		{"write over a file", with(file, protocol.Evidence{ExistedBefore: yes(), HashBefore: "a", HashAfter: "b"}), effect.Facts{Lines: 2}},
		{"write the same again", with(file, protocol.Evidence{ExistedBefore: yes(), HashBefore: "a", HashAfter: "a"}), effect.Facts{}},
		{"write other line ends", with(file, protocol.Evidence{ExistedBefore: yes(), HashBefore: "a", HashAfter: "b"}), effect.Facts{}},
		{"exec with an error", with(run, protocol.Evidence{ExitStatus: exit(2)}), effect.Facts{}},
		{"exec ended by a signal", with(run, protocol.Evidence{Signal: "SIGSEGV"}), effect.Facts{}},
		{"exec whose end nobody saw", run, effect.Facts{Where: "site"}},
		{"exec past its time, done", with(run, protocol.Evidence{ExitStatus: exit(0)}), effect.Facts{TimedOut: true}},
		{"exec past its time, stopped", ended(run, protocol.OutcomeStopped), effect.Facts{TimedOut: true, Where: "site"}},
		{"exec of something with a full stop", with(of("exec", "find .", protocol.ClassCommand), protocol.Evidence{ExitStatus: exit(0)}), effect.Facts{}},
		{"undo that removes", of("undo", "notes.md", protocol.ClassUndo), effect.Facts{Removed: true}},
		{"a name like a sentence", of("write", "Done.", protocol.ClassWrite), effect.Facts{Lines: 1}},
		{"a name over two lines", of("write", "a\nb\tc", protocol.ClassWrite), effect.Facts{Lines: 1}},
		{"a long name", of("write", long, protocol.ClassWrite), effect.Facts{Lines: 1}},
		{"a long command", ended(of("exec", strings.Repeat("echo hello ", 60), protocol.ClassCommand), protocol.OutcomeUnknown), effect.Facts{}},
		{"a name in another script", of("read", "письма/привет 🦊.txt", protocol.ClassRead), effect.Facts{Lines: 2}},
		{"raw arguments for a name", ended(of("exec", `{"argv":["rm","x"]}`, protocol.ClassCommand), protocol.OutcomeFailed), effect.Facts{}},
		{"a name in braces", of("read", "{}", protocol.ClassRead), effect.Facts{Lines: 1}},
		{"undo that could not remove", with(ended(of("undo", "notes.md", protocol.ClassUndo), protocol.OutcomeFailed), protocol.Evidence{Error: "It was changed since."}), effect.Facts{Removed: true}},
		{"no name", ended(of("read", "", protocol.ClassRead), protocol.OutcomeFailed), effect.Facts{}},
		{"an unknown tool without a target", of("weather", " ", protocol.ClassRead), effect.Facts{}},
		{"a reason with stops", with(ended(file, protocol.OutcomeFailed), protocol.Evidence{Error: "it is gone..."}), effect.Facts{}},
		{"a reason that asks", with(ended(file, protocol.OutcomeFailed), protocol.Evidence{Error: "is it a folder?"}), effect.Facts{}},
		{"a reason over two lines", with(ended(file, protocol.OutcomeFailed), protocol.Evidence{Error: "first\nsecond"}), effect.Facts{}},
		{"a long reason", with(ended(file, protocol.OutcomeFailed), protocol.Evidence{Error: strings.Repeat("because ", 60)}), effect.Facts{}},
		{"an answer with a full stop", of("ask", "", protocol.ClassAsk), effect.Facts{Question: "Which?", Answer: "Both."}},
	}
}

func TestEverySentenceIsTheGoldenOne(t *testing.T) {
	var b strings.Builder
	for _, s := range everySentence() {
		fmt.Fprintf(&b, "%s\n    %s\n", s.label, effect.Sentence(s.r, s.f))
	}
	path := filepath.Join("testdata", "sentences.golden")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the sentences differ from %s; look at them, then run with -update:\n%s", path, b.String())
	}
}

func TestEverySentenceIsPlainEnglish(t *testing.T) {
	for _, s := range everySentence() {
		got := effect.Sentence(s.r, s.f)
		for what, bad := range map[string]bool{
			"has no full stop at its end":    !strings.HasSuffix(strings.TrimRight(got, "”"), ".") && !strings.HasSuffix(got, "?") && !strings.HasSuffix(got, "”."),
			"has two full stops":             strings.Contains(got, ".."),
			"has two spaces":                 strings.Contains(got, "  "),
			"has more than one line":         strings.ContainsAny(got, "\n\t"),
			"reads like JSON":                strings.ContainsAny(got, "[]\"") || strings.Contains(got, "{\""),
			"does not begin as a sentence":   got[0] < 'A' || got[0] > 'Z',
			"is too long to read":            utf8.RuneCountInString(got) > 330,
			"is no text":                     !utf8.ValidString(got),
			"has an empty place":             strings.Contains(got, "“”") || strings.Contains(got, " ;"),
			"claims an end that nobody knew": s.r.Outcome == protocol.OutcomeUnknown && !strings.Contains(got, "nobody knows"),
		} {
			if bad {
				t.Errorf("%s: %q %s", s.label, got, what)
			}
		}
	}
}
