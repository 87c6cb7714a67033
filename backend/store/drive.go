package store

import "fmt"

func networkDriveError(dir, kind string) error {
	return fmt.Errorf("%w: %s lies on a network drive (%s), where a power cut or a second computer can damage the data; "+
		"choose a folder on this computer's own disk", ErrReadOnly, dir, kind)
}
