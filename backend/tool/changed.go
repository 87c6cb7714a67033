package tool

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Comparer is an optional ability: to say in words what the tool's own part of
// two plans of one call differs in.
type Comparer interface {
	// Changed returns a clause for each difference of Plan.Detail, the weightiest
	// first, in the past tense and without a full stop: "the network was switched
	// on". A plan that was stored and read back has no Card and no Before.
	Changed(before, after Plan) []string
}

// maxClauses is how many differences a sentence names; the rest is counted.
const maxClauses = 4

// Changed is one sentence for the person who allowed before and is asked about
// after, another plan of the same call of t. It is never empty: what nothing has
// words for is said to differ all the same.
func Changed(t Tool, before, after Plan) string {
	var clauses []string
	if c, ok := t.(Comparer); ok {
		clauses = c.Changed(before, after)
	}
	for _, clause := range changedPaths(before, after) {
		if !slices.Contains(clauses, clause) {
			clauses = append(clauses, clause)
		}
	}
	if len(clauses) == 0 && before.Outward != after.Outward {
		clauses = []string{"it lost its way to the network"}
		if after.Outward {
			clauses[0] = "it got a way to the network"
		}
	}
	if len(clauses) == 0 && !bytes.Equal(before.Args, after.Args) {
		clauses = []string{"its arguments became others"}
	}
	if len(clauses) == 0 {
		clauses = []string{"something changed in what it would do"}
	}
	return "Since you allowed this, " + inWords(clauses) + "."
}

// changedPaths says what happened to the files and folders that a plan names, the
// target as people know it.
func changedPaths(before, after Plan) []string {
	was := map[string]PlanPath{}
	for _, p := range before.Paths {
		was[p.Path] = p
	}
	var out []string
	for _, p := range after.Paths {
		old, ok := was[p.Path]
		name := p.Path
		if strings.HasSuffix(name, "/"+after.Target) {
			name = after.Target
		}
		delete(was, p.Path)
		switch {
		case !ok:
			out = append(out, "it came to act on "+name)
		case !old.Exists && p.Exists:
			out = append(out, name+" appeared")
		case old.Exists && !p.Exists:
			out = append(out, name+" was removed")
		case old.SHA256 != p.SHA256:
			out = append(out, name+" was changed")
		case !old.Write && p.Write:
			out = append(out, name+" became changeable for it")
		case old.Write && !p.Write:
			out = append(out, name+" became read-only for it")
		case old.Outside != p.Outside:
			out = append(out, name+" came to lie in another folder of the agent")
		}
	}
	for _, p := range before.Paths {
		if _, left := was[p.Path]; left {
			out = append(out, "it no longer acts on "+p.Path)
		}
	}
	return out
}

// inWords joins clauses as people do.
func inWords(clauses []string) string {
	if len(clauses) > maxClauses {
		left := len(clauses) - (maxClauses - 1)
		clauses = append(clauses[:maxClauses-1:maxClauses-1], fmt.Sprintf("%d more things changed", left))
	}
	last := len(clauses) - 1
	if last == 0 {
		return clauses[0]
	}
	return strings.Join(clauses[:last], ", ") + " and " + clauses[last]
}
