package place

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// checkName refuses single names that no file can have here.
func checkName(name string) error {
	if len(name) > maxName {
		return argument("%.40q… is too long for a name (%d bytes; at most %d).", name, len(name), maxName)
	}
	if runtime.GOOS == "windows" && !windowsTakes(name) {
		return argument("%q is not a name that Windows can keep.", name)
	}
	return nil
}

// CheckNewName refuses names for new files that another system would change or
// could not keep: Windows drops a dot or space at the end, so that two names
// become one file.
func CheckNewName(name string) error {
	if strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") || strings.HasPrefix(name, " ") {
		return argument("%q begins or ends with a space or ends with a dot; not every system keeps such a name.", name)
	}
	if !windowsTakes(name) && runtime.GOOS == "windows" {
		return argument("%q is not a name that Windows can keep.", name)
	}
	return nil
}

// windowsTakes reports whether Windows keeps a name as it is: no stream
// ("a.txt:b"), no device ("NUL.txt"), no wildcard, nothing it would trim.
func windowsTakes(name string) bool {
	return !strings.ContainsAny(name, `<>:"|?*\`) && strings.TrimRight(name, ". ") == name && filepath.IsLocal(name)
}

// spelled is the name as the disk holds it: where case does not count, "NOTES.md"
// must not become a second plan for notes.md, nor rename it.
func (w *walk) spelled(name string, info fs.FileInfo) string {
	if !foldsCase {
		return name
	}
	dir, err := w.folder.root.Open(filepath.Join(append([]string{"."}, w.names...)...))
	if err != nil {
		return name
	}
	defer func() { _ = dir.Close() }()
	return spelledIn(dir, name, info)
}

func spelledIn(dir *os.File, name string, info fs.FileInfo) string {
	entries, err := dir.Readdir(-1)
	if err != nil {
		return name
	}
	found := name
	for _, e := range entries {
		if e.Name() == name {
			return name
		}
		if os.SameFile(e, info) {
			found = e.Name()
		}
	}
	return found
}
