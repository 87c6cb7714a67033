package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestPercentilesAreSamplesAndTheNearestRank(t *testing.T) {
	var hundred samples
	for i := 100; i > 0; i-- {
		hundred = append(hundred, time.Duration(i))
	}
	rows := []struct {
		s           samples
		median, p99 time.Duration
	}{
		{nil, 0, 0},
		{samples{7}, 7, 7},
		{samples{3, 1, 2}, 2, 3},
		{samples{4, 1, 3, 2}, 2, 4},
		{hundred, 50, 99},
	}
	for _, r := range rows {
		if r.s.median() != r.median || r.s.p99() != r.p99 {
			t.Errorf("%v: median %d, p99 %d; want %d, %d", r.s, r.s.median(), r.s.p99(), r.median, r.p99)
		}
	}
	if hundred[0] != 100 {
		t.Error("the samples were sorted in place")
	}
}

func TestFiguresHaveFixedDecimals(t *testing.T) {
	list := []figure{
		duration("d", 1500*time.Microsecond), ratio("r", 3*time.Millisecond, 2*time.Millisecond), ratio("none", time.Second, 0), megabytes("m", 31_449_000),
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"name":"d","value":1.500,"unit":"ms"},{"name":"r","value":1.500,"unit":"x"},{"name":"none","value":0.000,"unit":"x"},{"name":"m","value":31.4,"unit":"MB"}]`
	if string(raw) != want {
		t.Errorf("%s\nwant\n%s", raw, want)
	}
}

func TestFiguresOfOthersAreTakenAsTheyAre(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.json")
	const page = `[{"name":"page_open","value":117.8,"unit":"ms"}]`
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := json.Marshal(list); err != nil || string(raw) != page {
		t.Errorf("%s, %v", raw, err)
	}
	if list, err := read(""); err != nil || list != nil {
		t.Errorf("without a file: %v, %v", list, err)
	}
	if _, err := read(filepath.Join(t.TempDir(), "gone")); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestTheFloorIsRealWork times nothing: it looks that a bare commit is a row on
// disk and that the echo answers.
func TestTheFloorIsRealWork(t *testing.T) {
	f, err := newFloor(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.close(); err != nil {
			t.Error(err)
		}
	}()
	for range 3 {
		if _, err := f.commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := f.loop(); err != nil {
			t.Fatal(err)
		}
	}
	var mode string
	var sync, rows, size int
	err = errors.Join(
		f.db.QueryRowContext(t.Context(), `PRAGMA journal_mode`).Scan(&mode),
		f.db.QueryRowContext(t.Context(), `PRAGMA synchronous`).Scan(&sync),
		f.db.QueryRowContext(t.Context(), `SELECT count(*), max(length(content)) FROM rows`).Scan(&rows, &size),
	)
	if err != nil {
		t.Fatal(err)
	}
	if mode != "wal" || sync != 2 || rows != 3 || size != rowSize {
		t.Errorf("journal %s, synchronous %d, %d rows of %d bytes", mode, sync, rows, size)
	}
}

func TestAProcessIsMeasured(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if n, err := resident(os.Getpid()); err != nil || n < 1<<20 {
		t.Errorf("this program has %d bytes: %v", n, err)
	}
	mine, err := processor(os.Getpid())
	if err != nil || mine < 0 {
		t.Errorf("this program used %s: %v", mine, err)
	}
	if idle, err := processor(cmd.Process.Pid); err != nil || idle > time.Second {
		t.Errorf("a sleeper used %s: %v", idle, err)
	}
	if n, err := load(); err != nil || n < 0 {
		t.Errorf("load %f: %v", n, err)
	}
}
