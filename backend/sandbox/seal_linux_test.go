package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAScriptSeesItsNameItsFolderAndItsNeighbours(t *testing.T) {
	const (
		shell = "#!/bin/sh\necho \"$0\" \"$@\"\ncat \"$(dirname \"$0\")/beside\"\n"
		bash  = "#!/bin/bash\nset -eu\nhere=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\n[[ ${BASH_SOURCE[0]} == \"$0\" ]] && echo main \"$@\"\ncat \"$here/beside\" \"$here/../top\"\n"
		py    = "import os, sys, helper\nif __name__ == '__main__':\n    print(sys.argv, helper.x, os.path.basename(__file__))\n    open(os.path.join(os.path.dirname(__file__), 'made'), 'w').write('x')\n"
		node  = "const h = require('./helper.js'); console.log(process.argv.slice(2).join(), h)\n"
	)
	onEach(t, func(t *testing.T, r *Runner) {
		b := newBed(t, r)
		b.write("top", "top\n", 0o644)
		b.write("sub/beside", "beside\n", 0o644)
		b.write("sub/s.sh", shell, 0o755)
		b.write("sub/b.sh", bash, 0o755)
		b.write("sub/helper.py", "x = 42\n", 0o644)
		b.write("sub/p.py", py, 0o644)
		b.write("sub/e.py", "#!/usr/bin/env python3\n"+py, 0o755)
		b.write("sub/helper.js", "module.exports = 42\n", 0o644)
		b.write("sub/n.js", node, 0o644)
		b.wantOutput(b.run("sh", "sub/s.sh", "a b", "c"), "sub/s.sh a b c\nbeside\n")
		b.wantOutput(b.run("sh", "-eu", "sub/s.sh"), "sub/s.sh\nbeside\n")
		b.wantOutput(b.run("sub/s.sh", "a"), b.dir+"/sub/s.sh a\nbeside\n")
		b.wantOutput(b.run("bash", "sub/b.sh", "x"), "main x\nbeside\ntop\n")
		b.wantOutput(b.run("sub/b.sh", "x"), "main x\nbeside\ntop\n")
		b.wantOutput(b.run("timeout", "20", "sub/b.sh", "x"), "main x\nbeside\ntop\n")
		b.wantOutput(b.run("env", "A=1", "nice", "-n", "1", "sh", "sub/s.sh"), "sub/s.sh\nbeside\n")
		if _, err := Resolve([]string{"python3"}, b.dir, nil, false); err == nil {
			b.wantOutput(b.run("python3", "sub/p.py", "a b"), "['sub/p.py', 'a b'] 42 p.py\n")
			b.wantOutput(b.run("python3", "-u", "-W", "ignore", "sub/p.py"), "['sub/p.py'] 42 p.py\n")
			if _, err := os.Stat(filepath.Join(b.dir, "sub/made")); err != nil {
				t.Errorf("the script could not write beside itself: %v", err)
			}
			res := b.run("sub/e.py")
			if res.ExitCode != 0 || !strings.Contains(res.Stdout, "42 e.py") {
				t.Errorf("%+v", res)
			}
			b.write("sub/f.py", "import sys\nsys.exit(3)\n", 0o644)
			if res := b.run("python3", "sub/f.py"); res.ExitCode != 3 {
				t.Errorf("%+v", res)
			}
			b.write("sub/t.py", "def f():\n    raise ValueError('here')\nf()\n", 0o644)
			if res := b.run("python3", "sub/t.py"); !strings.Contains(res.Stderr, "sub/t.py\", line 2, in f") {
				t.Errorf("traceback %q", res.Stderr)
			}
		}
		if _, err := Resolve([]string{"node"}, b.dir, nil, false); err == nil {
			b.wantOutput(b.run("node", "sub/n.js", "a"), "a 42\n")
		}
	})
}

func TestProgramsOfTheWorkspaceRunFromACopy(t *testing.T) {
	onEach(t, func(t *testing.T, r *Runner) {
		b := newBed(t, r)
		program, err := os.ReadFile("/bin/echo")
		if err != nil {
			t.Fatal(err)
		}
		b.write("bin/say", string(program), 0o755)
		b.wantOutput(b.run("bin/say", "hi"), "hi\n")
		b.wantOutput(b.run("timeout", "20", "./bin/say", "hi"), "hi\n")
		if err := os.Symlink("/bin/echo", filepath.Join(b.dir, "bin/linked")); err != nil {
			t.Fatal(err)
		}
		b.wantOutput(b.run("bin/linked", "hi"), "hi\n")
	})
}

func TestAVirtualEnvironmentStaysOne(t *testing.T) {
	onEach(t, func(t *testing.T, r *Runner) {
		b := newBed(t, r)
		needPython(t, b)
		if err := os.MkdirAll(filepath.Join(b.dir, "venv/bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/usr/bin/python3", filepath.Join(b.dir, "venv/bin/python")); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat("/usr/bin/python3"); err != nil {
			t.Skip("the system has no /usr/bin/python3")
		}
		b.write("venv/pyvenv.cfg", "home = /usr/bin\n", 0o644)
		b.write("s.py", "import sys\nprint(sys.prefix != sys.base_prefix)\n", 0o644)
		b.wantOutput(b.run("venv/bin/python", "s.py"), "True\n")
		b.write("tool", "#!"+b.dir+"/venv/bin/python\nimport sys\nprint(sys.prefix != sys.base_prefix)\n", 0o755)
		b.wantOutput(b.run("./tool"), "True\n")
	})
}

func TestACopyIsFixedWhenItIsMade(t *testing.T) {
	// The window between the check and the interpreter's opening of the file is
	// held open by a start that waits for the change.
	onEach(t, func(t *testing.T, r *Runner) {
		for name, argv := range map[string][]string{
			"shell": {"sh", "s.sh"}, "direct": {"./s.sh"}, "bash": {"bash", "b.sh"}, "other": {"perl", "s.pl"},
		} {
			for how, swap := range map[string]func(*bed, string){
				"written": func(b *bed, name string) { b.write(name, "echo evil\n", 0o755) },
				"replaced": func(b *bed, name string) {
					evil := b.write("evil", "echo evil\n", 0o755)
					if err := os.Rename(evil, filepath.Join(b.dir, name)); err != nil {
						b.t.Fatal(err)
					}
				},
				"moved": func(b *bed, name string) {
					if err := os.Rename(b.dir, b.dir+"-away"); err != nil {
						b.t.Fatal(err)
					}
					b.write(name, "echo evil\n", 0o755)
				},
			} {
				t.Run(name+" "+how, func(t *testing.T) {
					if _, err := exec.LookPath(argv[0]); err != nil && argv[0] == "perl" {
						t.Skip("perl is not installed")
					}
					b := newBed(t, r)
					b.dir = filepath.Join(b.dir, "work")
					b.place.Roots[0].Path = b.dir
					b.write("s.sh", "#!/bin/sh\necho good\n", 0o755)
					b.write("b.sh", "echo ${BASH_SOURCE[0]:+good}\n", 0o755)
					b.write("s.pl", "print \"good\\n\";\n", 0o755)
					p := b.plan(argv...)
					inner := r.start
					defer func() { r.start = inner }()
					r.start = func(ctx context.Context, m detected, q request) (*process, error) {
						swap(b, filepath.Base(argv[len(argv)-1]))
						return inner(ctx, m, q)
					}
					res, err := r.Run(context.Background(), Spec{Plan: p, Place: b.place}, nil)
					if err != nil {
						t.Fatal(err)
					}
					b.wantOutput(res, "good\n")
				})
			}
		}
	})
}

func TestChangedContentNeverRuns(t *testing.T) {
	r := NewRunner(Options{})
	if r.Status().Mechanism == MechanismNone {
		t.Skip("no sandbox on this machine; the copies are the same without one")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := mathrand.New(mathrand.NewPCG(seed, 1))
	b := newBed(t, r)
	ran, refused := 0, 0
	for try := range 200 {
		// Both write the same file at the end, so that what ran can be told.
		path := b.write("s.sh", "#!/bin/sh\necho good\n", 0o755)
		argv := [][]string{{"sh", "s.sh"}, {"./s.sh"}, {"bash", "s.sh"}, {"env", "sh", "s.sh"}}[try%4]
		p := b.plan(argv...)
		delay := time.Duration(rng.IntN(10_000)) * time.Microsecond
		if try%10 == 0 {
			delay = 0
		}
		inPlace := rng.IntN(2) == 0
		var swapped sync.WaitGroup
		swapped.Go(func() {
			if delay > 0 {
				<-time.After(delay)
			}
			if inPlace {
				_ = os.WriteFile(path, []byte("#!/bin/sh\necho evil\n"), 0o755)
				return
			}
			other := path + ".new"
			_ = os.WriteFile(other, []byte("#!/bin/sh\necho evil\n"), 0o755)
			_ = os.Rename(other, path)
		})
		if delay == 0 {
			swapped.Wait()
		}
		res, err := r.Run(context.Background(), Spec{Plan: p, Place: b.place}, nil)
		swapped.Wait()
		var changed *PlanChangedError
		switch {
		case errors.As(err, &changed):
			refused++
			if !errors.Is(err, ErrPlanChanged) || len(changed.Differences) == 0 || !strings.Contains(err.Error(), "s.sh") {
				t.Fatalf("unclear refusal: %v", err)
			}
		case err != nil:
			t.Fatal(err)
		case res.Stdout != "good\n" || res.ExitCode != 0:
			t.Fatalf("try %d, %q: ran %+v", try, argv, res)
		default:
			ran++
		}
	}
	t.Logf("%d ran what was approved, %d were refused", ran, refused)
	if ran == 0 || refused == 0 {
		t.Errorf("%d ran, %d refused: the race was not met from both sides", ran, refused)
	}
}

func TestEachChangeIsNamed(t *testing.T) {
	b := newBed(t, NewRunner(Options{}))
	cases := map[string]struct {
		argv   []string
		change func()
		words  string
	}{
		"operand":     {[]string{"cat", "data"}, func() { b.write("data", "two", 0o644) }, "data has other content"},
		"operand new": {[]string{"cat", "later"}, func() { b.write("later", "x", 0o644) }, "exists now"},
		"operand gone": {[]string{"cat", "data"}, func() {
			if err := os.Remove(filepath.Join(b.dir, "data")); err != nil {
				t.Fatal(err)
			}
		}, "is gone"},
		"option":        {[]string{"sort", "--files0-from=data"}, func() { b.write("data", "two", 0o644) }, "data has other content"},
		"program":       {[]string{"./tool"}, func() { b.write("tool", "#!/bin/sh\necho two\n", 0o755) }, "tool has other content"},
		"interpreter":   {[]string{"./tool"}, func() { b.write("tool", "#!/bin/bash\necho\n", 0o755) }, "another interpreter"},
		"not a program": {[]string{"./tool"}, func() { b.write("tool", "", 0o644) }, "not marked as a program"},
		"folder": {[]string{"ls"}, func() {
			if err := os.RemoveAll(b.dir); err != nil {
				t.Fatal(err)
			}
		}, "does not exist"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b.dir = filepath.Join(t.TempDir(), "w")
			b.place.Roots = []Root{{Path: b.dir, Writable: true}}
			b.write("data", "one", 0o644)
			b.write("tool", "#!/bin/sh\necho\n", 0o755)
			p := b.plan(c.argv...)
			c.change()
			_, err := b.runner.Run(context.Background(), Spec{Plan: p, Place: b.place}, nil)
			if name == "folder" {
				// A folder that is gone is no place any more.
				if err == nil {
					t.Fatal("it ran")
				}
				return
			}
			if !errors.Is(err, ErrPlanChanged) || !strings.Contains(err.Error(), c.words) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestAnotherEnvironmentIsAnotherPlan(t *testing.T) {
	b := newBed(t, NewRunner(Options{}))
	b.env = []string{"PATH=/usr/bin:/bin"}
	p := b.plan("true")
	_, err := b.runner.Run(context.Background(), Spec{Plan: p, Place: b.place, Env: append(b.env, "LC_ALL=C")}, nil)
	if !errors.Is(err, ErrPlanChanged) {
		t.Fatalf("got %v", err)
	}
}

func TestPlanHashesWhatOthersMayChange(t *testing.T) {
	b := newBed(t, NewRunner(Options{}))
	path := b.write("s.sh", "#!/bin/sh -e\n", 0o755)
	sum := sha256.Sum256([]byte("#!/bin/sh -e\n"))
	want := hex.EncodeToString(sum[:])
	p := b.plan(path)
	if p.ExecutableHash != want || p.Executable != path || strings.Join(p.Interpreter, "|") != "/bin/sh|-e" || p.InterpreterHash != "" {
		t.Fatalf("%+v", p)
	}
	p = b.plan("sh", "s.sh", "/etc", "--x=s.sh")
	if p.ExecutableHash != "" || p.Program != "/usr/bin/sh" || len(p.Operands) != 2 {
		t.Fatalf("%+v", p)
	}
	if o := p.Operands[0]; o.SHA256 != want || !o.Executed || o.ArgIndex != 1 || o.Size != 13 {
		t.Fatalf("%+v", o)
	}
	if o := p.Operands[1]; o.Executed || o.ArgIndex != 3 || o.Path != path {
		t.Fatalf("%+v", o)
	}
}
