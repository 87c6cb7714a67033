package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"countersign/backend/store"
)

const childDir = "STORE_TEST_LOCK_DIR"

// runAsChild holds a lock until it is killed, when the test asks for it.
func runAsChild() bool {
	dir := os.Getenv(childDir)
	if dir == "" {
		return false
	}
	if _, err := store.Lock(dir); err != nil {
		fmt.Println("refused:", err)
		return true
	}
	fmt.Println("locked")
	select {} // until killed
}

func holdInChild(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "locked\n" {
		t.Fatalf("child: %q, %v", line, err)
	}
	return child
}

func TestALockDiesWithItsProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	for range 5 {
		child := holdInChild(t, dir)
		_, err := store.Lock(dir)
		var locked *store.LockedError
		if !errors.As(err, &locked) || !errors.Is(err, store.ErrLocked) {
			t.Fatalf("locked twice: %v", err)
		}
		if locked.PID != child.Process.Pid {
			t.Errorf("hint %d, want %d", locked.PID, child.Process.Pid)
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // it was killed, which Wait calls an error
		lock, err := store.Lock(dir)
		if err != nil {
			t.Fatalf("after the kill: %v", err)
		}
		if err := errors.Join(lock.Release(), lock.Release()); err != nil {
			t.Errorf("release: %v", err)
		}
	}
}
