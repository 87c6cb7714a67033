package effect

import (
	"fmt"
	"strings"

	"countersign/backend/protocol"
)

// Facts are the figures and words a sentence needs beside the receipt itself.
type Facts struct {
	// Lines counts lines changed or read; Items entries or matches.
	Lines int
	Items int
	// Where is the folder of a command, in words; empty for the workspace.
	Where string
	// Pattern is what was searched for.
	Pattern string
	// Question and Answer are of an ask.
	Question string
	Answer   string
	// TimedOut says that a command was ended by its time limit.
	TimedOut bool
	// Removed says that an undo took away a file that had not existed before.
	Removed bool
	// NeverStarted says that the effect was refused or stopped before it began.
	NeverStarted bool
}

// maxTarget bounds a target inside a sentence, in runes.
const maxTarget = 120

// Sentence says in plain words what a receipt records. It is never JSON, and it
// never claims more than is known.
func Sentence(r protocol.Receipt, f Facts) string {
	target := cut(r.Target)
	switch r.Outcome {
	case protocol.OutcomeDenied:
		return denied(r, target)
	case protocol.OutcomeUnknown:
		return unknown(r, target)
	case protocol.OutcomeStopped:
		return stopped(r, target, f)
	case protocol.OutcomeFailed:
		return failed(r, target)
	}
	return done(r, target, f)
}

func cut(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > maxTarget {
		return string(runes[:maxTarget-1]) + "…"
	}
	return s
}

func done(r protocol.Receipt, target string, f Facts) string {
	switch r.Tool {
	case "read":
		return fmt.Sprintf("Read %s (%s).", target, count(f.Lines, "line"))
	case "list":
		return fmt.Sprintf("Listed %s (%s).", target, entries(f.Items))
	case "search":
		return fmt.Sprintf("Searched %s for “%s” (%s).", target, cut(f.Pattern), matches(f.Items))
	case "write", "edit":
		return changed(r, target, f)
	case "exec":
		return ran(r, target, f)
	case "ask":
		return fmt.Sprintf("Asked you “%s”; you answered “%s”.", cut(f.Question), cut(f.Answer))
	case "undo":
		if f.Removed {
			return fmt.Sprintf("Removed %s, which had not been there before.", target)
		}
		return fmt.Sprintf("Put %s back as it was before.", target)
	}
	return fmt.Sprintf("Did %s on %s.", r.Tool, target)
}

func changed(r protocol.Receipt, target string, f Facts) string {
	if r.Evidence.ExistedBefore != nil && !*r.Evidence.ExistedBefore {
		return fmt.Sprintf("Wrote %s (new file, %s).", target, count(f.Lines, "line"))
	}
	if r.Evidence.HashBefore != "" && r.Evidence.HashBefore == r.Evidence.HashAfter {
		return fmt.Sprintf("Wrote %s again; its content stayed the same.", target)
	}
	return fmt.Sprintf("Changed %s in %s.", count(f.Lines, "line"), target)
}

func ran(r protocol.Receipt, target string, f Facts) string {
	where := ""
	if f.Where != "" {
		where = " in " + f.Where
	}
	switch {
	case f.TimedOut:
		return fmt.Sprintf("Ran %s%s and ended it at its time limit.", target, where)
	case r.Evidence.Signal != "":
		return fmt.Sprintf("Ran %s%s; it was ended by %s.", target, where, r.Evidence.Signal)
	case r.Evidence.ExitStatus != nil && *r.Evidence.ExitStatus != 0:
		return fmt.Sprintf("Ran %s%s; it reported an error (status %d).", target, where, *r.Evidence.ExitStatus)
	}
	return fmt.Sprintf("Ran %s%s; it finished without an error.", target, where)
}

func failed(r protocol.Receipt, target string) string {
	why := ""
	if e := cut(r.Evidence.Error); e != "" {
		why = ": " + strings.TrimSuffix(e, ".")
	}
	switch r.Tool {
	case "read":
		return fmt.Sprintf("Could not read %s%s.", target, why)
	case "list":
		return fmt.Sprintf("Could not list %s%s.", target, why)
	case "search":
		return fmt.Sprintf("Could not search %s%s.", target, why)
	case "write", "edit":
		return fmt.Sprintf("Could not change %s%s.", target, why)
	case "exec":
		return fmt.Sprintf("Could not start %s%s.", target, why)
	case "undo":
		return fmt.Sprintf("Could not put %s back%s.", target, why)
	}
	return fmt.Sprintf("Could not do %s on %s%s.", r.Tool, target, why)
}

func denied(r protocol.Receipt, target string) string {
	act := intent(r.Tool, target)
	if r.Authority.Kind == "approval" {
		if reason := cut(r.Authority.Reason); reason != "" {
			return fmt.Sprintf("You did not allow it to %s: “%s”.", act, reason)
		}
		return fmt.Sprintf("You did not allow it to %s.", act)
	}
	return fmt.Sprintf("Refused to %s. %s", act, r.Authority.Clause)
}

func unknown(r protocol.Receipt, target string) string {
	return fmt.Sprintf("Began to %s and was interrupted; whether it happened is unknown.", intent(r.Tool, target))
}

func stopped(r protocol.Receipt, target string, f Facts) string {
	if f.NeverStarted {
		return fmt.Sprintf("Stopped before it began to %s; nothing was done.", intent(r.Tool, target))
	}
	return fmt.Sprintf("Began to %s and was stopped; part of it may have happened.", intent(r.Tool, target))
}

// intent names an act after "to".
func intent(toolName, target string) string {
	switch toolName {
	case "exec":
		return "run " + target
	case "write", "edit":
		return "change " + target
	case "ask":
		return "ask you “" + target + "”"
	case "undo":
		return "put " + target + " back"
	}
	return toolName + " " + target
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func entries(n int) string {
	if n == 0 {
		return "empty"
	}
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func matches(n int) string {
	if n == 0 {
		return "no match"
	}
	if n == 1 {
		return "1 match"
	}
	return fmt.Sprintf("%d matches", n)
}
