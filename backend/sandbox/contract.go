package sandbox

import "time"

// Mechanism names what stands between a command and the owner's files.
type Mechanism string

// The mechanisms. MechanismNone means that a command has all rights of the
// owner, so that it has to be asked about each time.
const (
	MechanismBubblewrap  Mechanism = "bubblewrap"
	MechanismSandboxExec Mechanism = "sandbox-exec"
	MechanismNone        Mechanism = "none"
)

// Plan is one command, resolved. It holds everything that an approval is bound
// to; callers hash its JSON, whose field order is part of the contract.
type Plan struct {
	// Argv is the command as it was asked for; Argv[0] may be a bare name.
	Argv []string `json:"argv"`
	// Program is the absolute path by which the program is called. It may be a
	// link; some programs look at it to decide what they are.
	Program string `json:"program"`
	// Executable is the real path of the program, with all links resolved.
	Executable string `json:"executable"`
	// ExecutableHash is the hex SHA-256 of the program when somebody besides the
	// system's administrator could change it, else empty.
	ExecutableHash string `json:"executableHash"`
	// Interpreter is set when the program is a script with a "#!" line: the real
	// path of its interpreter and the interpreter's own argument, if any.
	Interpreter []string `json:"interpreter"`
	// InterpreterHash follows the rule of ExecutableHash.
	InterpreterHash string `json:"interpreterHash"`
	// Dir is the real path of the working directory.
	Dir string `json:"dir"`
	// EnvKeys are the names of the variables the command will see, sorted.
	EnvKeys []string `json:"envKeys"`
	// Operands are the regular files named in Argv, in order.
	Operands []Operand `json:"operands"`
	// Network says whether the command may use the network.
	Network bool `json:"network"`
}

// Operand is an existing regular file that an argument names.
type Operand struct {
	// ArgIndex is the index into Plan.Argv.
	ArgIndex int `json:"argIndex"`
	// Path is the real path, with all links resolved.
	Path string `json:"path"`
	// SHA256 is the hex hash of the content, or empty for a file above
	// MaxOperandBytes, which is compared by size and time of change instead.
	SHA256 string `json:"sha256"`
	// Size is in bytes.
	Size int64 `json:"size"`
	// ModifiedNs is set only when SHA256 is empty: nanoseconds since 1970.
	ModifiedNs int64 `json:"modifiedNs"`
	// Executed says that the command would run this file as code, so that Run
	// uses a private copy of it. Such a file may be at most MaxExecutableBytes long.
	Executed bool `json:"executed"`
}

// Root is a folder that a command may see.
type Root struct {
	Path     string
	Writable bool
}

// Place is what a command may see of the owner's files. Where a root and a
// hidden path lie inside one another, the inner one decides; for the same path
// Hide wins. A path that does not exist is left out.
type Place struct {
	Roots []Root
	// Hide lists folders and files that stay invisible even inside a root; the
	// data directory belongs here.
	Hide []string
}

// Spec is one run of a plan.
type Spec struct {
	Plan  Plan
	Place Place
	// Env is the environment to choose from, as "NAME=value"; nil means the
	// environment of this process. It is always reduced by Scrub.
	Env   []string
	Stdin []byte
	// Timeout ends the command; zero means DefaultTimeout.
	Timeout time.Duration
	// MaxOutput is how many bytes of each stream are kept, head and tail; zero
	// means DefaultMaxOutput.
	MaxOutput int64
}

// The two streams of a Chunk.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// Chunk is a piece of output as it arrives.
type Chunk struct {
	// Stream is Stdout or Stderr.
	Stream string
	// Text is valid UTF-8 that never ends inside a character.
	Text string
}

// Result is how a command ended. A command that ran and failed is a Result,
// not an error.
type Result struct {
	// ExitCode is -1 when a signal ended the command. Under bubblewrap a signal
	// that Run did not send shows as 128 plus its number, as in a shell.
	ExitCode int
	// Signal is its name, such as "killed", or empty.
	Signal string
	// TimedOut and Stopped say that Run ended the command: its time was up, or
	// its context was cancelled.
	TimedOut bool
	Stopped  bool
	// Stdout and Stderr are valid UTF-8; a cut is marked inside the text.
	Stdout string
	Stderr string
	// TruncatedBytes counts the bytes of both streams that were not kept.
	TruncatedBytes int64
	Duration       time.Duration
	Mechanism      Mechanism
}

// Status says what protects commands on this machine.
type Status struct {
	Mechanism Mechanism
	// Reason is one sentence for the owner: what works, or why nothing does.
	Reason string
	// Remedy is one sentence, empty when nothing has to be done.
	Remedy string
}

// Limits that apply when a Spec or a file does not set its own.
const (
	DefaultTimeout   = 10 * time.Minute
	DefaultMaxOutput = 256 << 10
	// MaxOperands and MaxOperandBytes bound what Resolve reads.
	MaxOperands     = 64
	MaxOperandBytes = 64 << 20
	// MaxExecutableBytes bounds a program that has to be hashed.
	MaxExecutableBytes = 1 << 30
)
