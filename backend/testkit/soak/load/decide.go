package load

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"countersign/backend/client"
	"countersign/backend/host"
	"countersign/backend/protocol"
	"countersign/backend/testkit/invariant"
)

func decidingScopes() []protocol.Scope {
	return []protocol.Scope{protocol.ScopeRead, protocol.ScopeWrite, protocol.ScopeApprovals}
}

// decider is the owner's paired device: it answers approvals and lets parked runs
// go on. It is used by one goroutine.
type decider struct {
	ledger *ledger
	home   string
	key    ed25519.PrivateKey

	conn *client.Conn
	rand *rand.Rand
}

// work decides what waits and what comes, until the host or ctx ends.
func (d *decider) work(ctx context.Context, seed uint64) (err error) {
	d.rand = rand.New(rand.NewPCG(seed, 1<<32))
	d.conn, err = client.Socket(ctx, filepath.Join(d.home, host.SocketName), client.Options{
		Name: "soak", Version: "soak", Scopes: decidingScopes(), Key: d.key, Caps: []string{protocol.CapChanges},
	})
	if err != nil {
		return err
	}
	defer d.conn.Close()
	if err := d.waiting(ctx); err != nil {
		return err
	}
	for {
		e, err := d.conn.Event(ctx)
		if err != nil {
			return err
		}
		if err := d.heard(ctx, e); err != nil {
			return err
		}
	}
}

// waiting decides what waited when this connection began.
func (d *decider) waiting(ctx context.Context) error {
	var list []protocol.Approval
	if err := d.conn.Call(ctx, protocol.MethodApprovalList, protocol.ApprovalListParams{}, &list); err != nil {
		return err
	}
	for _, a := range list {
		if err := d.decide(ctx, a); err != nil {
			return err
		}
	}
	var runs protocol.RunsList
	if err := d.conn.Call(ctx, protocol.MethodRunsList, protocol.RunsListParams{Open: true, Limit: 500}, &runs); err != nil {
		return err
	}
	for _, r := range runs.Runs {
		if err := d.resume(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (d *decider) heard(ctx context.Context, e protocol.Event) error {
	switch e.Event {
	case protocol.EventApprovalRequested:
		var a protocol.Approval
		if err := decode(e, &a); err != nil {
			return err
		}
		return d.decide(ctx, a)
	case protocol.EventRun:
		var r protocol.RunEvent
		if err := decode(e, &r); err != nil {
			return err
		}
		return d.resume(ctx, r.Run)
	default:
		return nil
	}
}

func (d *decider) decide(ctx context.Context, a protocol.Approval) error {
	p := protocol.ApprovalResolveParams{ID: a.ID, Decision: protocol.AllowOnce, PlanHash: a.Request.PlanHash}
	switch n := d.rand.IntN(100); {
	case n < 10:
		p.Decision, p.Reason = protocol.Deny, "not now"
	case n < 20 && slices.Contains(a.Request.AllowedDecisions, protocol.AllowSession):
		p.Decision = protocol.AllowSession
	}
	var out protocol.ApprovalResolveResult
	ok, err := d.call(ctx, protocol.MethodApprovalResolve, p, &out)
	if ok {
		d.ledger.decide(a.ID, p.Decision)
		d.ledger.moments.mark()
	}
	return err
}

// resume lets a run go on that waits for a word of its owner.
func (d *decider) resume(ctx context.Context, r protocol.Run) error {
	switch {
	case r.State != protocol.RunParked:
		return nil
	case r.ParkReason != protocol.ParkUnknown && r.ParkReason != protocol.ParkRecovery && r.ParkReason != protocol.ParkCeiling:
		return nil
	}
	p := protocol.RunsResumeParams{RunID: r.RunID, Choice: protocol.ChoiceContinue}
	if r.ParkReason == protocol.ParkUnknown && d.rand.IntN(4) == 0 {
		p.Choice = protocol.ChoiceTreatAsDone
	}
	var out protocol.Run
	ok, err := d.call(ctx, protocol.MethodRunsResume, p, &out)
	if ok {
		d.ledger.count(func(c *Tally) { c.Resumed++ })
	}
	return err
}

// call makes a call that the killer may strike. A refusal is not an error: what
// was to be decided may have been stopped or decided meanwhile.
func (d *decider) call(ctx context.Context, m protocol.Method, params, result any) (ok bool, err error) {
	d.ledger.waiting.Add(1)
	d.ledger.moments.mark()
	err = d.conn.Call(ctx, m, params, result)
	var refused *protocol.Error
	if err == nil || errors.As(err, &refused) {
		d.ledger.waiting.Add(-1)
	}
	switch {
	case err == nil:
		return true, nil
	case refused == nil:
		return false, err
	case refused.Code == protocol.CodeInternal:
		d.ledger.say(invariant.Broken, "%s of %s broke: %s", m, fmt.Sprint(params), refused.Message)
	}
	return false, nil
}
