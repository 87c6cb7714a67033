// Package policy decides what an agent may do. It is one pure function: no
// clock, no input or output. Time, grants and taint are its inputs, so that the
// gate, the approval card and every picture of an agent's powers agree.
//
// It keeps apart capability (does this tool exist for this agent: allow, deny;
// deny wins), placement (may the act reach that place) and escape (an act that
// leaves the sandbox, which only ever adds a question). What no clause allows is
// asked; what a clause refuses is never asked.
package policy

import (
	"slices"
	"time"
)

// Verdict is what to do with a planned act.
type Verdict string

// Verdicts.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Clause names the rule that decided and says it in words.
type Clause struct {
	ID   string
	Text string
}

// Decision is the answer of Decide. GrantID is set when a grant allowed the act,
// so that its count can be consumed when the effect is authorised.
type Decision struct {
	Verdict Verdict
	Clause  Clause
	GrantID string
	// MayAllowSession says whether the question may offer to allow the identical
	// plan for the rest of the session.
	MayAllowSession bool
}

// Powers are the capabilities of an agent. An empty Allow means every built-in
// tool; a name in Deny wins over all else.
type Powers struct {
	Allow []string
	Deny  []string
}

// Grant is a standing permission for one exact plan.
type Grant struct {
	ID       string
	PlanHash string
	Expires  time.Time
	// Remaining is how often it may still be used; negative means without limit.
	Remaining int
}

// Act is what a tool declares about itself: its policy group, whether it only
// reads, and whether it goes outward.
type Act struct {
	Tool    string
	Group   string
	Reads   bool
	Outward bool
}

// Groups that a clause names.
const (
	GroupFiles    = "fs"
	GroupCommands = "runtime"
	GroupAsk      = "ask"
)

// Question is one planned act, with all that bears on it.
type Question struct {
	Act    Act
	Powers Powers
	// Refused is the clause by which the tool says that no one may allow the plan,
	// such as a path outside every folder; its zero value means none.
	Refused  Clause
	PlanHash string
	// Truncated says that nobody can be shown the whole plan.
	Truncated bool
	// Sandboxed says that a command would run in a sandbox here.
	Sandboxed bool
	// ReadTainted says that the run has read text from outside; PrivateInReach
	// that it has private data in reach.
	ReadTainted    bool
	PrivateInReach bool
	Grants         []Grant
	Now            time.Time
}

// Clauses of the default policy.
var (
	ClauseDenied      = Clause{"tool-denied", "This agent is not allowed to use this tool."}
	ClauseNotGiven    = Clause{"tool-not-given", "This agent was not given this tool."}
	ClauseReadInside  = Clause{"read-inside", "Reading inside the folders you opened is allowed."}
	ClauseAskOwner    = Clause{"ask-owner", "Asking you is always allowed."}
	ClauseWriteAsks   = Clause{"write-asks", "Changing files is asked each time."}
	ClauseCommandAsks = Clause{"command-asks", "Running commands is asked each time."}
	ClauseNoSandbox   = Clause{"no-sandbox", "Commands run without a sandbox on this machine, so each one is asked."}
	ClauseRuleOfTwo   = Clause{"rule-of-two", "It has read text from outside and can reach private data, so anything outward is asked."}
	ClauseSession     = Clause{"allowed-for-session", "You allowed exactly this for this session."}
	ClauseDefaultAsk  = Clause{"default-ask", "No rule allows this, so it is asked."}
)

// Decide answers one question. The first clause that fits decides; the order is
// refusal, then questions that no grant may skip, then grants, then allowances.
func Decide(q Question) Decision {
	if slices.Contains(q.Powers.Deny, q.Act.Tool) || slices.Contains(q.Powers.Deny, "group:"+q.Act.Group) {
		return Decision{Verdict: Deny, Clause: ClauseDenied}
	}
	if len(q.Powers.Allow) > 0 && !slices.Contains(q.Powers.Allow, q.Act.Tool) && !slices.Contains(q.Powers.Allow, "group:"+q.Act.Group) {
		return Decision{Verdict: Deny, Clause: ClauseNotGiven}
	}
	if q.Refused != (Clause{}) {
		return Decision{Verdict: Deny, Clause: q.Refused}
	}
	command := q.Act.Group == GroupCommands
	if q.Act.Outward && q.ReadTainted && q.PrivateInReach {
		return Decision{Verdict: Ask, Clause: ClauseRuleOfTwo}
	}
	if command && !q.Sandboxed {
		return Decision{Verdict: Ask, Clause: ClauseNoSandbox}
	}
	if g, ok := matchingGrant(q); ok {
		return Decision{Verdict: Allow, Clause: ClauseSession, GrantID: g.ID}
	}
	switch {
	case q.Act.Group == GroupAsk:
		return Decision{Verdict: Allow, Clause: ClauseAskOwner}
	case command:
		return Decision{Verdict: Ask, Clause: ClauseCommandAsks, MayAllowSession: !q.Truncated}
	case q.Act.Reads && !q.Act.Outward:
		return Decision{Verdict: Allow, Clause: ClauseReadInside}
	case q.Act.Group == GroupFiles:
		return Decision{Verdict: Ask, Clause: ClauseWriteAsks, MayAllowSession: !q.Truncated}
	}
	return Decision{Verdict: Ask, Clause: ClauseDefaultAsk}
}

func matchingGrant(q Question) (Grant, bool) {
	for _, g := range q.Grants {
		if g.PlanHash == q.PlanHash && g.PlanHash != "" && g.Remaining != 0 && (g.Expires.IsZero() || q.Now.Before(g.Expires)) {
			return g, true
		}
	}
	return Grant{}, false
}
