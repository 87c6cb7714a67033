//go:build !windows

package blob

import (
	"errors"
	"os"
)

// syncDir makes a rename inside dir survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
