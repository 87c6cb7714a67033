package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func refuseNetworkDrive(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("look at the drive of %s: %w", dir, err)
	}
	if st.Flags&unix.MNT_LOCAL == 0 {
		return networkDriveError(dir, unix.ByteSliceToString(st.Fstypename[:]))
	}
	return nil
}
