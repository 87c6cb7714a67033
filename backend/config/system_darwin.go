package config

import "golang.org/x/sys/unix"

// networkFilesystem names the file system when it is one on which SQLite's
// locks and syncs cannot be trusted.
func networkFilesystem(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return ""
	}
	switch name := unix.ByteSliceToString(st.Fstypename[:]); name {
	case "nfs", "smbfs", "afpfs", "webdav":
		return name
	}
	return ""
}
