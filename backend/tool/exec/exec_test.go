package exec_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/backend/protocol"
	"countersign/backend/sandbox"
	"countersign/backend/tool"
	toolexec "countersign/backend/tool/exec"
	"countersign/backend/tool/tooltest"
)

// fakeRunner keeps what it was asked to run and answers as told. It refuses a
// plan whose executable is gone, as the real one does.
type fakeRunner struct {
	mu        sync.Mutex
	mechanism sandbox.Mechanism
	specs     []sandbox.Spec
	chunks    []sandbox.Chunk
	result    sandbox.Result
	err       error
	// hang waits for the context, as a command that does not end.
	hang bool
	// started is closed when a hanging run has begun.
	started chan struct{}
}

func (f *fakeRunner) Status() sandbox.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mechanism == "" {
		return sandbox.Status{Mechanism: sandbox.MechanismBubblewrap, Reason: "It works."}
	}
	return sandbox.Status{Mechanism: f.mechanism, Reason: "There is no bubblewrap."}
}

func (f *fakeRunner) Run(ctx context.Context, s sandbox.Spec, out func(sandbox.Chunk)) (sandbox.Result, error) {
	f.mu.Lock()
	f.specs = append(f.specs, s)
	chunks, result, err, hang := f.chunks, f.result, f.err, f.hang
	f.mu.Unlock()
	if err != nil {
		return sandbox.Result{}, err
	}
	for _, c := range chunks {
		out(c)
	}
	if hang {
		close(f.started)
		<-ctx.Done()
		result.Stopped = true
		result.ExitCode, result.Signal = -1, "killed"
	}
	return result, nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func plan(t *testing.T, one tool.Tool, g *tooltest.Ground, args string) tool.Plan {
	t.Helper()
	r, err := tool.NewRegistry(one)
	must(t, err)
	checked, err := r.Check("exec", json.RawMessage(args))
	must(t, err)
	p, err := one.Plan(context.Background(), g.Env, checked)
	must(t, err)
	return p
}

func TestSuite(t *testing.T) {
	tooltest.Run(t, tooltest.Subject{
		New: func() tool.Tool { return toolexec.New(&fakeRunner{}, nil) },
		Cases: []tooltest.Case{
			{Name: "plain", Args: `{"argv":["ls","-la"]}`},
			{Name: "in a folder", Args: `{"argv":["cat","leaf.txt"],"cwd":"sub/deep","stdin":"x","timeoutSeconds":5}`},
		},
		PathArgs: func(path string) string { return tooltest.Args("argv", []string{"ls"}, "cwd", path) },
		Folder:   true,
	})
}

func TestPlanShowsWhatWillRun(t *testing.T) {
	g := tooltest.NewGround(t)
	p := plan(t, toolexec.New(&fakeRunner{}, nil), g, `{"argv":["ls","-la","my file"],"cwd":"sub","stdin":"abc"}`)
	real, err := exec.LookPath("ls")
	must(t, err)
	real, err = filepath.EvalSymlinks(real)
	must(t, err)
	c := p.Card
	if c.Sentence != "Run ls -la 'my file' in sub with 3 bytes of input" || p.Target != "ls -la 'my file'" {
		t.Errorf("sentence %q, target %q", c.Sentence, p.Target)
	}
	if !slices.Equal(c.Argv, []string{"ls", "-la", "my file"}) || c.Cwd != g.Workspace+"/sub" || c.Resolved != real || c.Input != "abc" {
		t.Errorf("card %+v", c)
	}
	if c.HighRisk || c.Truncated || p.Outward {
		t.Errorf("high risk %v, truncated %v, outward %v", c.HighRisk, c.Truncated, p.Outward)
	}
	want := []string{
		"Can read and change the workspace (" + g.Workspace + ").", "Can read and change " + g.Added + ".", "Can read " + g.Shelf + ".",
		"The network is off.", "Nothing else of yours is visible to it (bubblewrap).",
	}
	if !slices.Equal(c.Reach, want) {
		t.Errorf("reach %q", c.Reach)
	}
	if string(p.Args) != `{"argv":["ls","-la","my file"],"cwd":"sub","stdin":"abc","timeoutSeconds":60}` {
		t.Errorf("args %s", p.Args)
	}
}

func TestWithoutSandboxTheCardSaysSo(t *testing.T) {
	g := tooltest.NewGround(t)
	p := plan(t, toolexec.New(&fakeRunner{mechanism: sandbox.MechanismNone}, nil), g, `{"argv":["ls"]}`)
	if !strings.Contains(p.Card.Reach[0], "everything you can") || p.Card.Reach[1] != "There is no bubblewrap." || !p.Outward {
		t.Errorf("reach %q, outward %v", p.Card.Reach, p.Outward)
	}
}

func TestNetworkMakesAPlanOutward(t *testing.T) {
	g := tooltest.NewGround(t)
	one := toolexec.New(&fakeRunner{}, nil)
	closed := plan(t, one, g, `{"argv":["ls"]}`)
	g.Env.Network = true
	open := plan(t, one, g, `{"argv":["ls"]}`)
	if closed.Outward || !open.Outward || tool.PlanHash(open) == tool.PlanHash(closed) {
		t.Errorf("outward %v and %v", closed.Outward, open.Outward)
	}
}

func TestALongCommandIsMarkedCut(t *testing.T) {
	g := tooltest.NewGround(t)
	args := tooltest.Args("argv", []string{"ls", strings.Repeat("x", 70<<10)})
	p := plan(t, toolexec.New(&fakeRunner{}, nil), g, args)
	if !p.Card.Truncated || len(p.Card.Sentence) > 300 {
		t.Errorf("truncated %v, sentence of %d bytes", p.Card.Truncated, len(p.Card.Sentence))
	}
}

// TestTheCardShowsTheScriptThatWouldRun: what is allowed by its name alone is not
// allowed at all.
func TestTheCardShowsTheScriptThatWouldRun(t *testing.T) {
	long := strings.Repeat("echo line\n", 7000)
	for name, c := range map[string]struct {
		content string
		warning string
		shown   protocol.ApprovalScript
	}{
		"short":           {content: "echo one\n", shown: protocol.ApprovalScript{Text: "echo one\n"}},
		"long":            {content: long, warning: "is shown only in part, 65536 of its 70000 bytes", shown: protocol.ApprovalScript{Text: long[:64<<10], Cut: true}},
		"no text":         {content: "\x00\x01\xff", warning: "is no text", shown: protocol.ApprovalScript{Binary: true}},
		"hidden":          {content: "echo a # \u202eb\n", warning: "sub/build.sh holds invisible characters", shown: protocol.ApprovalScript{Text: "echo a # \u202eb\n"}},
		"made in Windows": {content: "\ufeffecho one\r\n", shown: protocol.ApprovalScript{Text: "\ufeffecho one\r\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := tooltest.NewGround(t)
			g.Write("sub/build.sh", c.content)
			p := plan(t, toolexec.New(&fakeRunner{}, nil), g, `{"argv":["sh","build.sh"],"cwd":"sub"}`)
			want := c.shown
			want.Name, want.Path, want.SizeBytes = "sub/build.sh", g.Workspace+"/sub/build.sh", int64(len(c.content))
			want.SHA256 = fmt.Sprintf("%x", sha256.Sum256([]byte(c.content)))
			if got := p.Card.Scripts; len(got) != 1 || got[0] != want {
				t.Errorf("got %+.300v, want %+.300v", got, want)
			}
			if p.Card.HighRisk != (c.warning != "") || !strings.Contains(p.Card.Warning, c.warning) || p.Card.Truncated != c.shown.Cut {
				t.Errorf("high risk %v, cut %v, warning %q", p.Card.HighRisk, p.Card.Truncated, p.Card.Warning)
			}
		})
	}
}

func TestAScriptOutOfReachIsRefusedBeforeAnyoneIsAsked(t *testing.T) {
	g := tooltest.NewGround(t)
	one := toolexec.New(&fakeRunner{}, nil)
	for _, path := range []string{g.Secret, g.Data + "/state.db"} {
		p, err := one.Plan(context.Background(), g.Env, json.RawMessage(tooltest.Args("argv", []string{"python3", path})))
		var argument *tool.ArgumentError
		if !errors.As(err, &argument) || !strings.Contains(err.Error(), "not in a folder that this agent may use") {
			t.Errorf("%s: %v, card %+v", path, err, p.Card)
		}
	}
}

func TestBadCommandsAreTold(t *testing.T) {
	g := tooltest.NewGround(t)
	one := toolexec.New(&fakeRunner{}, nil)
	for _, args := range []string{
		`{"argv":[""]}`, `{"argv":["no-such-program-here"]}`, `{"argv":["./notes.md"]}`, `{"argv":["ls"],"cwd":"notes.md"}`, `{"argv":["ls"],"cwd":"none"}`,
	} {
		_, err := one.Plan(context.Background(), g.Env, json.RawMessage(args))
		var argument *tool.ArgumentError
		if !errors.As(err, &argument) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestOutcomes(t *testing.T) {
	code := func(n int) *int { return &n }
	for _, c := range []struct {
		name     string
		result   sandbox.Result
		err      error
		outcome  protocol.Outcome
		isError  bool
		exit     *int
		contains []string
	}{
		{"success", sandbox.Result{Stdout: "out\n", Stderr: "err\n", Duration: time.Second}, nil, protocol.OutcomeDone, false, code(0),
			[]string{"exited with 0 (1s)", "stdout:\nout\n", "stderr:\nerr\n"}},
		{"failure happened", sandbox.Result{ExitCode: 2}, nil, protocol.OutcomeDone, true, code(2), []string{"exited with 2", "printed nothing"}},
		{"signal", sandbox.Result{ExitCode: -1, Signal: "killed"}, nil, protocol.OutcomeDone, true, nil, []string{"signal killed"}},
		{"timeout", sandbox.Result{ExitCode: -1, Signal: "killed", TimedOut: true}, nil, protocol.OutcomeStopped, true, nil, []string{"after 60 s, its time limit"}},
		{"stopped", sandbox.Result{ExitCode: -1, Signal: "killed", Stopped: true}, nil, protocol.OutcomeStopped, true, nil, []string{"was stopped"}},
		{"never started", sandbox.Result{}, errors.New("fork: no memory"), protocol.OutcomeFailed, true, nil, []string{"did not run", "fork: no memory"}},
		{"cut", sandbox.Result{Stdout: strings.Repeat("é\n", 40<<10), TruncatedBytes: 7}, nil, protocol.OutcomeDone, false, code(0),
			[]string{"7 bytes of its output were not kept", "bytes left out"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := tooltest.NewGround(t)
			one := toolexec.New(&fakeRunner{result: c.result, err: c.err}, nil)
			r, err := one.Do(context.Background(), g.Env, plan(t, one, g, `{"argv":["ls"]}`), nil)
			must(t, err)
			if r.Outcome != c.outcome || r.IsError != c.isError || r.TimedOut != c.result.TimedOut {
				t.Errorf("outcome %q, error %v", r.Outcome, r.IsError)
			}
			if got := r.Evidence.ExitStatus; (got == nil) != (c.exit == nil) || got != nil && *got != *c.exit {
				t.Errorf("exit status %v", got)
			}
			for _, want := range c.contains {
				if !strings.Contains(r.Content, want) {
					t.Errorf("content lacks %q:\n%.500s", want, r.Content)
				}
			}
			if len(r.Content) > 80<<10 || len(r.Evidence.Output) > 9<<10 || !validUTF8(r.Content) || !validUTF8(r.Evidence.Output) {
				t.Errorf("content of %d bytes, evidence of %d", len(r.Content), len(r.Evidence.Output))
			}
			if c.err == nil && r.Evidence.Sandbox != string(sandbox.MechanismBubblewrap) {
				t.Errorf("sandbox %q", r.Evidence.Sandbox)
			}
		})
	}
}

func validUTF8(s string) bool { return strings.ToValidUTF8(s, "") == s }

func TestOutputStreamsWhileItRuns(t *testing.T) {
	g := tooltest.NewGround(t)
	one := toolexec.New(&fakeRunner{chunks: []sandbox.Chunk{{Stream: "stdout", Text: "a"}, {Stream: "stderr", Text: "b"}}}, nil)
	var got []string
	_, err := one.Do(context.Background(), g.Env, plan(t, one, g, `{"argv":["ls"]}`), func(stream, text string) { got = append(got, stream+":"+text) })
	must(t, err)
	if !slices.Equal(got, []string{"stdout:a", "stderr:b"}) {
		t.Errorf("progress %q", got)
	}
}

func TestWhatRunsIsWhatWasPlanned(t *testing.T) {
	g := tooltest.NewGround(t)
	f := &fakeRunner{}
	one := toolexec.New(f, []string{"PATH=" + os.Getenv("PATH"), "SECRET_TOKEN=x"})
	p := plan(t, one, g, `{"argv":["cat","-"],"cwd":"sub","stdin":"abc","timeoutSeconds":7}`)
	_, err := one.Do(context.Background(), g.Env, p, nil)
	must(t, err)
	s := f.specs[0]
	if !slices.Equal(s.Plan.Argv, []string{"cat", "-"}) || s.Plan.Dir != g.Workspace+"/sub" || string(s.Stdin) != "abc" ||
		s.Timeout != 7*time.Second || s.MaxOutput != 1<<20 || !slices.Equal(s.Place.Hide, []string{g.Data}) {
		t.Errorf("spec %+v", s)
	}
	want := []sandbox.Root{{Path: g.Workspace, Writable: true}, {Path: g.Added, Writable: true}, {Path: g.Shelf}}
	if !slices.Equal(s.Place.Roots, want) {
		t.Errorf("roots %+v", s.Place.Roots)
	}
}

func TestAnythingElseIsANewQuestion(t *testing.T) {
	for name, change := range map[string]func(*tooltest.Ground, *fakeRunner){
		"sandbox gone":   func(_ *tooltest.Ground, f *fakeRunner) { f.mechanism = sandbox.MechanismNone },
		"script changed": func(g *tooltest.Ground, _ *fakeRunner) { g.Write("run.sh", "echo other") },
		"folder added": func(g *tooltest.Ground, _ *fakeRunner) {
			g.Env.Folders = append(g.Env.Folders, tool.Folder{Path: g.Outside})
		},
		"network opened": func(g *tooltest.Ground, _ *fakeRunner) { g.Env.Network = true },
		"less hidden":    func(g *tooltest.Ground, _ *fakeRunner) { g.Env.Hide = nil },
		"runner refuses": func(_ *tooltest.Ground, f *fakeRunner) { f.err = &sandbox.PlanChangedError{Differences: []string{"x"}} },
	} {
		t.Run(name, func(t *testing.T) {
			g := tooltest.NewGround(t)
			g.Write("run.sh", "echo one")
			f := &fakeRunner{}
			one := toolexec.New(f, nil)
			p := plan(t, one, g, `{"argv":["sh","run.sh"]}`)
			change(g, f)
			if _, err := one.Do(context.Background(), g.Env, p, nil); !errors.Is(err, tool.ErrPlanChanged) {
				t.Errorf("error %v", err)
			}
			if name != "runner refuses" && len(f.specs) != 0 {
				t.Error("it ran")
			}
		})
	}
}

func TestStopEndsARunningCommand(t *testing.T) {
	g := tooltest.NewGround(t)
	f := &fakeRunner{hang: true, started: make(chan struct{})}
	one := toolexec.New(f, nil)
	p := plan(t, one, g, `{"argv":["ls"]}`)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-f.started; cancel() }()
	r, err := one.Do(ctx, g.Env, p, nil)
	must(t, err)
	if r.Outcome != protocol.OutcomeStopped || !strings.Contains(r.Content, "was stopped") || r.Evidence.Note == "never started" {
		t.Errorf("%+v", r)
	}
}

// TestRealCommand runs through the real sandbox, as the host wires it.
func TestRealCommand(t *testing.T) {
	runner := sandbox.NewRunner(sandbox.Options{})
	if runner.Status().Mechanism == sandbox.MechanismNone {
		t.Skip("no sandbox on this machine: " + runner.Status().Reason)
	}
	g := tooltest.NewGround(t)
	one := toolexec.New(runner, nil)
	p := plan(t, one, g, `{"argv":["sh","-c","cat; echo err >&2; echo made > made.txt; ls data; exit 3"],"stdin":"fed\n"}`)
	r, err := one.Do(context.Background(), g.Env, p, nil)
	must(t, err)
	if r.Outcome != protocol.OutcomeDone || !r.IsError || r.Evidence.ExitStatus == nil || *r.Evidence.ExitStatus != 3 {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.Content, "fed\n") || !strings.Contains(r.Content, "err\n") || strings.Contains(r.Content, "state.db") {
		t.Errorf("content %s", r.Content)
	}
	if g.Read("made.txt") != "made\n" {
		t.Error("the file was not written")
	}
}
