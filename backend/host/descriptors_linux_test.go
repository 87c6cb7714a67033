package host_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/backend/protocol"
)

// A descriptor that the launching shell left open, of a folder or a file, must
// not reach a command: with one of a folder it could leave the sandbox.
func TestACommandInheritsNoDescriptor(t *testing.T) {
	outside := t.TempDir()
	secretFile := filepath.Join(outside, "id")
	if err := os.WriteFile(secretFile, []byte("ssh-key"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	// Left open after the host started, without care: worse than by a shell.
	dir, err := unix.Open(outside, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	file, err := unix.Open(secretFile, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(file)
	c := r.window()
	run := chat(c, "run ls -l /proc/self/fd")
	if run = allow(c, run); run.State != protocol.RunDone {
		t.Fatalf("ended %s", run.State)
	}
	run = chat(c, "run cat /proc/self/fd/"+strconv.Itoa(file)+" /proc/self/fd/"+strconv.Itoa(dir)+"/id")
	if run = allow(c, run); run.State != protocol.RunDone {
		t.Fatalf("ended %s", run.State)
	}
	for _, rc := range call[protocol.ReceiptsList](c, protocol.MethodReceiptsList, protocol.ReceiptsListParams{}).Receipts {
		if strings.Contains(rc.Evidence.Output, "ssh-key") || strings.Contains(rc.Evidence.Output, outside) {
			t.Fatalf("a command reached what the host had open:\n%s", rc.Evidence.Output)
		}
	}
}
