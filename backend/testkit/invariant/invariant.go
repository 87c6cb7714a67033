// Package invariant looks at what a host left behind, on disk and among the
// processes, and says which of the product's promises do not hold.
//
// A check reads the tables and the files directly and shares no code with the
// owners it judges: what the product's own verbs overlook, it must not overlook
// with them. It writes nothing. The numbers are those of the design's list of
// ten; what needs a bridge (5) or a strict stub (7) has no check here yet.
package invariant

import (
	"context"
	"fmt"
)

// Kind sorts what a broken promise costs the owner.
type Kind string

// Kinds. Lost is work that was accepted and cannot be seen to end, Duplicated is
// work that was done twice, Broken is everything else that must not be.
const (
	Lost       Kind = "lost"
	Duplicated Kind = "duplicated"
	Broken     Kind = "broken"
)

// Check is one promise that can be looked at.
type Check struct {
	// Number is that of the design's list, 0 for what the list takes for granted.
	Number int
	Name   string
	Kind   Kind
	// Settled says that it holds only once nothing works any more.
	Settled bool
	// find returns one sentence for each place where the promise does not hold.
	find func(ctx context.Context, s *Scene) ([]string, error)
}

// Breach is one place where a promise does not hold.
type Breach struct {
	Check Check
	Words string
}

// String names the promise and the place.
func (b Breach) String() string {
	return fmt.Sprintf("%s: invariant %d (%s): %s", b.Check.Kind, b.Check.Number, b.Check.Name, b.Words)
}

// Checks are all that are known.
func Checks() []Check {
	return []Check{
		{0, "the database is whole", Broken, false, whole},
		{0, "the chain of receipts verifies", Broken, false, chain},
		{1, "an acknowledged message is stored", Lost, false, messagesStored},
		{1, "an acknowledged decision is stored", Lost, false, decisionsStored},
		{2, "a key has one run", Duplicated, false, oneRun},
		{3, "every run ends in a state the owner can see", Lost, true, visible},
		{3, "a run works only under a lease of this boot", Broken, false, leases},
		{4, "a command is carried out at most once", Duplicated, false, carriedOutOnce},
		{4, "what is called done has happened", Lost, false, doneHappened},
		{4, "nothing begins before its start is stored", Broken, false, startedFirst},
		{4, "a call has at most one result", Duplicated, false, oneResult},
		{4, "every call of an ended run has its result", Lost, false, hasResult},
		{4, "every effect that ended has one receipt", Broken, false, receipts},
		{6, "a session keeps its order", Broken, false, order},
		{8, "no secret lies outside the keychain", Broken, false, secrets},
		{9, "no child process is left", Broken, false, orphans},
		{10, "no file of the data directory is open to others", Broken, false, modes},
	}
}

// Examine makes every check that applies to the scene. An error means that the
// scene could not be looked at, not that a promise is broken.
func Examine(ctx context.Context, s *Scene) ([]Breach, error) {
	var out []Breach
	for _, c := range Checks() {
		if c.Settled && !s.Settled {
			continue
		}
		found, err := c.find(ctx, s)
		if err != nil {
			return out, fmt.Errorf("check that %s: %w", c.Name, err)
		}
		for _, words := range found {
			out = append(out, Breach{c, words})
		}
	}
	return out, nil
}

// Count returns how many breaches are of a kind.
func Count(breaches []Breach, k Kind) int {
	n := 0
	for _, b := range breaches {
		if b.Check.Kind == k {
			n++
		}
	}
	return n
}
