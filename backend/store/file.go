package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// applicationID marks our files in the SQLite header ("CSgn").
const applicationID = 0x4353676e

const (
	headerSize       = 100
	headerMagic      = "SQLite format 3\x00"
	headerUserVers   = 60 // offset of PRAGMA user_version, big-endian
	headerAppID      = 68 // offset of PRAGMA application_id, big-endian
	ownerOnlyDir     = fs.FileMode(0o700)
	ownerOnlyFile    = fs.FileMode(0o600)
	groupOrOtherBits = fs.FileMode(0o077)
)

// sidecars are the files SQLite keeps beside the database.
func sidecars(path string) []string { return []string{path + "-wal", path + "-shm"} }

// prepareDir makes dir with mode 0700, or takes the group and other bits away.
// It never narrows a folder that is meant to be shared, such as /tmp.
func prepareDir(dir string) error {
	if err := os.MkdirAll(dir, ownerOnlyDir); err != nil {
		return classify(dir, fmt.Errorf("make data folder: %w", err))
	}
	info, err := os.Stat(dir)
	if err != nil {
		return classify(dir, fmt.Errorf("look at data folder: %w", err))
	}
	if err := refuseNetworkDrive(dir); err != nil {
		return err
	}
	if runtime.GOOS == "windows" || info.Mode().Perm()&groupOrOtherBits == 0 {
		return nil
	}
	if info.Mode()&fs.ModeSticky != 0 {
		return fmt.Errorf("%w: %s is shared with other people of this computer; choose a folder of its own", ErrReadOnly, dir)
	}
	if err := os.Chmod(dir, ownerOnlyDir); err != nil {
		return classify(dir, fmt.Errorf("close data folder to others: %w", err))
	}
	return nil
}

// prepareFile makes an empty file with mode 0600, so that SQLite, which gives
// its side files the mode of the main file, never makes one that others can
// read, whatever the umask. It reports the size that was there.
//
// It must not run while SQLite has the file open: closing any descriptor of a
// file drops the POSIX locks the process holds on it.
func prepareFile(path string) (size int64, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, ownerOnlyFile)
		if err != nil {
			return 0, classify(path, fmt.Errorf("make data file: %w", err))
		}
		return 0, f.Close()
	case err != nil:
		return 0, classify(path, fmt.Errorf("look at data file: %w", err))
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%w: %s is not a file", ErrReadOnly, path)
	}
	return info.Size(), nil
}

// closeToOthers takes group and other bits from the database and its side files.
func closeToOthers(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	for _, p := range append([]string{path}, sidecars(path)...) {
		info, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.Mode().Perm()&groupOrOtherBits != 0 {
			err = os.Chmod(p, ownerOnlyFile)
		}
		if err != nil {
			return classify(p, fmt.Errorf("close data file to others: %w", err))
		}
	}
	return nil
}

// header is what can be known of a database without SQLite touching it.
type header struct {
	format int
	appID  uint32
}

func readHeader(path string) (header, error) {
	f, err := os.Open(path)
	if err != nil {
		return header{}, classify(path, fmt.Errorf("read data file: %w", err))
	}
	defer f.Close() //nolint:errcheck // opened for reading
	raw := make([]byte, headerSize)
	if _, err := io.ReadFull(f, raw); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return header{}, &CorruptError{Path: path, Detail: "the file is cut short"}
		}
		return header{}, classify(path, fmt.Errorf("read data file: %w", err))
	}
	if string(raw[:len(headerMagic)]) != headerMagic {
		return header{}, &CorruptError{Path: path, Detail: "this is not a database"}
	}
	return header{
		format: int(int32(binary.BigEndian.Uint32(raw[headerUserVers:]))),
		appID:  binary.BigEndian.Uint32(raw[headerAppID:]),
	}, nil
}

// sizeOrZero is a file's size in bytes, 0 when it is not there.
func sizeOrZero(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, classify(path, fmt.Errorf("look at %s: %w", path, err))
	}
	return info.Size(), nil
}

// syncFile flushes a finished file and its folder entry. The file must not be
// open in SQLite.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
