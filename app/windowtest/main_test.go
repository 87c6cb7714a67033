//go:build desktop_e2e

package windowtest

import (
	"os"
	"path/filepath"
	"testing"
)

// program is one of the built programs.
func program(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run make build first", err)
	}
	return path
}
