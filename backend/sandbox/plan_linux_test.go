package sandbox

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestResolveRefusesInWords(t *testing.T) {
	b := newBed(t, NewRunner(Options{}))
	b.write("file", "x", 0o644)
	b.write("bad", "#!/no/such/interpreter\n", 0o755)
	b.write("relative", "#!sh\n", 0o755)
	for name, c := range map[string]struct {
		argv  []string
		dir   string
		words string
		cause error
	}{
		"nothing":             {nil, b.dir, "empty", nil},
		"empty name":          {[]string{""}, b.dir, "empty", nil},
		"NUL":                 {[]string{"echo", "a\x00b"}, b.dir, "Argument 1 holds a NUL", nil},
		"NUL in folder":       {[]string{"echo"}, "/a\x00", "folder's name holds a NUL", nil},
		"relative folder":     {[]string{"echo"}, "x", "absolute", nil},
		"missing folder":      {[]string{"echo"}, b.dir + "/none", "does not exist", fs.ErrNotExist},
		"file as folder":      {[]string{"echo"}, b.dir + "/file", "not a folder", nil},
		"unknown program":     {[]string{"no-such-program"}, b.dir, "These folders were searched: /usr/bin", fs.ErrNotExist},
		"missing path":        {[]string{"./none"}, b.dir, "does not exist", fs.ErrNotExist},
		"folder as program":   {[]string{"/usr"}, b.dir, "is a folder", nil},
		"not executable":      {[]string{"./file"}, b.dir, "not marked as a program", fs.ErrPermission},
		"missing interpreter": {[]string{"./bad"}, b.dir, "/no/such/interpreter", fs.ErrNotExist},
		"odd interpreter":     {[]string{"./relative"}, b.dir, "not an absolute path", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Resolve(c.argv, c.dir, []string{"PATH=/usr/bin:/bin"}, false)
			var refused *ResolveError
			if !errors.As(err, &refused) || !strings.Contains(refused.Sentence, c.words) {
				t.Fatalf("got %v", err)
			}
			if c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("cause %v", refused.Err)
			}
		})
	}
}

func TestAProgramOnlyInAShimFolderIsExplained(t *testing.T) {
	shims := filepath.Join(t.TempDir(), "shims")
	if err := os.Mkdir(shims, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(shims, "odd-tool"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", shims+":/usr/bin")
	_, err := Resolve([]string{"odd-tool"}, t.TempDir(), nil, false)
	if err == nil || !strings.Contains(err.Error(), "It is in "+shims) {
		t.Fatalf("got %v", err)
	}
}

func TestScrubIsAnAllowList(t *testing.T) {
	got := Scrub([]string{
		"PATH=/usr/bin::relative:/no/such:/usr/bin:/bin", "LANG=C", "LC_ALL=C", "LC_x=1", "TERM=xterm", "USER=me", "HOME=/home/me",
		"AWS_SECRET_ACCESS_KEY=x", "GITHUB_TOKEN=x", "MY_API_KEY=x", "NODE_OPTIONS=x", "LD_PRELOAD=x", "LD_LIBRARY_PATH=x", "PYTHONPATH=x",
		"PYTHONSTARTUP=x", "BASH_ENV=x", "ENV=x", "PERL5OPT=x", "RUBYOPT=x", "GIT_SSH_COMMAND=x", "DBUS_SESSION_BUS_ADDRESS=x",
		"XDG_RUNTIME_DIR=x", "SSH_AUTH_SOCK=x", "DISPLAY=:0", "BASH_FUNC_ls%%=() { evil; }", "COUNTERSIGN_HOME=x", "IFS=x", "=x", "broken",
		"HTTPS_PROXY=http://proxy:1", "HTTP_PROXY=http://me:secret@proxy:1",
	}, false)
	want := []string{"HOME=/", "LANG=C", "LC_ALL=C", "PATH=/usr/bin:/bin", "TERM=xterm", "USER=me"}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %q", got)
	}
	got = Scrub([]string{"HTTPS_PROXY=http://proxy:1", "HTTP_PROXY=http://me:secret@proxy:1"}, true)
	if !slices.Contains(got, "HTTPS_PROXY=http://proxy:1") || strings.Contains(strings.Join(got, " "), "secret") {
		t.Fatalf("got %q", got)
	}
}

func TestPlanJSONIsStable(t *testing.T) {
	p := Plan{
		Argv: []string{"sh", "s"}, Program: "/bin/sh", Executable: "/bin/dash", ExecutableHash: "h", Interpreter: []string{}, Dir: "/d",
		EnvKeys: []string{"PATH"}, Operands: []Operand{{ArgIndex: 1, Path: "/d/s", SHA256: "x", Size: 2, Executed: true}}, Network: true,
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"argv":["sh","s"],"program":"/bin/sh","executable":"/bin/dash","executableHash":"h","interpreter":[],"interpreterHash":"","dir":"/d","envKeys":["PATH"],"operands":[{"argIndex":1,"path":"/d/s","sha256":"x","size":2,"modifiedNs":0,"executed":true}],"network":true}`
	if string(b) != want {
		t.Fatalf("got\n%s", b)
	}
	dir := t.TempDir()
	one, err1 := Resolve([]string{"ls", "-la"}, dir, nil, false)
	two, err2 := Resolve([]string{"ls", "-la"}, dir, nil, false)
	a, _ := json.Marshal(one)
	c, _ := json.Marshal(two)
	if err1 != nil || err2 != nil || string(a) != string(c) || strings.Contains(string(a), "null") {
		t.Fatalf("%s\n%s", a, c)
	}
}

func TestPipesAndDevicesAreNoOperands(t *testing.T) {
	b := newBed(t, NewRunner(Options{}))
	if err := mkfifo(filepath.Join(b.dir, "pipe")); err != nil {
		t.Fatal(err)
	}
	if p := b.plan("cat", "pipe", "/dev/zero", "/proc/self/environ", b.dir); len(p.Operands) != 0 {
		t.Fatalf("%+v", p.Operands)
	}
}

func TestOperandsAreBounded(t *testing.T) {
	b := newBed(t, NewRunner(Options{}))
	big, err := os.Create(filepath.Join(b.dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(big.Truncate(MaxOperandBytes+1), big.Close()); err != nil {
		t.Fatal(err)
	}
	p := b.plan("cat", "big")
	if o := p.Operands[0]; o.SHA256 != "" || o.ModifiedNs == 0 || o.Size != MaxOperandBytes+1 {
		t.Fatalf("%+v", o)
	}
	b.write("small", "x", 0o644)
	argv := slices.Concat([]string{"cat"}, slices.Repeat([]string{"small"}, MaxOperands+20))
	if p := b.plan(argv...); len(p.Operands) != MaxOperands {
		t.Fatalf("%d operands", len(p.Operands))
	}
}

func TestFindCode(t *testing.T) {
	files := []string{"s", "t", "./p", "-x"}
	isFile := func(arg string) bool { return slices.Contains(files, arg) }
	for line, want := range map[string][]int{
		"/bin/sh s":                        {1},
		"/bin/sh s t":                      {1},
		"/bin/bash -eu s":                  {2},
		"/bin/bash -o pipefail s":          {3},
		"/bin/bash +O extglob s":           {3},
		"/bin/bash -c s":                   nil,
		"/bin/bash -euc s":                 nil,
		"/bin/bash --rcfile t -i":          {2},
		"/bin/sh -- s":                     {2},
		"/bin/sh -s s":                     nil,
		"/usr/bin/python3.11 -u s t":       {2},
		"/usr/bin/python3 -W error s":      {3},
		"/usr/bin/python3 -Wmodule s":      {2},
		"/usr/bin/python3 -m s":            nil,
		"/usr/bin/python3 -Im s":           nil,
		"/usr/bin/python3 -":               nil,
		"/usr/bin/node -r s t":             {2, 3},
		"/usr/bin/node --require=s t":      {2},
		"/usr/bin/node -e s":               nil,
		"/usr/bin/perl -MData::Dumper s":   {2},
		"/usr/bin/perl -ne s t":            nil,
		"/usr/bin/awk -f s t":              {2},
		"/usr/bin/awk s t":                 nil,
		"/usr/bin/make -f s t":             {2},
		"/usr/bin/deno run --allow-read s": {3},
		"/usr/bin/env sh s":                {2},
		"/usr/bin/env -i A=1 sh s":         {4},
		"/usr/bin/env -u X ./p":            {3},
		"/usr/bin/timeout -k 1 5 sh s":     {5},
		"/usr/bin/nice -n 5 env ./p s":     {4},
		"/usr/bin/cat s t":                 nil,
		"/usr/bin/env":                     nil,
		"/bin/sh":                          nil,
	} {
		var got []int
		for _, c := range findCode(strings.Fields(line), 0, isFile) {
			got = append(got, c.index)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", line, got, want)
		}
	}
}

func TestParseShebang(t *testing.T) {
	for text, want := range map[string][]string{
		"#!/bin/sh\n": {"/bin/sh"}, "#! /bin/sh -e x \n": {"/bin/sh", "-e x"}, "#!/bin/sh\r\n": {"/bin/sh"},
		"#!/usr/bin/env\tpython3": {"/usr/bin/env", "python3"}, "#!": nil, "": nil, "\x7fELF": nil, "# !/bin/sh": nil,
	} {
		if got := parseShebang([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestInnerPlacesDecide(t *testing.T) {
	base := t.TempDir()
	for _, dir := range []string{"a/data/ws", "a/data/x"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	at := func(p string) string { return filepath.Join(base, p) }
	mounts := Place{
		Roots: []Root{{Path: at("a/data/ws"), Writable: true}, {Path: at("a")}, {Path: at("a/data")}, {Path: at("none")}},
		Hide:  []string{at("a/data")},
	}.mounts()
	for path, want := range map[string]bool{"a": true, "a/b": true, "a/data": false, "a/data/x": false, "a/data/ws": true, "a/data/ws/f": true, "a/database": true, "b": false} {
		if got := visible(mounts, nil, at(path)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestGuardsAreTheFoldersBetween(t *testing.T) {
	mounts := []mount{
		{path: "/r", writable: true}, {path: "/q"}, {path: "/q/a/data", hidden: true}, {path: "/r/data", hidden: true},
		{path: "/r/a/b/data", hidden: true}, {path: "/r/a/c/data", hidden: true}, {path: "/r/a/c/data/ws", writable: true},
	}
	if got := guards(mounts); !slices.Equal(got, []string{"/r/a", "/r/a/b", "/r/a/c"}) {
		t.Fatalf("got %q", got)
	}
}
