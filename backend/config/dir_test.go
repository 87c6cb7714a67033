//go:build !windows

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/backend/config"
)

func TestDirTakesFlagThenVariableThenConvention(t *testing.T) {
	base := t.TempDir()
	t.Setenv("HOME", filepath.Join(base, "home"))
	t.Setenv("XDG_DATA_HOME", filepath.Join(base, "xdg"))
	t.Setenv(config.HomeVariable, filepath.Join(base, "var"))
	for _, c := range []struct{ flag, variable, want string }{
		{filepath.Join(base, "flag"), filepath.Join(base, "var"), "flag"},
		{"", filepath.Join(base, "var"), "var"},
		{"", "", ""},
	} {
		t.Setenv(config.HomeVariable, c.variable)
		dir, err := config.Dir(c.flag)
		if err != nil {
			t.Fatal(err)
		}
		if c.want != "" && dir != filepath.Join(base, c.want) {
			t.Errorf("got %s", dir)
		}
		if !strings.HasPrefix(dir, base) {
			t.Errorf("%s does not follow the convention", dir)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
}

func TestDirRefusesWhatOthersCanWriteAndNamesTheCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's open")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o777, 0o770, 0o702} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Dir(dir); err == nil || !strings.Contains(err.Error(), `chmod 700 '`) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Dir(dir); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("a readable directory was not closed: %v", info.Mode())
	}
}

func TestDirIsAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := config.Dir("here")
	if err != nil || !filepath.IsAbs(dir) {
		t.Fatalf("%s, %v", dir, err)
	}
}

func TestDirRefusesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Dir(path); err == nil {
		t.Fatal("a file was taken as the data directory")
	}
}
