package exec

import (
	"encoding/json"
	"fmt"
	"slices"

	"countersign/backend/sandbox"
	"countersign/backend/tool"
)

// Changed says what differs between two plans of one command; see tool.Comparer.
func (*Tool) Changed(before, after tool.Plan) []string {
	var was, is detail
	var wasArgs, isArgs args
	if json.Unmarshal(before.Detail, &was) != nil || json.Unmarshal(after.Detail, &is) != nil ||
		json.Unmarshal(before.Args, &wasArgs) != nil || json.Unmarshal(after.Args, &isArgs) != nil {
		return nil
	}
	out := changedCode(was.Command, is.Command)
	if was.Mechanism != is.Mechanism {
		out = append(out, fmt.Sprintf("its sandbox became %q, which was %q", is.Mechanism, was.Mechanism))
	}
	if was.Command.Network != is.Command.Network {
		out = append(out, "the network was switched "+map[bool]string{true: "on", false: "off"}[is.Command.Network])
	}
	out = append(out, changedReach(was, is)...)
	out = append(out, changedOperands(was.Command, is.Command, false)...)
	for _, key := range is.Command.EnvKeys {
		if !slices.Contains(was.Command.EnvKeys, key) {
			out = append(out, "the variable "+key+" came into its sight")
		}
	}
	for _, key := range was.Command.EnvKeys {
		if !slices.Contains(is.Command.EnvKeys, key) {
			out = append(out, "the variable "+key+" went out of its sight")
		}
	}
	if wasArgs.TimeoutSeconds != isArgs.TimeoutSeconds {
		out = append(out, fmt.Sprintf("its time limit became %d seconds, which was %d", isArgs.TimeoutSeconds, wasArgs.TimeoutSeconds))
	}
	return out
}

// changedCode says what differs in what would run as code.
func changedCode(was, is sandbox.Plan) []string {
	var out []string
	program := is.Argv[0]
	if was.Executable != is.Executable || was.Program != is.Program {
		out = append(out, fmt.Sprintf("%s came to mean %s, which was %s", program, is.Executable, was.Executable))
	} else if was.ExecutableHash != is.ExecutableHash {
		out = append(out, "the program "+program+" was changed")
	}
	if !slices.Equal(was.Interpreter, is.Interpreter) || was.InterpreterHash != is.InterpreterHash {
		out = append(out, "what interprets "+program+" was changed")
	}
	return append(out, changedOperands(was, is, true)...)
}

// changedOperands compares the files that arguments name; executed chooses those
// that would run as code in either plan.
func changedOperands(was, is sandbox.Plan, executed bool) []string {
	of := func(p sandbox.Plan, arg int) (sandbox.Operand, bool) {
		i := slices.IndexFunc(p.Operands, func(o sandbox.Operand) bool { return o.ArgIndex == arg })
		if i < 0 {
			return sandbox.Operand{}, false
		}
		return p.Operands[i], true
	}
	var out []string
	for arg := range is.Argv {
		old, had := of(was, arg)
		now, has := of(is, arg)
		name := is.Argv[arg]
		switch {
		case (old.Executed || now.Executed) != executed || old == now:
		case !had:
			out = append(out, name+" appeared")
		case !has:
			out = append(out, name+" was removed")
		case old.Path != now.Path:
			out = append(out, fmt.Sprintf("%s came to mean %s, which was %s", name, now.Path, old.Path))
		default:
			out = append(out, name+" was changed")
		}
	}
	return out
}

// changedReach says what differs in the folders that the command sees. The
// folder it starts in is among the paths of the plan.
func changedReach(was, is detail) []string {
	var out []string
	for _, f := range is.Folders {
		i := slices.IndexFunc(was.Folders, func(o folder) bool { return o.Path == f.Path })
		switch {
		case i < 0:
			out = append(out, "the folder "+f.Path+" came into its reach")
		case f.Writable && !was.Folders[i].Writable:
			out = append(out, f.Path+" became changeable for it")
		case !f.Writable && was.Folders[i].Writable:
			out = append(out, f.Path+" became read-only for it")
		}
	}
	for _, f := range was.Folders {
		if !slices.ContainsFunc(is.Folders, func(o folder) bool { return o.Path == f.Path }) {
			out = append(out, "the folder "+f.Path+" went out of its reach")
		}
	}
	if !slices.Equal(was.Hidden, is.Hidden) {
		out = append(out, "what is hidden from it became something else")
	}
	return out
}
