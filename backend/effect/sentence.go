package effect

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

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
	// NothingDone says that it began, and ended before it changed anything.
	NothingDone bool
}

// maxTarget bounds a target inside a sentence, in runes.
const maxTarget = 120

// Sentence says in plain words what a receipt records. It is never JSON, ends
// with a full stop, and never claims more than is known.
func Sentence(r protocol.Receipt, f Facts) string {
	switch r.Outcome {
	case protocol.OutcomeDone:
		return done(r, f)
	case protocol.OutcomeDenied:
		return denied(r, f)
	case protocol.OutcomeStopped:
		return stopped(r, f)
	case protocol.OutcomeFailed:
		return failed(r, f)
	}
	return fmt.Sprintf("Began to %s and was interrupted; nobody knows whether it happened.", intent(r, f))
}

func done(r protocol.Receipt, f Facts) string {
	target := name(r.Target)
	switch r.Tool {
	case "read":
		return fmt.Sprintf("Read %s (%s).", target, count(f.Lines, "line", "lines"))
	case "list":
		return fmt.Sprintf("Listed %s (%s).", target, count(f.Items, "entry", "entries"))
	case "search":
		return fmt.Sprintf("Searched %s for “%s” (%s).", target, cut(f.Pattern), count(f.Items, "match", "matches"))
	case "write", "edit":
		return changed(r, target, f)
	case "exec":
		return ran(r, target, f)
	case "ask":
		return fmt.Sprintf("Asked you “%s”; you answered “%s”.", question(r, f), cut(f.Answer))
	case "undo":
		if f.Removed {
			return fmt.Sprintf("Removed %s, which had not been there before.", target)
		}
		return fmt.Sprintf("Put %s back as it was before.", target)
	}
	return capital(past(r)) + "."
}

func changed(r protocol.Receipt, target string, f Facts) string {
	switch e := r.Evidence; {
	case e.ExistedBefore != nil && !*e.ExistedBefore:
		if f.Lines == 0 {
			return fmt.Sprintf("Wrote %s (new file, empty).", target)
		}
		return fmt.Sprintf("Wrote %s (new file, %s).", target, count(f.Lines, "line", "lines"))
	case e.HashBefore != "" && e.HashBefore == e.HashAfter:
		return fmt.Sprintf("Wrote %s again; its content stayed the same.", target)
	case f.Lines == 0: // only what is no line, such as the end of one
		return fmt.Sprintf("Changed %s.", target)
	}
	return fmt.Sprintf("Changed %s in %s.", count(f.Lines, "line", "lines"), target)
}

func ran(r protocol.Receipt, target string, f Facts) string {
	did := "Ran " + target + where(f)
	switch e := r.Evidence; {
	case f.TimedOut:
		return did + "; it took too long and was ended at its time limit."
	case e.Signal != "":
		return did + "; it was ended by the signal " + e.Signal + "."
	case e.ExitStatus == nil:
		return did + "; how it ended is not known."
	case *e.ExitStatus != 0:
		return fmt.Sprintf("%s; it reported an error (status %d).", did, *e.ExitStatus)
	}
	return did + "; it finished without an error."
}

func where(f Facts) string {
	if f.Where == "" {
		return ""
	}
	return " in " + name(f.Where)
}

func failed(r protocol.Receipt, f Facts) string {
	joint := ": "
	if first, _ := utf8.DecodeRuneInString(cut(r.Evidence.Error)); unicode.IsUpper(first) {
		joint = ". " // the reason is a sentence of its own
	}
	return full("Could not "+intent(r, f), joint, r.Evidence.Error)
}

func denied(r protocol.Receipt, f Facts) string {
	if r.Authority.Kind != "approval" {
		return full("Refused to "+intent(r, f)+".", " ", r.Authority.Clause)
	}
	if reason := cut(r.Authority.Reason); reason != "" {
		return fmt.Sprintf("You did not allow it to %s: “%s”.", intent(r, f), reason)
	}
	return fmt.Sprintf("You did not allow it to %s.", intent(r, f))
}

func stopped(r protocol.Receipt, f Facts) string {
	switch {
	case r.Tool == "ask":
		return fmt.Sprintf("Asked you “%s”; it was stopped before you answered.", question(r, f))
	case f.NeverStarted, f.NothingDone:
		return fmt.Sprintf("Stopped before it began to %s; nothing was done.", intent(r, f))
	case r.Tool == "exec" && f.TimedOut:
		return ran(r, name(r.Target), f)
	case r.Class == protocol.ClassRead:
		return fmt.Sprintf("Began to %s and was stopped; nothing was changed.", intent(r, f))
	}
	return fmt.Sprintf("Began to %s and was stopped; part of it may have happened.", intent(r, f))
}

// intent names an act after "to".
func intent(r protocol.Receipt, f Facts) string {
	target := name(r.Target)
	switch r.Tool {
	case "read", "list":
		return r.Tool + " " + target
	case "search":
		if f.Pattern != "" {
			return fmt.Sprintf("search %s for “%s”", target, cut(f.Pattern))
		}
		return "search " + target
	case "exec":
		return "run " + target + where(f)
	case "write", "edit":
		return "change " + target
	case "ask":
		return "ask you “" + question(r, f) + "”"
	case "undo":
		if f.Removed {
			return "remove " + target
		}
		return "put " + target + " back"
	}
	return strings.Replace(past(r), "used", "use", 1)
}

// past names the act of a tool that has no words of its own.
func past(r protocol.Receipt) string {
	if strings.TrimSpace(r.Target) == "" {
		return "used " + r.Tool
	}
	return "used " + r.Tool + " on " + name(r.Target)
}

func question(r protocol.Receipt, f Facts) string {
	if q := cut(f.Question); q != "" {
		return q
	}
	return cut(r.Target)
}

// name puts a target into a sentence. One that ends like a sentence, or begins
// or ends with what is read as part of it, stands in quotation marks. Raw
// arguments are no name: a person reads them beside the sentence.
func name(target string) string {
	switch s := cut(target); {
	case s == "":
		return "something without a name"
	case s == ".":
		return "the workspace"
	case len(s) > 2 && s[0] == '{' && json.Valid([]byte(target)):
		return "what its arguments say"
	case strings.ContainsAny(s[len(s)-1:], ".,;:!?)"):
		return "“" + s + "”"
	default:
		return s
	}
}

// cut makes one line of s and bounds it.
func cut(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > maxTarget {
		return strings.TrimSpace(string(runes[:maxTarget-1])) + "…"
	}
	return s
}

// full adds a reason to a sentence and sees that it ends as one does.
func full(sentence, joint, reason string) string {
	reason = strings.TrimRight(cut(reason), ". ")
	if reason != "" {
		sentence += joint + reason
	}
	if strings.HasSuffix(sentence, "!") || strings.HasSuffix(sentence, "?") || strings.HasSuffix(sentence, ".") {
		return sentence
	}
	return sentence + "."
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func count(n int, one, many string) string {
	switch n {
	case 0:
		return "no " + many
	case 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
