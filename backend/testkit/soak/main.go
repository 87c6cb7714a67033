// Command soak kills the real `countersign serve` at random moments while it
// works, and ends with one line:
//
//	kills=… lost=… duplicated=… unbootable=… seed=…
//
// It exits with 1 when one of the counts but the first is not 0, or when another
// promise of package invariant was broken, which the lines above it tell; with 2
// when it could not do its work. It is made for Linux: it looks for processes in
// /proc. Everything it makes lies in a temporary folder, which it keeps when it
// has found something.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"countersign/backend/testkit/kill"
	"countersign/backend/testkit/soak/load"
)

func main() {
	kills := flag.Int("kills", 200, "how often to kill")
	seed := flag.Uint64("seed", 1, "what chance begins with")
	talks := flag.Int("talks", 6, "conversations at once")
	bin := flag.String("bin", "", "program of the host (default: build it)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := soak(ctx, load.Options{Bin: *bin, Kills: *kills, Talks: *talks, Seed: *seed, Out: os.Stdout}, os.Stdout)
	stop()
	os.Exit(status)
}

func soak(ctx context.Context, o load.Options, out io.Writer) int {
	dir, err := os.MkdirTemp("", "countersign-soak-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		return 2
	}
	o.Dir = dir
	if o.Bin == "" {
		if o.Bin, err = kill.Build(ctx, dir); err != nil {
			fmt.Fprintln(os.Stderr, "soak:", err)
			return 2
		}
	}
	began := time.Now()
	r, err := load.Run(ctx, o)
	fmt.Fprintf(out, "%s in %s\n", r.Tally, time.Since(began).Round(time.Second))
	if len(r.Boots) > 0 {
		slices.Sort(r.Boots)
		at := func(share int) int64 { return r.Boots[min(len(r.Boots)*share/100, len(r.Boots)-1)].Milliseconds() }
		fmt.Fprintf(out, "ready after a kill: median %d ms, 95 %% within %d ms\n", at(50), at(95))
	}
	fmt.Fprintf(out, "kills that met work (a call without an answer, or a run found under way): %d of %d\n", r.Inside, r.Kills)
	status := 0
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "soak:", err)
		status = 2
	case !r.Clean():
		fmt.Fprintf(out, "other promises broken: %d\n", r.Broken)
		status = 1
	}
	if status == 0 {
		err = os.RemoveAll(dir)
	} else {
		fmt.Fprintln(out, "kept for looking at:", dir)
	}
	if err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	fmt.Fprintln(out, r)
	return status
}
