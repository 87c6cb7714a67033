package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// isTrusted is true inside the folders that only an administrator can change.
func isTrusted(path string) bool {
	for _, name := range []string{"SystemRoot", "ProgramFiles", "ProgramFiles(x86)"} {
		dir := os.Getenv(name)
		if dir == "" || !filepath.IsAbs(dir) {
			continue
		}
		if isWithin(strings.ToLower(path), strings.ToLower(filepath.Clean(dir))) && !isWithin(strings.ToLower(path), strings.ToLower(filepath.Join(dir, "Temp"))) {
			return true
		}
	}
	return false
}

func openNonblocking(path string) (*os.File, error) { return os.Open(path) }

// holdsInPlace is true: while a file is open without sharing, nobody can write,
// rename or delete it.
const holdsInPlace = true

func openHeld(path string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ, windows.FILE_SHARE_READ, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), path), nil
}
