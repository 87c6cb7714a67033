// Package tool is the contract of everything an agent can do.
//
// A tool works in two steps. Plan reads the arguments, resolves what they mean
// on this machine, and returns a [Plan] that holds exactly what would happen;
// it changes nothing. Do carries out a plan that policy or the owner allowed,
// and refuses one that no longer matches the machine. Between the two, package
// effect has put a row on disk. A tool has no database, no keychain and no
// channel; what it needs of the machine comes in [Env].
package tool

import (
	"context"
	"encoding/json"
	"errors"

	"countersign/backend/protocol"
)

// Repeat says what a second execution would do.
type Repeat string

// Repeatability of a tool.
const (
	// RepeatRead changes nothing; it may run again after a crash.
	RepeatRead Repeat = "read"
	// RepeatLocal changes only our own database, in the transaction that stores
	// its result.
	RepeatLocal Repeat = "local"
	// RepeatKeyed carries a key by which the other side recognises a repeat.
	RepeatKeyed Repeat = "keyed"
	// RepeatOnce must not run twice; after a crash its outcome is unknown.
	RepeatOnce Repeat = "once"
)

// Class is what a tool declares about itself; the four are not the same.
type Class struct {
	Repeat          Repeat
	ReadsPrivate    bool
	BringsUntrusted bool
	// Outward holds for every plan of the tool; a single plan can add it.
	Outward bool
}

// Spec describes a tool to models, to policy and to people.
type Spec struct {
	Name        string
	Description string
	// Group is the policy group: fs, runtime or ask.
	Group string
	// Effect is the class a receipt is filed under.
	Effect protocol.EffectClass
	Class  Class
	// Schema is the JSON Schema of the arguments, an object with
	// additionalProperties false.
	Schema json.RawMessage
}

// Folder is a place a tool may reach. Path is absolute.
type Folder struct {
	Path     string
	Writable bool
}

// Env is the place an agent works in. Folders[0] is its workspace; relative
// paths start there.
type Env struct {
	AgentID protocol.AgentID
	Folders []Folder
	// Hide lists paths that are out of reach even inside a folder (the data
	// directory).
	Hide []string
	// Network says whether commands may reach the network.
	Network bool
	// TimeoutSeconds and MaxOutput (bytes) bound a command.
	TimeoutSeconds int
	MaxOutput      int64
}

// Plan is exactly what would happen. Its JSON is what an approval is bound to,
// so it holds nothing that changes between two readings of an unchanged machine.
type Plan struct {
	Tool string `json:"tool"`
	// Args is the arguments as checked, with defaults filled in and keys sorted.
	Args json.RawMessage `json:"args"`
	// Target says in words what it acts on: a path relative to the workspace when
	// it lies there, else an absolute path; or a command line.
	Target string `json:"target"`
	// Paths are the real absolute paths it reads or changes.
	Paths []PlanPath `json:"paths,omitempty"`
	// Detail is the tool's own part (for exec the sandbox plan).
	Detail json.RawMessage `json:"detail,omitempty"`
	// Outward says that this plan can reach the network although not every plan
	// of its tool does.
	Outward bool `json:"outward,omitempty"`

	// Card is how a person sees the plan. It is derived from the rest and not
	// part of the hash.
	Card Card `json:"-"`
	// Before is the state a file had, kept so that the change can be undone.
	Before *FileState `json:"-"`
}

// PlanPath is one path of a plan with the content it had when planned. SHA256 is
// set for existing files that would be changed. Outside marks a path in a folder
// other than the workspace; what lies in no folder is never planned.
type PlanPath struct {
	Path    string `json:"path"`
	Write   bool   `json:"write"`
	Outside bool   `json:"outside,omitempty"`
	Exists  bool   `json:"exists"`
	SHA256  string `json:"sha256,omitempty"`
}

// Card is a plan in words and pictures.
type Card struct {
	// Sentence says what will happen: "Run ls -la in notes".
	Sentence string
	Argv     []string
	Cwd      string
	// Input is the text a command reads from its standard input.
	Input string
	// Scripts are the files that a command would run as code.
	Scripts  []protocol.ApprovalScript
	EnvKeys  []string
	Resolved string
	Diff     string
	// Truncated says that Diff, Argv, Input or Scripts do not show everything.
	Truncated bool
	// Reach lists in words what the act can touch.
	Reach    []string
	HighRisk bool
	Warning  string
}

// FileState is a file's former content; a file that did not exist has Exists
// false and no content. Path is real and absolute. Mode holds permission bits.
type FileState struct {
	Path    string
	Exists  bool
	Mode    uint32
	Content []byte
	SHA256  string
}

// Result is what a finished call returns.
type Result struct {
	// Content is what the model reads.
	Content string
	// IsError says that the model should see it as a failure.
	IsError bool
	// Outcome and Evidence go into the receipt. An Outcome of "" means done.
	Outcome  protocol.Outcome
	Evidence protocol.Evidence
	// AfterSHA256 is the content hash that undo expects; empty when the effect
	// cannot be undone by restoring Plan.Before.
	AfterSHA256 string
	// Lines counts changed lines, for the sentence of the receipt.
	Lines int
	// Items counts entries read, for the sentence of the receipt.
	Items int
	// NothingDone says that a call that was stopped or failed changed nothing.
	NothingDone bool
	// TimedOut says that a command was ended by its time limit.
	TimedOut bool
	// Taint grades the content.
	Taint protocol.Taint
	// Source names where untrusted content came from.
	Source string
}

// Progress receives running output of a call; stream is stdout or stderr.
type Progress func(stream, text string)

// Tool is one thing an agent can do. It is safe for concurrent use.
type Tool interface {
	Spec() Spec
	// Plan checks args against what the tool can do here. An *ArgumentError is
	// told to the model; any other error is a fault of the machine. It has no
	// effects.
	Plan(ctx context.Context, env Env, args json.RawMessage) (Plan, error)
	// Do carries out plan. It returns ErrPlanChanged, having done nothing, when
	// the machine no longer matches it. When ctx ends, everything it started has
	// ended before it returns.
	Do(ctx context.Context, env Env, plan Plan, progress Progress) (Result, error)
}

// Resolver is an optional ability: to find out afterwards whether an effect
// whose result was lost has happened. ok is false when it cannot be known.
type Resolver interface {
	Resolve(ctx context.Context, env Env, plan Plan) (result Result, ok bool, err error)
}

// Asker is an optional ability of a tool whose result is a person's answer: the
// run parks on the question instead of calling Do.
type Asker interface {
	Question(plan Plan) (protocol.Question, error)
}

// ErrPlanChanged reports that the machine no longer matches what was allowed;
// the caller plans and asks anew.
var ErrPlanChanged = errors.New("what was allowed no longer matches what is there")

// Clauses of a DeniedError.
const (
	// ClauseOutsideFolders: the path lies in none of the agent's folders.
	ClauseOutsideFolders = "outside-folders"
	// ClauseHiddenFolder: the path lies in Env.Hide or belongs to the system.
	ClauseHiddenFolder = "hidden-folder"
	// ClauseReadOnlyFolder: the folder may be read and not changed.
	ClauseReadOnlyFolder = "read-only-folder"
)

// ArgumentError tells the model what is wrong with its arguments.
type ArgumentError struct {
	Sentence string
}

// Error returns the sentence.
func (e *ArgumentError) Error() string { return e.Sentence }

// DeniedError reports a plan that no one may allow: a path outside every folder.
// It is told to the model and receipted as refused.
type DeniedError struct {
	Sentence string
	Clause   string
}

// Error returns the sentence.
func (e *DeniedError) Error() string { return e.Sentence }

// ConflictError reports an undo that would overwrite something newer; nothing
// was changed. It is told to the owner.
type ConflictError struct {
	Sentence string
	// AlreadyRestored says that things are as they were before the change.
	AlreadyRestored bool
}

// Error returns the sentence.
func (e *ConflictError) Error() string { return e.Sentence }
