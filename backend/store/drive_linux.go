package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// networkDrive names file systems on which SQLite's shared memory or locks do
// not hold. 9P is how WSL shows Windows drives.
func networkDrive(magic uint32) string {
	switch magic {
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "SMB"
	case unix.V9FS_MAGIC:
		return "9P"
	case unix.AFS_SUPER_MAGIC:
		return "AFS"
	case unix.CEPH_SUPER_MAGIC:
		return "Ceph"
	}
	return ""
}

func refuseNetworkDrive(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("look at the drive of %s: %w", dir, err)
	}
	if name := networkDrive(uint32(st.Type)); name != "" {
		return networkDriveError(dir, name)
	}
	return nil
}
