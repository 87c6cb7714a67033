package policy_test

import (
	"testing"
	"time"

	"countersign/backend/policy"
)

var (
	read  = policy.Act{Tool: "read", Group: policy.GroupFiles, Reads: true}
	write = policy.Act{Tool: "write", Group: policy.GroupFiles}
	run   = policy.Act{Tool: "exec", Group: policy.GroupCommands}
	ask   = policy.Act{Tool: "ask", Group: policy.GroupAsk}
	fetch = policy.Act{Tool: "fetch", Group: "web", Reads: true, Outward: true}
	novel = policy.Act{Tool: "novel", Group: "new"}
)

func TestDecide(t *testing.T) {
	now := time.Unix(1000, 0)
	outside := policy.Clause{ID: "outside-folders", Text: "It lies outside."}
	grant := []policy.Grant{{ID: "g", PlanHash: "h", Remaining: -1}}
	rows := []struct {
		name    string
		q       policy.Question
		verdict policy.Verdict
		clause  policy.Clause
	}{
		{"read inside is allowed", policy.Question{Act: read}, policy.Allow, policy.ClauseReadInside},
		{"read outside is refused", policy.Question{Act: read, Refused: outside}, policy.Deny, outside},
		{"a grant cannot open the outside", policy.Question{Act: read, Refused: outside, PlanHash: "h", Grants: grant}, policy.Deny, outside},
		{"write is asked", policy.Question{Act: write}, policy.Ask, policy.ClauseWriteAsks},
		{"command in a sandbox is asked", policy.Question{Act: run, Sandboxed: true}, policy.Ask, policy.ClauseCommandAsks},
		{"command without a sandbox is asked", policy.Question{Act: run}, policy.Ask, policy.ClauseNoSandbox},
		{"a grant does not skip the question without a sandbox", policy.Question{Act: run, PlanHash: "h", Grants: grant}, policy.Ask, policy.ClauseNoSandbox},
		{"the identical plan is allowed for the session", policy.Question{Act: run, Sandboxed: true, PlanHash: "h", Grants: grant}, policy.Allow, policy.ClauseSession},
		{"another plan is asked", policy.Question{Act: run, Sandboxed: true, PlanHash: "other", Grants: grant}, policy.Ask, policy.ClauseCommandAsks},
		{"a used-up grant is asked", policy.Question{Act: write, PlanHash: "h", Grants: []policy.Grant{{ID: "g", PlanHash: "h"}}}, policy.Ask, policy.ClauseWriteAsks},
		{"an expired grant is asked", policy.Question{Act: write, PlanHash: "h", Now: now, Grants: []policy.Grant{{ID: "g", PlanHash: "h", Remaining: 1, Expires: now}}}, policy.Ask, policy.ClauseWriteAsks},
		{"an empty hash never matches", policy.Question{Act: write, Grants: []policy.Grant{{ID: "g", Remaining: -1}}}, policy.Ask, policy.ClauseWriteAsks},
		{"asking the owner is allowed", policy.Question{Act: ask}, policy.Allow, policy.ClauseAskOwner},
		{"deny wins", policy.Question{Act: ask, Powers: policy.Powers{Allow: []string{"ask"}, Deny: []string{"ask"}}}, policy.Deny, policy.ClauseDenied},
		{"deny by group wins over a grant", policy.Question{Act: run, Sandboxed: true, PlanHash: "h", Grants: grant, Powers: policy.Powers{Deny: []string{"group:runtime"}}}, policy.Deny, policy.ClauseDenied},
		{"a custom list narrows", policy.Question{Act: read, Powers: policy.Powers{Allow: []string{"ask"}}}, policy.Deny, policy.ClauseNotGiven},
		{"outward without taint is asked by default", policy.Question{Act: fetch}, policy.Ask, policy.ClauseDefaultAsk},
		{"rule of two", policy.Question{Act: fetch, ReadTainted: true, PrivateInReach: true, PlanHash: "h", Grants: grant}, policy.Ask, policy.ClauseRuleOfTwo},
		{"no rule means ask", policy.Question{Act: novel}, policy.Ask, policy.ClauseDefaultAsk},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got := policy.Decide(row.q)
			if got.Verdict != row.verdict || got.Clause != row.clause {
				t.Fatalf("got %s by %s, want %s by %s", got.Verdict, got.Clause.ID, row.verdict, row.clause.ID)
			}
			if got.MayAllowSession && (row.q.Truncated || got.Verdict != policy.Ask) {
				t.Fatal("offers to allow for the session what it must not")
			}
		})
	}
}

func TestACutPlanIsNeverOfferedForTheSession(t *testing.T) {
	got := policy.Decide(policy.Question{Act: write, Truncated: true})
	if got.Verdict != policy.Ask || got.MayAllowSession {
		t.Fatalf("got %+v", got)
	}
}
