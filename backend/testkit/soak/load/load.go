// Package load puts a running host under mixed work and kills it again and again:
// several conversations at once over the Unix socket and the WebSocket, with
// reads, writes, commands that leave a line each time they are carried out,
// decisions by a paired device, stops, and keys that are sent more than once.
// After each kill the host is started anew, what waits is decided, what was not
// acknowledged is sent again, and package invariant looks at what is there.
//
// One seed gives one sequence of messages, decisions and kills. When exactly a
// kill lands among the work depends on the machine too, so that a seed makes a
// finding likely again and not certain.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"countersign/backend/testkit/invariant"
	"countersign/backend/testkit/kill"
)

// Bounds of one campaign's steps.
const (
	bootTime   = 30 * time.Second
	stopTime   = 15 * time.Second
	settleTime = 2 * time.Minute
	maxWork    = 2 * time.Second // between two kills
)

// Options say how hard to try.
type Options struct {
	// Bin is the host's program, Dir an empty folder of mode 0700.
	Bin string
	Dir string
	// Kills is how often to kill, Talks how many conversations go on at once.
	Kills int
	Talks int
	Seed  uint64
	// Out takes one line for each boot and each finding.
	Out io.Writer
}

// Report is what came of a campaign.
type Report struct {
	Kills, Lost, Duplicated, Broken, Unbootable int
	Seed                                        uint64
	// Inside counts the kills that met work: a call without an answer, or a run
	// that the next boot found under way.
	Inside int
	// Boots are the times to ready after a kill.
	Boots []time.Duration
	Tally Tally
}

// Clean reports that every promise held.
func (r Report) Clean() bool { return r.Lost+r.Duplicated+r.Broken+r.Unbootable == 0 }

// String is the line that a soak ends with.
func (r Report) String() string {
	return fmt.Sprintf("kills=%d lost=%d duplicated=%d unbootable=%d seed=%d", r.Kills, r.Lost, r.Duplicated, r.Unbootable, r.Seed)
}

// campaign is one run of Run.
type campaign struct {
	o      Options
	place  invariant.Place
	ledger *ledger
	rand   *rand.Rand
	log    *os.File
	report Report
	seen   map[string]bool // findings that were told already
	copies int
	crew   *crew
	// found is how many runs the boots have found under way, up to the last one;
	// inFlight is how many calls had no answer at the newest kill.
	found    int
	inFlight int64
}

// errHopeless ends a campaign whose host does not start any more.
var errHopeless = errors.New("the host does not start any more")

// Run kills a host o.Kills times. An error means that the campaign could not be
// made; broken promises are in the report.
func Run(ctx context.Context, o Options) (Report, error) {
	home := filepath.Join(o.Dir, "data")
	c := &campaign{
		o: o, ledger: newLedger(), rand: rand.New(rand.NewPCG(o.Seed, 0)), seen: make(map[string]bool), report: Report{Seed: o.Seed},
		place: invariant.Place{Home: home, Workspace: filepath.Join(home, "workspace"), Logs: []string{filepath.Join(o.Dir, "host.log")}},
	}
	var err error
	if c.log, err = os.OpenFile(c.place.Logs[0], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return c.report, fmt.Errorf("open log: %w", err)
	}
	defer c.log.Close()
	if c.crew, err = newCrew(o, c.ledger); err != nil {
		return c.report, err
	}
	err = c.run(ctx)
	c.report.Tally = c.ledger.tally()
	return c.report, err
}

func (c *campaign) run(ctx context.Context) error {
	for c.report.Kills < c.o.Kills {
		h, err := c.boot(ctx)
		if err != nil {
			return err
		}
		if err := c.look(ctx, false); err != nil {
			return errors.Join(err, c.end(h))
		}
		c.strike(ctx, h)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.report.Kills++
		if err := c.orphans(ctx); err != nil {
			return err
		}
	}
	return c.settle(ctx)
}

// boot starts the host; one that does not start is tried once more.
func (c *campaign) boot(ctx context.Context) (*kill.Host, error) {
	for range 2 {
		bootCtx, cancel := context.WithTimeout(ctx, bootTime)
		h, err := kill.Start(bootCtx, kill.Options{
			Bin: c.o.Bin, Home: c.place.Home, Log: c.log, Args: []string{"--token-file", c.crew.tokenFile},
			Env: []string{"OPENAI_API_KEY=" + c.ledger.canary},
		})
		cancel()
		if err == nil {
			if c.report.Kills > 0 {
				c.report.Boots = append(c.report.Boots, h.Took)
			}
			if err = c.crew.meet(ctx, h); err != nil {
				h.Kill()
			}
			return h, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c.report.Unbootable++
		c.say("unbootable after kill %d: %v", c.report.Kills, err)
	}
	return nil, errHopeless
}

// strike lets the crew work until the moment that chance has chosen, and kills
// the host.
func (c *campaign) strike(ctx context.Context, h *kill.Host) {
	workCtx, stop := context.WithCancel(ctx)
	done := c.crew.work(workCtx, c.rand.Uint64(), h)
	c.ledger.moments.await(workCtx, c.rand)
	c.inFlight = c.ledger.waiting.Load()
	h.Kill()
	stop()
	<-done
	c.say("kill %d of %d: ready in %d ms, %d calls without an answer; %s", c.report.Kills+1, c.o.Kills, h.Took.Milliseconds(), c.inFlight, c.ledger.tally())
}

// settle lets the host finish everything, and looks at it a last time, running
// and stopped.
func (c *campaign) settle(ctx context.Context) error {
	h, err := c.boot(ctx)
	if err != nil {
		return err
	}
	settleCtx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if err := c.crew.settle(settleCtx, h); err != nil {
		c.say("it did not settle: %v", err)
	}
	if err := c.look(ctx, true); err != nil {
		return errors.Join(err, c.end(h))
	}
	if err := c.end(h); err != nil {
		c.finding(invariant.Broken, err.Error())
	}
	if err := c.orphans(ctx); err != nil {
		return err
	}
	c.place.Live = false
	return c.examine(ctx, true)
}

func (c *campaign) end(h *kill.Host) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	return h.Stop(ctx)
}

func (c *campaign) look(ctx context.Context, settled bool) error {
	c.place.Live = true
	return c.examine(ctx, settled)
}

// examine captures the scene and makes the checks.
func (c *campaign) examine(ctx context.Context, settled bool) error {
	c.copies++
	dir := filepath.Join(c.o.Dir, fmt.Sprintf("copy-%d", c.copies))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	s, err := invariant.Capture(ctx, c.ledger.account(), c.place, dir)
	if err != nil {
		return err
	}
	s.Settled = settled
	for _, w := range c.ledger.takeWrong() {
		c.finding(w.kind, w.words)
	}
	breaches, err := invariant.Examine(ctx, s)
	for _, b := range breaches {
		c.finding(b.Check.Kind, b.String())
	}
	if err == nil {
		err = c.met(ctx, s)
	}
	err = errors.Join(err, s.Close())
	if len(breaches) > 0 {
		return err // the copy is kept beside the finding
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// met counts the newest kill among those that met work: a call had no answer, or
// this boot found a run under way. The latter costs a recovery or leaves an effect
// unknown, and nothing else does.
func (c *campaign) met(ctx context.Context, s *invariant.Scene) error {
	var found int
	err := s.DB.QueryRowContext(ctx, `SELECT (SELECT coalesce(sum(recoveries), 0) FROM runs) + (SELECT count(*) FROM effects WHERE state = 'unknown')`).Scan(&found)
	if err != nil {
		return fmt.Errorf("count what was under way: %w", err)
	}
	if found > c.found || c.inFlight > 0 {
		c.report.Inside++
	}
	c.found, c.inFlight = found, 0
	return nil
}

func (c *campaign) orphans(ctx context.Context) error {
	breaches, err := invariant.Orphans(ctx, []string{c.ledger.marker})
	for _, b := range breaches {
		c.finding(b.Check.Kind, b.String())
	}
	return err
}

// finding counts and tells what was found, each place once.
func (c *campaign) finding(k invariant.Kind, words string) {
	if c.seen[words] {
		return
	}
	c.seen[words] = true
	switch k {
	case invariant.Lost:
		c.report.Lost++
	case invariant.Duplicated:
		c.report.Duplicated++
	default:
		c.report.Broken++
	}
	c.say("after kill %d: %s", c.report.Kills, words)
}

func (c *campaign) say(format string, args ...any) { fmt.Fprintf(c.o.Out, format+"\n", args...) }
