package exec

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/backend/protocol"
	"countersign/backend/sandbox"
	"countersign/backend/tool"
)

const (
	// maxContent bounds each stream in what the model reads; the run's own bound
	// is Env.MaxOutput.
	maxContent = 32 << 10
	// maxEvidence bounds the output kept in the receipt.
	maxEvidence = 8 << 10
)

func notStarted(outcome protocol.Outcome, sentence string) tool.Result {
	return tool.Result{
		Content: "The command did not run. " + sentence, IsError: true, Outcome: outcome, NothingDone: true,
		Evidence: protocol.Evidence{Error: sentence, Note: "never started"},
	}
}

func resultOf(a args, d detail, plan tool.Plan, r sandbox.Result) tool.Result {
	out := tool.Result{Outcome: protocol.OutcomeDone, Source: plan.Target, Taint: protocol.TaintLocal}
	if plan.Outward {
		out.Taint = protocol.TaintOutside
	}
	ended := fmt.Sprintf("exited with %d", r.ExitCode)
	switch {
	case r.Stopped:
		out.Outcome, ended = protocol.OutcomeStopped, "was stopped"
	case r.TimedOut:
		out.TimedOut = true
		out.Outcome, ended = protocol.OutcomeStopped, fmt.Sprintf("was ended after %d s, its time limit", a.TimeoutSeconds)
	case r.Signal != "":
		ended = "was ended by the signal " + r.Signal
	}
	out.IsError = r.Stopped || r.TimedOut || r.Signal != "" || r.ExitCode != 0
	out.Content = contentOf(ended, r)
	mechanism := r.Mechanism
	if mechanism == "" {
		mechanism = d.Mechanism
	}
	output, cut := excerpt(joined(r), maxEvidence)
	out.Evidence = protocol.Evidence{
		Signal: r.Signal, DurationMs: r.Duration.Milliseconds(), Sandbox: string(mechanism),
		Output: output, OutputCut: r.TruncatedBytes + int64(cut), Note: ended,
	}
	if r.Signal == "" && r.ExitCode >= 0 {
		code := r.ExitCode
		out.Evidence.ExitStatus = &code
	}
	return out
}

func contentOf(ended string, r sandbox.Result) string {
	var out strings.Builder
	fmt.Fprintf(&out, "The command %s (%s).\n", ended, r.Duration.Round(10*time.Millisecond))
	if r.TruncatedBytes > 0 {
		fmt.Fprintf(&out, "%d bytes of its output were not kept.\n", r.TruncatedBytes)
	}
	if r.Stdout == "" && r.Stderr == "" {
		out.WriteString("It printed nothing.\n")
	}
	for _, s := range []struct{ name, text string }{{sandbox.Stdout, r.Stdout}, {sandbox.Stderr, r.Stderr}} {
		if s.text == "" {
			continue
		}
		text, _ := excerpt(s.text, maxContent)
		fmt.Fprintf(&out, "\n%s:\n%s", s.name, text)
		if !strings.HasSuffix(text, "\n") {
			out.WriteString("\n")
		}
	}
	return out.String()
}

func joined(r sandbox.Result) string {
	if r.Stdout == "" || r.Stderr == "" {
		return r.Stdout + r.Stderr
	}
	return strings.TrimSuffix(r.Stdout, "\n") + "\n" + r.Stderr
}

// excerpt keeps the start and, twice as long, the end of a text: how a command
// ended stands at its end. cut counts the bytes left out.
func excerpt(text string, most int) (kept string, cut int) {
	if len(text) <= most {
		return text, 0
	}
	head, tail := most/3, len(text)-(most-most/3)
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", text[:head], tail-head, text[tail:]), tail - head
}
