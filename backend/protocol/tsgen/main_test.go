package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing")

func TestGoldenPairs(t *testing.T) {
	imports := standardLibrary()
	dirs, err := filepath.Glob("testdata/*")
	if err != nil || len(dirs) < 8 {
		t.Fatalf("golden pairs: found %d (%v)", len(dirs), err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			got, err := Generate(dir, imports)
			golden := filepath.Join(dir, "want.ts")
			if strings.HasPrefix(filepath.Base(dir), "err-") {
				if err == nil {
					t.Fatalf("no error, but:\n%s", got)
				}
				golden, got = filepath.Join(dir, "want.txt"), []byte(err.Error()+"\n")
			} else if err != nil {
				t.Fatal(err)
			}
			compare(t, golden, got)
		})
	}
}

func compare(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s differs; got:\n%s", golden, got)
	}
}

func TestOutputIsTheSameTwice(t *testing.T) {
	imports := standardLibrary()
	first, err := Generate("..", imports)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Generate("..", imports)
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Error("two runs over the same package differ")
	}
}

func TestGeneratedFileIsUpToDate(t *testing.T) {
	if err := run(true); err != nil {
		t.Error(err)
	}
}

func TestScreaming(t *testing.T) {
	for in, want := range map[string]string{
		"MaxFrameBeforeAuth": "MAX_FRAME_BEFORE_AUTH",
		"ID":                 "ID",
		"RunID":              "RUN_ID",
		"IDRef":              "ID_REF",
		"HTTPCode":           "HTTP_CODE",
	} {
		if got := screaming(in); got != want {
			t.Errorf("screaming(%q) = %q, want %q", in, got, want)
		}
	}
}
