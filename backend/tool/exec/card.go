package exec

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"countersign/backend/protocol"
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
	// maxScript and maxScripts bound what is shown of one script and of all, in
	// bytes. A longer one is marked cut, and such a plan cannot be allowed either.
	maxScript  = 64 << 10
	maxScripts = 256 << 10
)

func cardOf(env tool.Env, a args, dir place.Spot, command sandbox.Plan, scripts []sandbox.Script, status sandbox.Status) tool.Card {
	warnings := risksOf(a.Argv, a.Stdin)
	if hasInvisible(append([]string{a.Stdin}, a.Argv...)...) {
		warnings = append(warnings, "it holds invisible characters, so it may not do what it looks like")
	}
	card := tool.Card{
		Sentence: sentence(a, dir), Argv: a.Argv, Cwd: dir.Abs, Input: a.Stdin, EnvKeys: command.EnvKeys,
		Resolved: command.Executable, Reach: reach(env, dir, status),
	}
	for _, s := range scripts {
		shown := scriptOf(env, s)
		card.Scripts = append(card.Scripts, shown)
		warnings = append(warnings, scriptWarnings(shown)...)
	}
	card.Truncated = shownBytes(a) > maxShown || slices.ContainsFunc(scripts, func(s sandbox.Script) bool { return s.Cut })
	if len(warnings) > 0 {
		card.HighRisk, card.Warning = true, "Careful: "+strings.Join(warnings, "; ")+"."
	}
	return card
}

// shownBytes counts what a card has to show of the arguments.
func shownBytes(a args) int {
	n := len(a.Stdin)
	for _, arg := range a.Argv {
		n += len(arg)
	}
	return n
}

func scriptOf(env tool.Env, s sandbox.Script) protocol.ApprovalScript {
	name := s.Path
	if real, err := filepath.EvalSymlinks(env.Folders[0].Path); err == nil {
		if rel, err := filepath.Rel(real, s.Path); err == nil && filepath.IsLocal(rel) {
			name = filepath.ToSlash(rel)
		}
	}
	return protocol.ApprovalScript{Name: name, Path: s.Path, SHA256: s.SHA256, SizeBytes: s.Size, Text: s.Text, Cut: s.Cut, Binary: s.Binary}
}

// scriptWarnings says what a person cannot see of a script.
func scriptWarnings(s protocol.ApprovalScript) []string {
	switch {
	case s.Binary:
		return []string{s.Name + " is no text, so what it does cannot be shown"}
	case s.Cut:
		return []string{fmt.Sprintf("%s is shown only in part, %d of its %d bytes", s.Name, len(s.Text), s.SizeBytes)}
	// A mark at the beginning and line ends of Windows are what editors write.
	case hasInvisible(strings.ReplaceAll(strings.TrimPrefix(s.Text, "\ufeff"), "\r\n", "\n")):
		return []string{s.Name + " holds invisible characters, so it may not do what it looks like"}
	}
	return nil
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
func hasInvisible(texts ...string) bool {
	for _, text := range texts {
		for _, r := range text {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				return true
			}
		}
	}
	return false
}
