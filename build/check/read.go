package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
)

// testEvent is a line of `go test -json`.
type testEvent struct {
	Action      string
	Package     string
	Test        string
	ImportPath  string
	Output      string
	Elapsed     float64
	FailedBuild string
}

// maxLine bounds one line of output; a longer one ends the reading with an error.
const maxLine = 4 << 20

// readGo counts tests, prints one line for each package, and prints what a failed or skipped test said.
func readGo(in io.Reader, out io.Writer) (tally, error) {
	var t tally
	said := map[string][]string{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var e testEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Action == "" {
			fmt.Fprintln(out, lines.Text())
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "output":
			said[key] = append(said[key], e.Output)
		case "pass", "fail", "skip":
			t.add(e.count())
			if e.Action == "fail" || e.Action == "skip" && e.Test != "" {
				for _, line := range said[key] {
					fmt.Fprint(out, line)
				}
			}
			if e.Test == "" {
				fmt.Fprintf(out, "%-4s %s %.1fs\n", verdict[e.Action], e.Package, e.Elapsed)
			}
			delete(said, key)
		}
	}
	if err := lines.Err(); err != nil {
		return t, fmt.Errorf("read test output: %w", err)
	}
	return t, nil
}

var verdict = map[string]string{"pass": "ok", "fail": "FAIL", "skip": "-"}

// count is what the end of one test adds. A package counts only when it did not build, for its tests count themselves.
func (e testEvent) count() tally {
	switch {
	case e.Test == "" && e.FailedBuild != "":
		return tally{failed: 1}
	case e.Test == "":
		return tally{}
	case e.Action == "pass":
		return tally{passed: 1}
	case e.Action == "fail":
		return tally{failed: 1}
	}
	return tally{skipped: 1}
}

// nodeCounts finds the closing counts of `node --test` ("# pass 3" or "ℹ pass 3") and of vitest ("Tests  3 passed").
var nodeCounts = []struct {
	pattern *regexp.Regexp
	add     func(*tally, int)
}{
	{regexp.MustCompile(`^(?:#|ℹ) pass (\d+)`), func(t *tally, n int) { t.passed += n }},
	{regexp.MustCompile(`^(?:#|ℹ) fail (\d+)`), func(t *tally, n int) { t.failed += n }},
	{regexp.MustCompile(`^(?:#|ℹ) skipped (\d+)`), func(t *tally, n int) { t.skipped += n }},
	{regexp.MustCompile(`^\s*Tests\s.*?(\d+) passed`), func(t *tally, n int) { t.passed += n }},
	{regexp.MustCompile(`^\s*Tests\s.*?(\d+) failed`), func(t *tally, n int) { t.failed += n }},
	{regexp.MustCompile(`^\s*Tests\s.*?(\d+) skipped`), func(t *tally, n int) { t.skipped += n }},
}

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

func readNode(in io.Reader, out io.Writer) (tally, error) {
	var t tally
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		fmt.Fprintln(out, lines.Text())
		plain := colour.ReplaceAllString(lines.Text(), "")
		for _, c := range nodeCounts {
			if found := c.pattern.FindStringSubmatch(plain); found != nil {
				n, err := strconv.Atoi(found[1])
				if err != nil {
					return t, fmt.Errorf("read count %q: %w", plain, err)
				}
				c.add(&t, n)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return t, fmt.Errorf("read test output: %w", err)
	}
	return t, nil
}
