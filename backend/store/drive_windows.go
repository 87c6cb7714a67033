package store

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/windows"
)

func refuseNetworkDrive(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("look at the drive of %s: %w", dir, err)
	}
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(abs) + `\`)
	if err != nil {
		return fmt.Errorf("look at the drive of %s: %w", dir, err)
	}
	if windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return networkDriveError(dir, "a Windows share")
	}
	return nil
}
