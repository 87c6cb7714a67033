package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestReadGoCountsTestsAndBrokenBuilds(t *testing.T) {
	in := strings.Join([]string{
		`{"Action":"output","Package":"p","Test":"TestA","Output":"hidden\n"}`,
		`{"Action":"pass","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestB","Output":"why it broke\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestB"}`,
		`{"Action":"output","Package":"p","Test":"TestC","Output":"no bus here\n"}`,
		`{"Action":"skip","Package":"p","Test":"TestC"}`,
		`{"Action":"fail","Package":"p"}`,
		`{"Action":"build-output","ImportPath":"q","Output":"q.go:1: syntax\n"}`,
		`{"Action":"fail","Package":"q","FailedBuild":"q"}`,
		`not json`,
	}, "\n")
	var out bytes.Buffer
	got, err := readGo(strings.NewReader(in), &out)
	if err != nil {
		t.Fatal(err)
	}
	if want := (tally{passed: 1, failed: 2, skipped: 1}); got != want {
		t.Errorf("tally %+v, want %+v", got, want)
	}
	for _, want := range []string{"why it broke", "no bus here", "q.go:1: syntax", "not json", "FAIL q"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "hidden") {
		t.Error("output of a passing test is shown")
	}
}

func TestReadNodeCountsBothRunners(t *testing.T) {
	in := "\x1b[2m      Tests \x1b[22m 2 failed | 31 passed (33)\nℹ pass 4\nℹ fail 1\n# skipped 2\n"
	got, err := readNode(strings.NewReader(in), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (tally{passed: 35, failed: 3, skipped: 2}); got != want {
		t.Errorf("tally %+v, want %+v", got, want)
	}
}

func TestRunAllGoesOnAndEndsWithTheCount(t *testing.T) {
	var out bytes.Buffer
	code := runAll(t.Context(), []step{
		{name: "bad", argv: []string{"false"}},
		{name: "loud", argv: []string{"echo", "unformatted.go"}, quiet: true},
		{name: "missing", argv: []string{"/does/not/exist"}, read: readGo},
		{name: "counted", argv: []string{"echo", "# pass 7"}, read: readNode},
		{name: "good", argv: []string{"true"}},
	}, &out)
	if code != 1 {
		t.Errorf("exit status %d, want 1", code)
	}
	if !strings.HasSuffix(out.String(), "\n8 passed, 3 failed\n") {
		t.Errorf("closing line is wrong:\n%s", out.String())
	}
	if code := runAll(t.Context(), []step{{name: "good", argv: []string{"true"}}}, &out); code != 0 {
		t.Errorf("exit status %d for a good run", code)
	}
}
