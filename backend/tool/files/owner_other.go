//go:build !unix

package files

import (
	"io/fs"
	"os"
)

// keepOwner has nothing to do: a replaced file takes the folder's access rules.
func keepOwner(*os.File, fs.FileInfo) error { return nil }

// hasOtherNames cannot be told from the directory entry here.
func hasOtherNames(fs.FileInfo) bool { return false }

// syncDir has no counterpart; the file system orders a renaming itself.
func syncDir(*os.Root) error { return nil }
