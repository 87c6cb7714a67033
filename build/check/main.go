// Command check is the daily proof behind `make test`: it runs every step in order, goes on after a failed one so that
// one run shows everything that is wrong, counts the tests of all of them, and ends with one line,
// "N passed, N failed". It owns the order of the steps and nothing else; what a step does stands in the Makefile, in
// package.json or in the tests themselves.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// reader turns the output of a step into a tally while it passes it on.
type reader func(in io.Reader, out io.Writer) (tally, error)

type step struct {
	name string
	argv []string
	env  []string
	read reader
	// quiet means that any output is a finding, as with gofmt -l.
	quiet bool
}

type tally struct{ passed, failed, skipped int }

func (t *tally) add(o tally) {
	t.passed += o.passed
	t.failed += o.failed
	t.skipped += o.skipped
}

func main() {
	only := flag.String("only", "", "comma-separated names of the steps to run (default: all)")
	tools := flag.String("tools", ".cache/tools", "folder with the built tools")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(runAll(ctx, selected(steps(*tools), *only), os.Stdout))
}

// goPackages names our folders, for a bare ./... also walks into the Go files that npm packages bring along.
var goPackages = []string{".", "./app/...", "./backend/...", "./build/...", "./frontend"}

func goStep(name string, read reader, args ...string) step {
	return step{name: name, argv: slices.Concat([]string{"go"}, args, goPackages), read: read}
}

func npm(args ...string) []string {
	return slices.Concat([]string{"npm", "--prefix", "frontend"}, args)
}

func steps(tools string) []step {
	return []step{
		{name: "generated types", argv: []string{"go", "run", "./backend/protocol/tsgen", "-check"}},
		{name: "generated icons", argv: []string{"go", "run", "./build/icons", "-check"}},
		{name: "gofmt", argv: []string{"gofmt", "-l", "app", "backend", "build", "frontend/embed.go", "main.go"}, quiet: true},
		{name: "types", argv: npm("run", "--silent", "check")},
		{name: "biome", argv: npm("run", "--silent", "lint")},
		{name: "unit", argv: npm("test", "--silent"), read: readNode},
		// The page comes before the programs, which embed it.
		{name: "build", argv: []string{"make", "--no-print-directory", "build"}},
		goStep("vet", nil, "vet"),
		goStep("staticcheck", nil).as(tools + "/staticcheck"),
		goStep("go", readGo, "test", "-race", "-json", "-timeout=8m"),
		{name: "e2e", argv: npm("run", "--silent", "e2e"), read: readNode},
		{
			name: "desktop", read: readGo,
			argv: []string{"go", "test", "-json", "-count=1", "-timeout=8m", "-tags=desktop_e2e", "./app/windowtest/..."},
		},
	}
}

// as replaces the go command by another that takes the same packages.
func (s step) as(program string) step {
	s.argv[0] = program
	return s
}

func selected(all []step, only string) []step {
	if only == "" {
		return all
	}
	names := strings.Split(only, ",")
	return slices.DeleteFunc(all, func(s step) bool { return !slices.Contains(names, s.name) })
}

// runAll runs the steps, prints what each says and the closing line, and returns the exit status.
func runAll(ctx context.Context, all []step, out io.Writer) int {
	var total tally
	var broken []string
	for _, s := range all {
		fmt.Fprintf(out, "--- %s: %s\n", s.name, strings.Join(s.argv, " "))
		began := time.Now()
		counted, err := s.run(ctx, out)
		if err != nil && counted.failed == 0 {
			counted.failed++
		}
		if err == nil && counted.passed+counted.failed == 0 {
			counted.passed++
		}
		total.add(counted)
		took := time.Since(began).Round(100 * time.Millisecond)
		if counted.failed > 0 {
			broken = append(broken, s.name)
			fmt.Fprintf(out, "--- %s: FAILED after %s: %v\n", s.name, took, err)
			continue
		}
		fmt.Fprintf(out, "--- %s: ok, %d in %s\n", s.name, counted.passed, took)
	}
	if len(broken) > 0 {
		fmt.Fprintf(out, "failed steps: %s\n", strings.Join(broken, ", "))
	}
	if total.skipped > 0 {
		fmt.Fprintf(out, "skipped tests, each with its reason above: %d\n", total.skipped)
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", total.passed, total.failed)
	if total.failed > 0 {
		return 1
	}
	return 0
}

func (s step) run(ctx context.Context, out io.Writer) (tally, error) {
	cmd := exec.CommandContext(ctx, s.argv[0], s.argv[1:]...)
	cmd.Env = append(os.Environ(), s.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if s.read == nil {
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = io.MultiWriter(out, &said), io.MultiWriter(out, &said)
		err := cmd.Run()
		if err == nil && s.quiet && said.Len() > 0 {
			err = errors.New("these files need attention")
		}
		return tally{}, err
	}
	// One pipe for both streams keeps what a compiler says beside the test it concerns.
	pr, pw := io.Pipe()
	cmd.Stdout, cmd.Stderr = pw, pw
	type result struct {
		tally tally
		err   error
	}
	done := make(chan result, 1)
	go func() {
		t, err := s.read(pr, out)
		_, drain := io.Copy(io.Discard, pr)
		done <- result{t, errors.Join(err, drain)}
	}()
	err := cmd.Run()
	closed := pw.Close()
	r := <-done
	return r.tally, errors.Join(err, r.err, closed)
}
