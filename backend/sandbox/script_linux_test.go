package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScriptsShowWhatACommandRuns has every way in which a command names code.
func TestScriptsShowWhatACommandRuns(t *testing.T) {
	b := newBed(t, NewRunner(Options{}))
	b.write("build.sh", "echo build\n", 0o644)
	b.write("tool", "#!/bin/sh\necho tool\n", 0o755)
	b.write("program", "\x7fELF\x00\x01", 0o755)
	b.write("pre.js", "// pre\n", 0o644)
	b.write("main.js", "// main\n", 0o644)
	b.write("data.txt", "data\n", 0o644)
	b.write("empty.sh", "", 0o644)
	for _, c := range []struct {
		argv []string
		want []Script
	}{
		{[]string{"cat", "data.txt"}, nil},
		{[]string{"sh", "-c", "cat build.sh"}, nil},
		{[]string{"sh", "build.sh", "data.txt"}, []Script{{Name: "build.sh", Text: "echo build\n", Size: 11}}},
		{[]string{"sh", "empty.sh"}, []Script{{Name: "empty.sh"}}},
		{[]string{"env", "A=1", "sh", "-e", "./build.sh"}, []Script{{Name: "./build.sh", Text: "echo build\n", Size: 11}}},
		{[]string{"./tool", "build.sh"}, []Script{{Name: "./tool", Text: "#!/bin/sh\necho tool\n", Size: 20}}},
		{[]string{"./program"}, []Script{{Name: "./program", Size: 6, Binary: true}}},
		{[]string{"nice", "./program"}, []Script{{Name: "./program", Size: 6, Binary: true}}},
		{[]string{"awk", "-f", "pre.js", "data.txt"}, []Script{{Name: "pre.js", Text: "// pre\n", Size: 7}}},
	} {
		got, err := b.plan(c.argv...).Scripts(100, 1000)
		if err != nil {
			t.Fatalf("%q: %v", c.argv, err)
		}
		if len(got) != len(c.want) {
			t.Fatalf("%q: %+v", c.argv, got)
		}
		for i, s := range got {
			want := c.want[i]
			want.Path, want.SHA256 = filepath.Join(b.dir, filepath.Base(want.Name)), sumOf(t, filepath.Join(b.dir, want.Name))
			if s != want {
				t.Errorf("%q: %+v, want %+v", c.argv, s, want)
			}
		}
	}
}

func sumOf(t *testing.T, path string) string {
	t.Helper()
	sum, _, err := hashFile(path, MaxExecutableBytes)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestALongScriptIsMarkedCutBetweenCharacters(t *testing.T) {
	b := newBed(t, NewRunner(Options{}))
	b.write("a.sh", strings.Repeat("é", 50), 0o644)
	got, err := b.plan("sh", "a.sh").Scripts(33, 1000)
	if err != nil || len(got) != 1 || !got[0].Cut || got[0].Binary || got[0].Text != strings.Repeat("é", 16) || got[0].Size != 100 {
		t.Fatalf("%+v (%v)", got, err)
	}
	if got, err = b.plan("sh", "a.sh").Scripts(100, 100); err != nil || got[0].Cut {
		t.Fatalf("one that fits exactly is cut: %+v (%v)", got, err)
	}
}

func TestTheSumOfWhatScriptsShowIsBounded(t *testing.T) {
	b := newBed(t, NewRunner(Options{}))
	b.write("a.awk", strings.Repeat("a", 60), 0o644)
	b.write("b.awk", strings.Repeat("b", 60), 0o644)
	got, err := b.plan("awk", "-f", "a.awk", "-f", "b.awk").Scripts(64, 100)
	if err != nil || len(got) != 2 || got[0].Cut || !got[1].Cut || len(got[1].Text) != 40 {
		t.Fatalf("%+v (%v)", got, err)
	}
}

func TestAScriptThatChangedSinceItWasPlannedIsNotShown(t *testing.T) {
	b := newBed(t, NewRunner(Options{}))
	for name, change := range map[string]func(path string) error{
		"other words": func(path string) error { return os.WriteFile(path, []byte("echo two\n"), 0o644) },
		"a longer tail": func(path string) error {
			return os.WriteFile(path, []byte("echo one\n#"+strings.Repeat("x", 200)), 0o644)
		},
		"gone": os.Remove,
	} {
		path := b.write("a.sh", "echo one\n#", 0o644)
		p := b.plan("sh", "a.sh")
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		if got, err := p.Scripts(20, 20); !errors.Is(err, ErrPlanChanged) {
			t.Errorf("%s: %+v (%v)", name, got, err)
		}
	}
}
