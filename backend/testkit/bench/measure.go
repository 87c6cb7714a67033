package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"countersign/backend/testkit/kill"
)

// sessions take turns, so that each stays short and none has anything queued.
const sessions = 20

func session(kind string, i int) string { return fmt.Sprintf("bench-%s-%d", kind, i%sessions) }

// measure makes every measurement in turn. Figures measured before an error come
// with it.
func measure(ctx context.Context, o options, dir string) (out []figure, err error) {
	busy, err := load()
	if err != nil {
		return nil, err
	}
	out = append(out, figure{"machine.load", number(busy, 2), "processes"})
	started, err := starts(ctx, o, dir)
	if out = append(out, started...); err != nil {
		return out, err
	}
	p, err := open(ctx, o, dir)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	idle, err := rest(ctx, p, o.idle)
	if err != nil {
		return out, err
	}
	out = append(out, megabytes("memory.idle", idle))
	f, err := newFloor(ctx, dir)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	for _, step := range []func(context.Context, options, *patron, *floor) ([]figure, error){plainTurns, admission, toolTurns} {
		found, err := step(ctx, o, p, f)
		if out = append(out, found...); err != nil {
			return out, err
		}
	}
	return out, nil
}

// starts times a host from its start to the line that says it is ready, on a
// fresh home and on one that exists.
func starts(ctx context.Context, o options, dir string) ([]figure, error) {
	var fresh, again samples
	for i := range o.starts {
		home, err := newHome(dir, fmt.Sprintf("start-%d", i))
		if err != nil {
			return nil, err
		}
		for _, times := range []*samples{&fresh, &again} {
			h, err := kill.Start(ctx, kill.Options{Bin: o.bin, Home: home, Log: os.Stderr})
			if err != nil {
				return nil, err
			}
			*times = append(*times, h.Took)
			stopCtx, cancel := context.WithTimeout(ctx, stopTime)
			err = h.Stop(stopCtx)
			cancel()
			if err != nil {
				return nil, err
			}
		}
	}
	return []figure{duration("start.fresh.median", fresh.median()), duration("start.again.median", again.median())}, nil
}

// rest waits and reads the host's memory.
func rest(ctx context.Context, p *patron, d time.Duration) (int64, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return resident(p.host.PID)
}

// admission times acknowledgements, each beside a bare commit and a loopback way
// of the same moment. The run of each message ends before the next is sent.
func admission(ctx context.Context, o options, p *patron, f *floor) ([]figure, error) {
	var acks, commits, loops, pairs samples
	warm := sessions * 2
	for i := range warm + o.sends {
		commit, err := f.commit(ctx)
		if err != nil {
			return nil, err
		}
		way, err := f.loop()
		if err != nil {
			return nil, err
		}
		id, ack, err := p.send(ctx, session("send", i), fmt.Sprintf("say yes %d", i))
		if err != nil {
			return nil, err
		}
		if err := p.final(ctx, id); err != nil {
			return nil, err
		}
		if i >= warm {
			acks, commits, loops, pairs = append(acks, ack), append(commits, commit), append(loops, way), append(pairs, commit+way)
		}
	}
	return []figure{
		duration("commit.median", commits.median()), duration("commit.p99", commits.p99()),
		duration("loopback.median", loops.median()), duration("loopback.p99", loops.p99()),
		duration("floor.median", pairs.median()), duration("floor.p99", pairs.p99()),
		duration("admission.median", acks.median()), duration("admission.p99", acks.p99()),
		ratio("admission.ratio.median", acks.median(), pairs.median()), ratio("admission.ratio.p99", acks.p99(), pairs.p99()),
	}, nil
}

// kind is one kind of turn.
type kind struct{ name, text string }

// plainTurns times turns without a tool, the first work the host does, and reads
// its memory after them.
func plainTurns(ctx context.Context, o options, p *patron, f *floor) ([]figure, error) {
	out, err := turnsOf(ctx, o, p, f, kind{"plain", "say yes"})
	if err != nil {
		return out, err
	}
	after, err := resident(p.host.PID)
	if err != nil {
		return out, err
	}
	return append(out, megabytes("memory.worked", after), figure{"memory.worked.runs", number(float64(p.sent), 0), "runs"}), nil
}

// toolTurns times turns with one call: a read, and a write that is allowed for
// the session.
func toolTurns(ctx context.Context, o options, p *patron, f *floor) ([]figure, error) {
	if err := os.WriteFile(filepath.Join(p.home, "workspace", "bench.txt"), []byte("a few words\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write file to read: %w", err)
	}
	var out []figure
	for _, k := range []kind{{"read", "read bench.txt"}, {"write", "write kept.txt: `the same words`"}} {
		found, err := turnsOf(ctx, o, p, f, k)
		if out = append(out, found...); err != nil {
			return out, err
		}
	}
	return out, nil
}

// turnsOf times whole turns of one kind, from the send to the final event, each
// beside a bare commit of the same moment.
func turnsOf(ctx context.Context, o options, p *patron, f *floor, k kind) ([]figure, error) {
	if err := warmUp(ctx, p, k); err != nil {
		return nil, err
	}
	var times, commits samples
	before, err := processor(p.host.PID)
	if err != nil {
		return nil, err
	}
	for i := range o.turns {
		commit, err := f.commit(ctx)
		if err != nil {
			return nil, err
		}
		turn, err := p.turn(ctx, session(k.name, i), k.text)
		if err != nil {
			return nil, err
		}
		times, commits = append(times, turn), append(commits, commit)
	}
	after, err := processor(p.host.PID)
	if err != nil {
		return nil, err
	}
	return []figure{
		duration("turn."+k.name+".median", times.median()), ratio("turn."+k.name+".commits", times.median(), commits.median()),
		duration("turn."+k.name+".processor", (after-before)/time.Duration(max(o.turns, 1))),
	}, nil
}

// warmUp lets every session say its first words. What is written is asked, and
// allowed for the session. Another session writes it first: a file that is new is
// another plan than one that is there.
func warmUp(ctx context.Context, p *patron, k kind) error {
	if k.name == "write" {
		if err := p.allowed(ctx, "bench-first", k.text); err != nil {
			return err
		}
	}
	for i := range sessions {
		var err error
		if k.name == "write" {
			err = p.allowed(ctx, session(k.name, i), k.text)
		} else {
			_, err = p.turn(ctx, session(k.name, i), k.text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
