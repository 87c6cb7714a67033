// Package exec is the tool that runs a command.
//
// A command is an argument vector; what is shown is what runs, without a shell in
// between. The plan holds the sandbox's own plan (the real program, its hash where
// it is writable, the files it names), the folders it sees, what stands between it
// and the rest of the machine, and its limits. If any of these differ when it is
// to run, it is a new question.
//
// A command that ran and failed is done: it happened, and its exit status says
// how. It is failed only when it never started, and stopped when its time was up
// or the owner ended it. This package starts no process itself; a Runner does.
package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"countersign/backend/protocol"
	"countersign/backend/sandbox"
	"countersign/backend/tool"
	"countersign/backend/tool/internal/place"
)

// Runner carries out a command; *sandbox.Runner is one. Run returns when nothing
// of the command runs any more, also when ctx ends.
type Runner interface {
	Status() sandbox.Status
	Run(ctx context.Context, s sandbox.Spec, out func(sandbox.Chunk)) (sandbox.Result, error)
}

// Tool is the exec tool. It is safe for concurrent use.
type Tool struct {
	runner Runner
	// environ is what a command's environment is chosen from; nil means that of
	// this process.
	environ []string
}

// New returns the tool. environ is "NAME=value" and is reduced by the sandbox;
// nil means the environment of this process.
func New(runner Runner, environ []string) *Tool { return &Tool{runner: runner, environ: environ} }

// Bounds of a command, where Env sets none.
const (
	defaultTimeout = 10 * time.Minute
	maxArgv        = 1000
	maxInput       = 256 << 10
)

type args struct {
	Argv           []string `json:"argv"`
	Cwd            string   `json:"cwd"`
	Stdin          string   `json:"stdin,omitempty"`
	TimeoutSeconds int      `json:"timeoutSeconds"`
}

// detail is the tool's part of a plan.
type detail struct {
	Command sandbox.Plan `json:"command"`
	// Mechanism is what stands between the command and the machine; one that was
	// allowed inside a sandbox must not run without.
	Mechanism sandbox.Mechanism `json:"mechanism"`
	Folders   []folder          `json:"folders"`
	Hidden    []string          `json:"hidden,omitempty"`
}

type folder struct {
	Path     string `json:"path"`
	Writable bool   `json:"writable"`
}

// Spec describes the tool.
func (*Tool) Spec() tool.Spec {
	return tool.Spec{
		Name:  "exec",
		Group: "runtime",
		Description: "Run a command and wait for it to end. argv is the program and its arguments, one a string, without a shell: " +
			`["ls", "-la"]. For pipes or variables use ["sh", "-c", "…"], which the owner sees as that text.`,
		Effect: protocol.ClassCommand,
		Class:  tool.Class{Repeat: tool.RepeatOnce, ReadsPrivate: true, BringsUntrusted: true},
		Schema: json.RawMessage(`{
  "type": "object", "additionalProperties": false, "required": ["argv"],
  "properties": {
    "argv": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {"type": "string", "maxLength": 131072}, "description": "The program and its arguments"},
    "cwd": {"type": "string", "description": "The folder to run in; the workspace unless told"},
    "stdin": {"type": "string", "maxLength": 262144, "description": "Text for the command's standard input"},
    "timeoutSeconds": {"type": "integer", "minimum": 1, "maximum": 86400, "description": "End the command after this time"}
  }
}`),
	}
}

// Plan resolves the command; see tool.Tool.
func (t *Tool) Plan(_ context.Context, env tool.Env, raw json.RawMessage) (tool.Plan, error) {
	var a args
	if err := tool.Decode(raw, &a); err != nil {
		return tool.Plan{}, err
	}
	if err := a.complete(env); err != nil {
		return tool.Plan{}, err
	}
	p, err := place.Open(env)
	if err != nil {
		return tool.Plan{}, err
	}
	defer p.Close()
	dir, err := p.Resolve(a.Cwd)
	if err != nil {
		return tool.Plan{}, err
	}
	if err := dir.RequireDir(); err != nil {
		return tool.Plan{}, err
	}
	command, scripts, err := t.resolve(env, a, dir)
	if err != nil {
		var refused *sandbox.ResolveError
		if errors.As(err, &refused) {
			return tool.Plan{}, argument("%s", refused.Sentence)
		}
		return tool.Plan{}, fmt.Errorf("plan command: %w", err)
	}
	return t.plan(env, a, dir, command, scripts)
}

// resolve finds out what a command means here, and what the scripts hold that it
// would run. One that is being written is looked at again.
func (t *Tool) resolve(env tool.Env, a args, dir place.Spot) (sandbox.Plan, []sandbox.Script, error) {
	const attempts = 3
	for i := 1; ; i++ {
		command, err := sandbox.Resolve(a.Argv, dir.Abs, t.environ, env.Network)
		if err != nil {
			return sandbox.Plan{}, nil, err
		}
		// What the command may not see is not shown on its card either.
		if err := sandbox.Check(command, placeOf(env), t.environ); err != nil {
			return sandbox.Plan{}, nil, err
		}
		scripts, err := command.Scripts(maxScript, maxScripts)
		if err == nil {
			return command, scripts, nil
		}
		if i == attempts {
			return sandbox.Plan{}, nil, &sandbox.ResolveError{Sentence: "A script of this command changes all the time; wait until it is written, then ask again.", Err: err}
		}
	}
}

func placeOf(env tool.Env) sandbox.Place {
	p := sandbox.Place{Hide: env.Hide}
	for _, f := range env.Folders {
		p.Roots = append(p.Roots, sandbox.Root(f))
	}
	return p
}

func (a *args) complete(env tool.Env) error {
	if len(a.Argv) == 0 || a.Argv[0] == "" {
		return argument("argv is empty; its first string is the program.")
	}
	if len(a.Argv) > maxArgv || len(a.Stdin) > maxInput {
		return argument("The command is too long: at most %d arguments and %d bytes of input.", maxArgv, maxInput)
	}
	if a.Cwd == "" {
		a.Cwd = "."
	}
	limit := int(defaultTimeout / time.Second)
	if env.TimeoutSeconds > 0 {
		limit = env.TimeoutSeconds
	}
	if a.TimeoutSeconds <= 0 || a.TimeoutSeconds > limit {
		a.TimeoutSeconds = limit
	}
	return nil
}

func (t *Tool) plan(env tool.Env, a args, dir place.Spot, command sandbox.Plan, scripts []sandbox.Script) (tool.Plan, error) {
	status := t.runner.Status()
	d := detail{Command: command, Mechanism: status.Mechanism, Hidden: env.Hide}
	for _, f := range env.Folders {
		d.Folders = append(d.Folders, folder(f))
	}
	rawArgs, err := tool.Encode(a)
	if err != nil {
		return tool.Plan{}, err
	}
	rawDetail, err := tool.Encode(d)
	if err != nil {
		return tool.Plan{}, err
	}
	return tool.Plan{
		Tool: "exec", Args: rawArgs, Target: commandLine(a.Argv), Detail: rawDetail,
		Paths: []tool.PlanPath{{Path: dir.Abs, Write: dir.Writable, Outside: dir.Outside, Exists: true}},
		// Without a sandbox nothing keeps a command off the network.
		Outward: env.Network || status.Mechanism == sandbox.MechanismNone,
		Card:    cardOf(env, a, dir, command, scripts, status),
	}, nil
}

// Do runs the command; see tool.Tool.
func (t *Tool) Do(ctx context.Context, env tool.Env, plan tool.Plan, progress tool.Progress) (tool.Result, error) {
	var a args
	var d detail
	if err := tool.Decode(plan.Args, &a); err != nil {
		return tool.Result{}, fmt.Errorf("%w: %s", tool.ErrPlanChanged, err.Error())
	}
	if err := json.Unmarshal(plan.Detail, &d); err != nil {
		return tool.Result{}, fmt.Errorf("%w: the plan cannot be read", tool.ErrPlanChanged)
	}
	if ctx.Err() != nil {
		return notStarted(protocol.OutcomeStopped, "It was stopped before it started."), nil
	}
	fresh, err := t.Plan(ctx, env, plan.Args)
	if err != nil {
		return tool.Result{}, asChanged(err)
	}
	if tool.PlanHash(fresh) != tool.PlanHash(plan) {
		return tool.Result{}, fmt.Errorf("%w: the command, its files or its surroundings differ", tool.ErrPlanChanged)
	}
	result, err := t.runner.Run(ctx, t.spec(env, a, d), func(c sandbox.Chunk) {
		if progress != nil {
			progress(c.Stream, c.Text)
		}
	})
	switch {
	case errors.Is(err, sandbox.ErrPlanChanged):
		return tool.Result{}, fmt.Errorf("%w: %s", tool.ErrPlanChanged, err.Error())
	case err != nil && ctx.Err() != nil:
		return notStarted(protocol.OutcomeStopped, "It was stopped before it started."), nil
	case err != nil:
		return notStarted(protocol.OutcomeFailed, "It could not be started: "+err.Error()+"."), nil
	}
	return resultOf(a, d, plan, result), nil
}

func (t *Tool) spec(env tool.Env, a args, d detail) sandbox.Spec {
	return sandbox.Spec{
		Plan: d.Command, Env: t.environ, Stdin: []byte(a.Stdin), MaxOutput: env.MaxOutput,
		Timeout: time.Duration(a.TimeoutSeconds) * time.Second, Place: placeOf(env),
	}
}

// asChanged turns what Plan would refuse into what Do reports: the plan was fine
// when it was allowed.
func asChanged(err error) error {
	var wrong *tool.ArgumentError
	var denied *tool.DeniedError
	if errors.As(err, &wrong) || errors.As(err, &denied) {
		return fmt.Errorf("%w: %s", tool.ErrPlanChanged, err.Error())
	}
	return err
}

func argument(format string, a ...any) error {
	return &tool.ArgumentError{Sentence: fmt.Sprintf(format, a...)}
}
