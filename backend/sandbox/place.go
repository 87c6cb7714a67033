package sandbox

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// mount is one folder of a place: shown or hidden.
type mount struct {
	path     string
	writable bool
	hidden   bool
}

// mounts returns the place as real paths, outer ones first, so that an inner one
// decides when they are put in place in this order.
func (p Place) mounts() []mount {
	var list []mount
	for _, root := range p.Roots {
		if real, err := filepath.EvalSymlinks(root.Path); err == nil && filepath.IsAbs(real) {
			list = append(list, mount{path: real, writable: root.Writable})
		}
	}
	for _, hide := range p.Hide {
		if real, err := filepath.EvalSymlinks(hide); err == nil && filepath.IsAbs(real) {
			list = append(list, mount{path: real, hidden: true})
		}
	}
	slices.SortStableFunc(list, func(a, b mount) int {
		if d := cmp.Compare(len(a.path), len(b.path)); d != 0 {
			return d
		}
		if d := strings.Compare(a.path, b.path); d != 0 {
			return d
		}
		return cmp.Compare(rank(a), rank(b))
	})
	return list
}

// rank puts the stricter of two mounts of one path last, where it decides.
func rank(m mount) int {
	switch {
	case m.hidden:
		return 2
	case m.writable:
		return 0
	default:
		return 1
	}
}

// covering returns the mount that decides about path.
func covering(mounts []mount, path string) (mount, bool) {
	for _, m := range slices.Backward(mounts) {
		if isWithin(path, m.path) {
			return m, true
		}
	}
	return mount{}, false
}

// guards returns the folders between a writable root and something hidden in it.
// They must not be renamed: what is hidden would move along to a place where the
// next command sees it. They come outer ones first.
func guards(mounts []mount) []string {
	var list []string
	for i, m := range mounts {
		if !m.hidden {
			continue
		}
		outer, ok := covering(mounts[:i], filepath.Dir(m.path))
		if !ok || outer.hidden || !outer.writable {
			continue
		}
		for dir := filepath.Dir(m.path); dir != outer.path && isWithin(dir, outer.path); dir = filepath.Dir(dir) {
			list = append(list, dir)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// visible says whether a command in this place could read path.
func visible(mounts []mount, toolDirs []string, path string) bool {
	if m, ok := covering(mounts, path); ok {
		return !m.hidden
	}
	return isSystemPath(path) || slices.ContainsFunc(toolDirs, func(dir string) bool { return isWithin(path, dir) })
}

// checkPlace refuses a plan that could not run in this place, in words, where
// the system would only say that a file does not exist.
func checkPlace(mounts []mount, toolDirs []string, p Plan) error {
	if m, ok := covering(mounts, p.Dir); !ok || m.hidden {
		return refuse(nil, "The working folder %s is not one that this agent may use.", p.Dir)
	}
	if !visible(mounts, toolDirs, p.Executable) {
		return refuse(nil, "The program %s is not in a folder that this agent may use.", p.Executable)
	}
	for _, o := range p.Operands {
		if o.Executed && !visible(mounts, toolDirs, o.Path) {
			return refuse(nil, "The script %s is not in a folder that this agent may use.", o.Path)
		}
	}
	for _, m := range mounts {
		if !m.hidden && m.path == string(filepath.Separator) {
			return refuse(nil, "The whole disk cannot be given to an agent; name a folder.")
		}
	}
	return nil
}

// toolDirs are the folders outside the system that programs of PATH need: the
// bin folder itself and, beside it, the libraries it was installed with.
func toolDirs(env []string) []string {
	var dirs []string
	for _, dir := range filepath.SplitList(envValue(env, "PATH")) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || isSystemPath(real) || !isToolDir(dir) {
			continue
		}
		for _, d := range []string{dir, real} {
			if isSystemPath(d) {
				continue
			}
			dirs = append(dirs, d)
			for _, sibling := range []string{"lib", "lib64", "libexec"} {
				dirs = append(dirs, filepath.Join(filepath.Dir(d), sibling))
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
