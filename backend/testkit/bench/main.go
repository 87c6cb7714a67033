// Command bench measures a built host and writes the figures to a file: a list of
// {name, value, unit}. It starts the real program on a fresh data directory, on
// the disk of the temporary folder, and talks to it as any client does.
//
// Times mean little across machines, so each that waits for the disk stands beside
// what the same disk takes for one bare commit in the same minute, as a ratio of
// unit "x". It judges nothing; whoever reads the figures does. A busy machine
// makes them worse, which is why the load stands among them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"countersign/backend/testkit/kill"
)

func main() {
	o := options{}
	flag.StringVar(&o.bin, "bin", "", "program of the host (default: build it)")
	flag.IntVar(&o.sends, "sends", 400, "messages whose acknowledgement is timed")
	flag.IntVar(&o.turns, "turns", 200, "turns of each kind")
	flag.IntVar(&o.starts, "starts", 5, "starts of each kind")
	flag.DurationVar(&o.idle, "idle", 3*time.Second, "rest before memory is read")
	flag.StringVar(&o.also, "also", "", "file of figures measured by others, put before these")
	out := flag.String("out", "bench.json", "file for the figures")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := bench(ctx, o, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options say what to measure and how often.
type options struct {
	bin                  string
	sends, turns, starts int
	idle                 time.Duration
	also                 string
}

func bench(ctx context.Context, o options, path string) (err error) {
	dir, err := os.MkdirTemp("", "countersign-bench-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer func() {
		if rmErr := os.RemoveAll(dir); err == nil {
			err = rmErr
		}
	}()
	if o.bin == "" {
		if o.bin, err = kill.Build(ctx, dir); err != nil {
			return err
		}
	}
	others, err := read(o.also)
	if err != nil {
		return err
	}
	figures, err := measure(ctx, o, dir)
	figures = append(others, figures...)
	for _, f := range figures {
		fmt.Printf("%-28s %10s %s\n", f.Name, f.Value, f.Unit)
	}
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(figures, "", "  ")
	if err != nil {
		return fmt.Errorf("encode figures: %w", err)
	}
	if err := os.WriteFile(path, append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	return nil
}

// read reads figures that others wrote; no file, no figures.
func read(path string) ([]figure, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read figures: %w", err)
	}
	var figures []figure
	if err := json.Unmarshal(raw, &figures); err != nil {
		return nil, fmt.Errorf("read figures of %s: %w", path, err)
	}
	return figures, nil
}
