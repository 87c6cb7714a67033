package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/adrg/xdg"
)

// HomeVariable is the environment variable that names the data directory.
const HomeVariable = "COUNTERSIGN_HOME"

// Dir returns the data directory as an absolute path and creates it with mode
// 0700. flagHome wins, then COUNTERSIGN_HOME, then the convention of the system.
// It refuses a directory on a network drive, one that belongs to another user
// and one that others can write; the error says what to do.
func Dir(flagHome string) (string, error) {
	dir := flagHome
	if dir == "" {
		dir = os.Getenv(HomeVariable)
	}
	if dir == "" {
		var err error
		if dir, err = ConventionalDir(); err != nil {
			return "", err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create the data directory %s: %w", dir, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("open the data directory: %w", err)
	}
	if fs := networkFilesystem(dir); fs != "" {
		return "", fmt.Errorf("the data directory %s is on %s, where a crash can damage it; choose a folder on a disk of this computer with --home", dir, fs)
	}
	if err := secureDir(dir, info); err != nil {
		return "", err
	}
	return dir, nil
}

// ConventionalDir returns the data directory by the convention of the system; it
// makes nothing.
func ConventionalDir() (string, error) {
	// The package reads the environment once, when the program starts.
	xdg.Reload()
	name := "Countersign"
	if runtime.GOOS == "linux" {
		name = "countersign"
	}
	if xdg.Home == "" || !filepath.IsAbs(xdg.DataHome) {
		return "", fmt.Errorf("your home folder is not known; name a data directory with --home or %s", HomeVariable)
	}
	return filepath.Join(xdg.DataHome, name), nil
}
