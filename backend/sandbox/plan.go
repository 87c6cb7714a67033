package sandbox

import "errors"

// Resolve turns a command into a plan. argv[0] is looked up in the PATH of env
// unless it holds a slash; relative paths are relative to dir. env nil means the
// environment of this process. Its errors are *ResolveError.
func Resolve(argv []string, dir string, env []string, network bool) (Plan, error) {
	return Plan{}, &ResolveError{Sentence: "Commands cannot be planned here.", Err: errors.ErrUnsupported}
}
