package config

import "golang.org/x/sys/unix"

// networkFilesystem names the file system when it is one on which SQLite's
// locks and syncs cannot be trusted.
func networkFilesystem(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return ""
	}
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return "a Windows share"
	case unix.AFS_SUPER_MAGIC:
		return "AFS"
	case unix.V9FS_MAGIC:
		return "a drive of the host system (9p)"
	}
	return ""
}
