package load_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/backend/testkit/kill"
	"countersign/backend/testkit/soak/load"
)

// TestFiveKillsLoseNothing is the smallest soak; `make soak` is the long one.
func TestFiveKillsLoseNothing(t *testing.T) {
	bin, err := kill.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r, err := load.Run(t.Context(), load.Options{Bin: bin, Dir: t.TempDir(), Kills: 5, Talks: 4, Seed: 3, Out: &out})
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if !r.Clean() || r.Kills != 5 {
		t.Errorf("%s, %d others\n%s", r, r.Broken, &out)
	}
	if r.Inside == 0 || r.Tally.Acked == 0 || r.Tally.Acked != r.Tally.Messages || r.Tally.Commands == 0 || r.Tally.Decisions == 0 {
		t.Errorf("the kills met no work: %d inside; %s", r.Inside, r.Tally)
	}
}

func TestAHostThatDoesNotStartIsCounted(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "host")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\necho no such table >&2; exit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r, err := load.Run(t.Context(), load.Options{Bin: bin, Dir: t.TempDir(), Kills: 3, Talks: 1, Seed: 1, Out: &out})
	if err == nil || r.Clean() || r.Unbootable != 2 {
		t.Errorf("told as %s, %v", r, err)
	}
	if !strings.Contains(out.String(), "no such table") {
		t.Errorf("its last words are not told: %q", out.String())
	}
	if want := "kills=0 lost=0 duplicated=0 unbootable=2 seed=1"; r.String() != want {
		t.Errorf("the line is %q, want %q", r, want)
	}
}
