package config

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// isTransientRename is true while a scanner or an indexer holds one of the files.
func isTransientRename(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) ||
		errors.Is(err, windows.ERROR_ACCESS_DENIED) ||
		errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}

// syncDir does nothing: Windows journals a rename and offers no sync of a folder.
func syncDir(string) error { return nil }

// secureDir leaves the rights alone: a profile folder is its user's by default.
func secureDir(string, os.FileInfo) error { return nil }

func networkFilesystem(dir string) string {
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(dir) + `\`)
	if err == nil && windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return "a network drive"
	}
	return ""
}
