//go:build unix

package workspace_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"countersign/backend/workspace"
)

func TestALinkLeadsNowhereButIntoTheFolder(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"absolute": outside, "relative": "../" + filepath.Base(filepath.Dir(outside)) + "/secret", "a folder up": ".."} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Symlink(target, filepath.Join(dir, "SOUL.md")); err != nil {
				t.Fatal(err)
			}
			if files, err := workspace.Load(dir); err == nil {
				t.Errorf("read through the link: %+v", files)
			}
		})
	}
	dir := folder(t, map[string]string{"real.md": "inside"})
	if err := os.Symlink("real.md", filepath.Join(dir, "SOUL.md")); err != nil {
		t.Fatal(err)
	}
	if got := load(t, dir); len(got) != 1 || got[0].Text != "inside" {
		t.Errorf("a link inside gave %+v", got)
	}
}

func TestWhatIsNoPlainFileIsRefusedAtOnce(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"folder":         func(path string) error { return os.Mkdir(path, 0o700) },
		"pipe":           func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link to itself": func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"link to a pipe": func(path string) error {
			if err := syscall.Mkfifo(path+".pipe", 0o600); err != nil {
				return err
			}
			return os.Symlink(filepath.Base(path)+".pipe", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := make(filepath.Join(dir, "AGENTS.md")); err != nil {
				t.Fatal(err)
			}
			// Nobody ever writes into the pipe: an open that waited would not end.
			if files, err := workspace.Load(dir); err == nil {
				t.Errorf("read %+v", files)
			}
		})
	}
}
