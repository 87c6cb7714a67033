package exec

import (
	"fmt"
	"strings"
	"unicode"

	"countersign/backend/sandbox"
	"countersign/backend/tool"
	"countersign/backend/tool/internal/place"
)

const (
	// maxSentence bounds the command in the card's sentence; the argv beside it is
	// whole.
	maxSentence = 120
	// maxShown bounds argv and input on a card, in bytes. A longer plan cannot be
	// allowed, for nobody could have read it.
	maxShown = 64 << 10
)

func cardOf(env tool.Env, a args, dir place.Spot, command sandbox.Plan, status sandbox.Status) tool.Card {
	risks := risksOf(a.Argv, a.Stdin)
	card := tool.Card{
		Sentence: sentence(a, dir), Argv: a.Argv, Cwd: dir.Abs, Input: a.Stdin, EnvKeys: command.EnvKeys,
		Resolved: command.Executable, HighRisk: len(risks) > 0, Reach: reach(env, dir, status),
	}
	shown := len(a.Stdin)
	for _, arg := range a.Argv {
		shown += len(arg)
	}
	card.Truncated = shown > maxShown
	if hasInvisible(a) {
		risks = append(risks, "it holds invisible characters, so it may not do what it looks like")
		card.HighRisk = true
	}
	if len(risks) > 0 {
		card.Warning = "Careful: " + strings.Join(risks, "; ") + "."
	}
	return card
}

func sentence(a args, dir place.Spot) string {
	line := commandLine(a.Argv)
	if len(line) > maxSentence {
		line = strings.ToValidUTF8(line[:maxSentence], "") + "…"
	}
	where := dir.Show
	if where == "." {
		where = "the workspace"
	}
	out := fmt.Sprintf("Run %s in %s", line, where)
	if a.Stdin != "" {
		out += fmt.Sprintf(" with %d bytes of input", len(a.Stdin))
	}
	return out
}

// reach says in words what the command can touch.
func reach(env tool.Env, dir place.Spot, status sandbox.Status) []string {
	if status.Mechanism == sandbox.MechanismNone {
		out := []string{"Not in a sandbox: it can read, change and send everything you can."}
		if status.Reason != "" {
			out = append(out, status.Reason)
		}
		return append(out, fmt.Sprintf("It starts in %s.", dir.Abs))
	}
	var out []string
	for i, f := range env.Folders {
		name := f.Path
		if i == 0 {
			name = "the workspace (" + f.Path + ")"
		}
		if f.Writable {
			out = append(out, "Can read and change "+name+".")
		} else {
			out = append(out, "Can read "+name+".")
		}
	}
	network := "The network is off."
	if env.Network {
		network = "It can use the network."
	}
	return append(out, network, fmt.Sprintf("Nothing else of yours is visible to it (%s).", status.Mechanism))
}

// commandLine shows an argument vector as one line that a shell would read the
// same way.
func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = quoteWord(arg)
	}
	return strings.Join(words, " ")
}

const plainRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,"

func quoteWord(arg string) string {
	if arg != "" && strings.Trim(arg, plainRunes) == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// hasInvisible reports characters that change how a command looks and not what
// it says, such as direction overrides.
func hasInvisible(a args) bool {
	for _, text := range append([]string{a.Stdin}, a.Argv...) {
		for _, r := range text {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				return true
			}
		}
	}
	return false
}
