package sandbox

import (
	"errors"
	"fmt"
	"slices"
)

// verify resolves the plan again and returns a *PlanChangedError when anything
// of it is no longer so.
func verify(p Plan, env []string) error {
	now, err := Resolve(p.Argv, p.Dir, env, p.Network)
	if err != nil {
		var refused *ResolveError
		if errors.As(err, &refused) {
			return &PlanChangedError{Differences: []string{refused.Sentence}}
		}
		return err
	}
	if found := compare(p, now); len(found) > 0 {
		return &PlanChangedError{Differences: found}
	}
	return nil
}

// compare lists the differences in words for the owner.
func compare(was, now Plan) []string {
	var found []string
	if was.Program != now.Program {
		found = append(found, fmt.Sprintf("%s is now found as %s instead of %s", was.Argv[0], now.Program, was.Program))
	}
	if was.Executable != now.Executable {
		found = append(found, fmt.Sprintf("%s now leads to %s instead of %s", was.Program, now.Executable, was.Executable))
	} else if was.ExecutableHash != now.ExecutableHash {
		found = append(found, fmt.Sprintf("%s has other content", was.Executable))
	}
	if !slices.Equal(was.Interpreter, now.Interpreter) || was.InterpreterHash != now.InterpreterHash {
		found = append(found, fmt.Sprintf("%s would be run by another interpreter", was.Executable))
	}
	if was.Dir != now.Dir {
		found = append(found, fmt.Sprintf("the working folder is now %s instead of %s", now.Dir, was.Dir))
	}
	if !slices.Equal(was.EnvKeys, now.EnvKeys) {
		found = append(found, "other environment variables are set")
	}
	return append(found, compareOperands(was.Operands, now.Operands)...)
}

func compareOperands(was, now []Operand) []string {
	var found []string
	for _, o := range was {
		i := slices.IndexFunc(now, func(n Operand) bool { return n.ArgIndex == o.ArgIndex })
		switch {
		case i < 0:
			found = append(found, fmt.Sprintf("%s is gone", o.Path))
		case now[i].Path != o.Path:
			found = append(found, fmt.Sprintf("%s is now %s", o.Path, now[i].Path))
		case now[i] != o:
			found = append(found, fmt.Sprintf("%s has other content", o.Path))
		}
	}
	for _, n := range now {
		if !slices.ContainsFunc(was, func(o Operand) bool { return o.ArgIndex == n.ArgIndex }) {
			found = append(found, fmt.Sprintf("%s exists now", n.Path))
		}
	}
	return found
}
