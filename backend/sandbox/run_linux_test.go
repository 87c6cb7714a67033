package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestACommandRunsAndReportsHowItEnded(t *testing.T) {
	onEach(t, func(t *testing.T, r *Runner) {
		b := newBed(t, r)
		res := b.run("sh", "-c", "echo out; echo err >&2; exit 7")
		if res.ExitCode != 7 || res.Stdout != "out\n" || res.Stderr != "err\n" || res.TimedOut || res.Stopped || res.Duration <= 0 {
			t.Fatalf("%+v", res)
		}
		if res.Mechanism != r.Status().Mechanism {
			t.Fatalf("mechanism %q", res.Mechanism)
		}
		b.wantOutput(b.run("pwd"), b.dir+"\n")
		b.wantOutput(b.run("sh", "-c", "echo hello > made; cat made"), "hello\n")
		if text, err := os.ReadFile(filepath.Join(b.dir, "made")); err != nil || string(text) != "hello\n" {
			t.Fatalf("%q, %v", text, err)
		}
	})
}

func TestInputReachesTheCommandAndNeedNotBeRead(t *testing.T) {
	onEach(t, func(t *testing.T, r *Runner) {
		b := newBed(t, r)
		big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		spec := Spec{Plan: b.plan("wc", "-c"), Place: b.place, Stdin: big}
		res, err := r.Run(context.Background(), spec, nil)
		if err != nil || strings.TrimSpace(res.Stdout) != "1048576" {
			t.Fatalf("%+v, %v", res, err)
		}
		spec.Plan = b.plan("true")
		if res, err = r.Run(context.Background(), spec, nil); err != nil || res.ExitCode != 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		// Without input a command reads the end at once and does not wait for a terminal.
		b.wantOutput(b.run("cat"), "")
	})
}

// stubborn is a tree that ignores SIGTERM, with a grandchild in a session of its
// own that has also become an orphan.
const stubborn = `trap '' TERM
setsid sh -c 'trap "" TERM; (trap "" TERM; sleep 300 MARK-a) & sleep 300 MARK-b' MARK &
(setsid sh -c 'trap "" TERM; while :; do sleep 300; done' MARK >/dev/null 2>&1 </dev/null &) 
echo ready
while :; do sleep 300 MARK-c; done`

func TestStopEndsTheWholeTreeWithinTwoSeconds(t *testing.T) {
	onEach(t, func(t *testing.T, r *Runner) {
		b := newBed(t, r)
		// sleep takes no word, so the marker is in the names of shells only.
		marker := "marker" + rand.Text()
		script := strings.NewReplacer("MARK-a", "", "MARK-b", "", "MARK-c", "", "MARK", marker).Replace(stubborn)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ready := make(chan struct{})
		var once sync.Once
		type end struct {
			res Result
			err error
		}
		ended := make(chan end, 1)
		go func() {
			res, err := r.Run(ctx, Spec{Plan: b.plan("sh", "-c", script, marker), Place: b.place}, func(Chunk) { once.Do(func() { close(ready) }) })
			ended <- end{res, err}
		}()
		select {
		case <-ready:
		case e := <-ended:
			t.Fatalf("ended early: %+v", e)
		case <-time.After(20 * time.Second):
			t.Fatal("the command did not start")
		}
		if !poll(10*time.Second, func() bool { return len(alive(marker)) >= 3 }) {
			t.Fatalf("the tree is not there: %q", alive(marker))
		}
		start := time.Now()
		cancel()
		e := <-ended
		took := time.Since(start)
		if e.err != nil || !e.res.Stopped || e.res.TimedOut {
			t.Fatalf("%+v, %v", e.res, e.err)
		}
		if took > 2*time.Second {
			t.Errorf("stop took %v", took)
		}
		if left := alive(marker); len(left) > 0 {
			t.Errorf("left behind after %v: %q", took, left)
		}
	})
}

func TestStopLetsACommandTidyUp(t *testing.T) {
	onEach(t, func(t *testing.T, r *Runner) {
		b := newBed(t, r)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var once sync.Once
		plan := b.plan("sh", "-c", `trap "echo tidied > done; exit 0" TERM; echo ready; while :; do sleep 0.05; done`)
		res, err := r.Run(ctx, Spec{Plan: plan, Place: b.place}, func(Chunk) { once.Do(cancel) })
		if err != nil || !res.Stopped {
			t.Fatalf("%+v, %v", res, err)
		}
		if text, err := os.ReadFile(filepath.Join(b.dir, "done")); err != nil || string(text) != "tidied\n" {
			t.Fatalf("%q, %v", text, err)
		}
	})
}

func TestWhatACommandLeavesBehindEndsWithIt(t *testing.T) {
	onEach(t, func(t *testing.T, r *Runner) {
		b := newBed(t, r)
		marker := "marker" + rand.Text()
		start := time.Now()
		res := b.run("sh", "-c", `setsid sh -c 'while :; do sleep 300; done' `+marker+` >/dev/null 2>&1 & sh -c 'while :; do sleep 300; done' `+marker+` & echo gone`)
		if res.ExitCode != 0 || res.Stdout != "gone\n" {
			t.Fatalf("%+v", res)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("Run waited %v for background processes", d)
		}
		if left := alive(marker); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

func TestATimeoutEndsTheCommand(t *testing.T) {
	onEach(t, func(t *testing.T, r *Runner) {
		b := newBed(t, r)
		start := time.Now()
		res, err := r.Run(context.Background(), Spec{Plan: b.plan("sh", "-c", "trap '' TERM; echo on; while :; do sleep 300; done"), Place: b.place, Timeout: 300 * time.Millisecond}, nil)
		if err != nil || !res.TimedOut || res.Stopped || res.Stdout != "on\n" {
			t.Fatalf("%+v, %v", res, err)
		}
		if d := time.Since(start); d > 300*time.Millisecond+2*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

func TestAFailedSandboxIsAnErrorAndNotAnOutcome(t *testing.T) {
	b := boxed(t)
	m := b.runner.mechanism()
	m.options = append([]string{"--ro-bind", "/no/such/folder", "/x"}, m.options...)
	b.runner.start = func(_ context.Context, _ detected, q request) (*process, error) {
		return startBubblewrap(context.Background(), m, q)
	}
	_, err := b.runner.Run(context.Background(), Spec{Plan: b.plan("true"), Place: b.place}, nil)
	if err == nil || !strings.Contains(err.Error(), "/no/such/folder") {
		t.Fatalf("got %v", err)
	}
	// What the command itself cannot do is its outcome.
	b = boxed(t)
	if res := b.run("sh", "-c", "echo 'bwrap: no' >&2; exit 1"); res.ExitCode != 1 {
		t.Fatalf("%+v", res)
	}
}

func TestACancelledContextStartsNothing(t *testing.T) {
	b := boxed(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	res, err := b.runner.Run(ctx, Spec{Plan: b.plan("sh", "-c", "echo x > made"), Place: b.place}, nil)
	if err != nil || !res.Stopped {
		t.Fatalf("%+v, %v", res, err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "made")); err == nil {
		t.Fatal("it ran")
	}
}

// parentVariable makes the test binary a parent that is going to be killed.
const parentVariable = "COUNTERSIGN_TEST_PARENT"

func TestMain(m *testing.M) {
	if way := os.Getenv(parentVariable); way != "" {
		beParent(way, os.Getenv("COUNTERSIGN_TEST_DIR"), os.Getenv("COUNTERSIGN_TEST_MARKER"))
		return
	}
	os.Exit(m.Run())
}

func beParent(way, dir, marker string) {
	r := NewRunner(Options{})
	switch way {
	case "namespace":
		r.detect = none
		r.start = func(_ context.Context, _ detected, q request) (*process, error) { return startInNamespace(q) }
	case "marked":
		r.detect = none
		r.start = func(_ context.Context, _ detected, q request) (*process, error) { return startMarked(q) }
	}
	p, err := Resolve([]string{"sh", "-c", "sh -c 'trap \"\" TERM; while :; do sleep 300; done' " + marker + " & trap '' TERM; while :; do sleep 300; done", marker}, dir, nil, false)
	if err != nil {
		panic(err)
	}
	_, _ = r.Run(context.Background(), Spec{Plan: p, Place: Place{Roots: []Root{{Path: dir, Writable: true}}}}, nil)
}

func TestCommandsEndWhenTheirParentIsKilled(t *testing.T) {
	onEach(t, func(t *testing.T, r *Runner) {
		way := filepath.Base(t.Name())
		marker := "marker" + rand.Text()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		parent := exec.Command(self)
		parent.Env = append(os.Environ(), parentVariable+"="+way, "COUNTERSIGN_TEST_DIR="+t.TempDir(), "COUNTERSIGN_TEST_MARKER="+marker)
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		started := poll(20*time.Second, func() bool { return len(alive(marker)) >= 2 })
		if err := parent.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = parent.Wait()
		if !started {
			t.Fatal("the command did not start")
		}
		if !poll(2*time.Second, func() bool { return len(alive(marker)) == 0 }) {
			t.Fatalf("left behind: %q", alive(marker))
		}
	})
}

func TestNothingIsLeftOfASandboxWhoseParentIsKilledWhileItIsSetUp(t *testing.T) {
	needBubblewrap(t, NewRunner(Options{}))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		marker := "marker" + rand.Text()
		parent := exec.Command(self)
		parent.Env = append(os.Environ(), parentVariable+"=bubblewrap", "COUNTERSIGN_TEST_DIR="+t.TempDir(), "COUNTERSIGN_TEST_MARKER="+marker)
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); len(alive(marker)) == 0; {
			if time.Now().After(deadline) {
				t.Error("the sandbox did not start")
				break
			}
		}
		_ = parent.Process.Kill()
		_ = parent.Wait()
		if !poll(5*time.Second, func() bool { return len(alive(marker)) == 0 }) {
			t.Fatalf("left behind: %q", alive(marker))
		}
	}
}

func TestNoNetworkUnlessThePlanSaysSo(t *testing.T) {
	b := boxed(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	argv := []string{"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/" + port + " && echo connected"}
	if res := b.run(argv...); res.ExitCode == 0 || strings.Contains(res.Stdout, "connected") {
		t.Fatalf("the command reached the host: %+v", res)
	}
	p, err := Resolve(argv, b.dir, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	b.wantOutput(b.runPlan(p), "connected\n")
}

func TestAbstractSocketsOfTheHostStayOutOfReach(t *testing.T) {
	b := boxed(t)
	needPython(t, b)
	name := "countersign-test-" + rand.Text()
	listener, err := net.Listen("unix", "@"+name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	code := "import socket\ns=socket.socket(socket.AF_UNIX)\ntry:\n s.connect('\\0" + name + "'); print('connected')\nexcept OSError as e: print('refused')"
	for _, network := range []bool{false, true} {
		p, err := Resolve([]string{"python3", "-c", code}, b.dir, nil, network)
		if err != nil {
			t.Fatal(err)
		}
		b.wantOutput(b.runPlan(p), "refused\n")
	}
}

func needPython(t *testing.T, b *bed) {
	t.Helper()
	if _, err := Resolve([]string{"python3", "-V"}, b.dir, nil, false); err != nil {
		t.Skipf("python3 is needed: %v", err)
	}
}

func TestTheFilterForOlderKernelsRefusesUnixSockets(t *testing.T) {
	b := boxed(t)
	needPython(t, b)
	code := "import socket\ntry:\n socket.socket(socket.AF_UNIX); print('open')\nexcept OSError: print('refused')\nsocket.socket(socket.AF_INET); socket.socketpair(); print('ok')"
	cmd := exec.Command("/usr/bin/python3", "-c", code)
	out := make(chan []byte, 1)
	go func() {
		runtime.LockOSThread() // given up with its filter
		if err := prepareFilter(); err != nil {
			out <- []byte(err.Error())
			return
		}
		text, err := cmd.CombinedOutput()
		if err != nil {
			text = append(text, err.Error()...)
		}
		out <- text
	}()
	if got := string(<-out); got != "refused\nok\n" {
		t.Fatalf("got %q", got)
	}
}

func prepareFilter() error {
	if err := setNoNewPrivileges(); err != nil {
		return err
	}
	return denyUnixSockets()
}

func TestTheOwnersThingsAreInvisible(t *testing.T) {
	b := boxed(t)
	home := t.TempDir()
	secretFile := filepath.Join(home, "private")
	if err := os.WriteFile(secretFile, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(b.dir, "data")
	b.write("data/state.db", "canary", 0o600)
	b.write("plain", "canary-single", 0o600)
	inner := filepath.Join(data, "workspace")
	b.write("data/workspace/note", "visible", 0o600)
	b.place.Hide = []string{data, filepath.Join(b.dir, "plain"), filepath.Join(b.dir, "missing")}
	b.place.Roots = append(b.place.Roots, Root{Path: inner})
	t.Setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
	t.Setenv("HOME", home)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+secretFile)
	t.Setenv("XDG_RUNTIME_DIR", home)
	t.Setenv("SERVICE_API_KEY", "canary")
	t.Setenv("NODE_OPTIONS", "--require=canary")
	t.Setenv("BASH_ENV", secretFile)
	for name, script := range map[string]string{
		"home":           "cat " + secretFile,
		"own home":       `test "$HOME" != "` + home + `" && ls -A "$HOME"`,
		"root's home":    "ls -A /root",
		"data directory": "cat data/state.db; find data -name state.db -exec cat {} +",
		"hidden file":    "cat plain",
		"environment":    "env; cat /proc/*/environ | tr '\\0' '\\n'",
		"other process":  "ls /proc | grep -x " + itoa(os.Getpid()) + "; cat /proc/*/cmdline | tr '\\0' ' ' | grep -o 'sandbox[.]tes.'",
		"runtime":        "ls -A /run/user; ls /run/dbus",
		"passwords":      "cat /etc/shadow /etc/gshadow",
		"kernel":         "ls /sys/kernel; ls /boot",
		"temporary":      "ls -A /tmp | grep -v '^" + strings.Split(strings.TrimPrefix(b.dir, "/tmp/"), "/")[0] + "$'",
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			res := b.run("sh", "-c", script)
			for _, word := range []string{"canary", "DBUS", "NODE_OPTIONS", "XDG_RUNTIME", "BASH_ENV", "COUNTERSIGN"} {
				if strings.Contains(res.Stdout, word) {
					t.Errorf("%q shows %q", res.Stdout, word)
				}
			}
			if name != "environment" && strings.TrimSpace(res.Stdout) != "" {
				t.Errorf("shows %q", res.Stdout)
			}
		})
	}
	b.t = t
	b.wantOutput(b.run("cat", "data/workspace/note"), "visible")
	for _, script := range []string{"echo x > data/workspace/new", "echo x > data/new", "mv data data2", "rm plain", "echo x > /usr/x", "echo x > /etc/x", "echo x > /x", "mkdir /home/other"} {
		if res := b.run("sh", "-c", script); res.ExitCode == 0 {
			t.Errorf("%q was possible", script)
		}
	}
	if text, err := os.ReadFile(filepath.Join(data, "state.db")); err != nil || string(text) != "canary" {
		t.Fatalf("the hidden file is now %q, %v", text, err)
	}
}

func TestWhatIsHiddenCannotBeMovedIntoView(t *testing.T) {
	b := boxed(t)
	b.write("a/b/data/state.db", "canary", 0o600)
	b.write("a/free", "x", 0o600)
	b.write("a/ro/kept", "x", 0o600)
	b.place.Hide = []string{filepath.Join(b.dir, "a/b/data")}
	b.place.Roots = append(b.place.Roots, Root{Path: filepath.Join(b.dir, "a/ro")})
	for _, script := range []string{"mv a moved", "mv a/b a/moved", "mv a/b/data a/b/moved", "rm -rf a", "mv a/b .", "echo y > a/ro/kept"} {
		if res := b.run("sh", "-c", script); res.ExitCode == 0 {
			t.Errorf("%q was possible", script)
		}
	}
	if res := b.run("sh", "-c", "grep -rs canary . ; echo y > a/new && echo z > a/b/new && mv a/new a/b/other && cat a/b/other"); res.Stdout != "y\n" {
		t.Errorf("%+v", res)
	}
	if text, err := os.ReadFile(filepath.Join(b.dir, "a/b/data/state.db")); err != nil || string(text) != "canary" {
		t.Fatalf("%q, %v", text, err)
	}
}

func TestAReadOnlyRootCannotBeChanged(t *testing.T) {
	b := boxed(t)
	b.write("note", "text", 0o666)
	b.place.Roots[0].Writable = false
	if res := b.run("sh", "-c", "cat note; echo x >> note"); res.Stdout != "text" || res.ExitCode == 0 {
		t.Fatalf("%+v", res)
	}
}

func TestACommandOutsideItsPlaceIsRefusedInWords(t *testing.T) {
	b := boxed(t)
	elsewhere := t.TempDir()
	script := filepath.Join(elsewhere, "s.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho x\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	outside, err := Resolve([]string{"pwd"}, elsewhere, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]Plan{"folder": outside, "program": b.plan(script), "script": b.plan("sh", script)} {
		_, err := b.runner.Run(context.Background(), Spec{Plan: p, Place: b.place}, nil)
		var refused *ResolveError
		if !errors.As(err, &refused) || !strings.Contains(refused.Sentence, "may use") {
			t.Errorf("%s: %v", name, err)
		}
	}
	whole := Place{Roots: []Root{{Path: "/", Writable: true}}}
	if _, err := b.runner.Run(context.Background(), Spec{Plan: b.plan("pwd"), Place: whole}, nil); err == nil {
		t.Error("the whole disk was given")
	}
}

func TestOrdinaryToolsWorkInside(t *testing.T) {
	b := boxed(t)
	b.write("a.txt", "b\na\n", 0o644)
	b.wantOutput(b.run("sort", "a.txt"), "a\nb\n")
	b.wantOutput(b.run("sh", "-c", "echo x > \"$HOME/f\" && cat \"$HOME/f\" && mktemp -d >/dev/null && id -u >/dev/null && echo $((1+1)) | tee /dev/null"), "x\n2\n")
	b.wantOutput(b.run("sed", "-i", "s/b/c/", "a.txt"), "")
	if text, _ := os.ReadFile(filepath.Join(b.dir, "a.txt")); string(text) != "c\na\n" {
		t.Fatalf("sed -i left %q", text)
	}
	if _, err := exec.LookPath("git"); err == nil {
		if res := b.run("git", "init", "-q", "repo"); res.ExitCode != 0 {
			t.Fatalf("git: %+v", res)
		}
	}
}

func TestAHundredMegabytesNeedLittleMemory(t *testing.T) {
	onEach(t, func(t *testing.T, r *Runner) {
		b := newBed(t, r)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var seen int
		res, err := r.Run(context.Background(), Spec{Plan: b.plan("sh", "-c", "echo begin; head -c 104857600 /dev/zero; echo end"), Place: b.place, MaxOutput: 10_000}, func(c Chunk) { seen += len(c.Text) })
		if err != nil || res.ExitCode != 0 {
			t.Fatalf("%+v, %v", res.ExitCode, err)
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
			t.Errorf("%d bytes were allocated", grown)
		}
		if !strings.HasPrefix(res.Stdout, "begin\n") || !strings.HasSuffix(res.Stdout, "end\n") || !strings.Contains(res.Stdout, "bytes left out") {
			t.Errorf("head %q, tail %q", res.Stdout[:20], res.Stdout[len(res.Stdout)-20:])
		}
		if res.TruncatedBytes != 104857600+10-10_000 {
			t.Errorf("%d bytes cut", res.TruncatedBytes)
		}
		if seen == 0 || seen > 40_000 {
			t.Errorf("%d bytes shown live", seen)
		}
	})
}
