package files_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/tool"
	"countersign/backend/tool/files"
	"countersign/backend/tool/tooltest"
)

// TestAWriteThatIsNotPermittedFails runs as nobody in a child when the tests run
// as root, whom no mode binds.
func TestAWriteThatIsNotPermittedFails(t *testing.T) {
	if dir := os.Getenv("COUNTERSIGN_WRITE_IN"); dir != "" {
		writeForbidden(t, tool.Env{Folders: []tool.Folder{{Path: dir, Writable: true}}})
		return
	}
	g := tooltest.NewGround(t)
	for dir := g.Workspace; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	if os.Getuid() != 0 {
		must(t, os.Chmod(g.Workspace, 0o555))
		t.Cleanup(func() { _ = os.Chmod(g.Workspace, 0o755) })
		writeForbidden(t, tool.Env{Folders: g.Env.Folders[:1]})
		return
	}
	before := g.Tree()
	self := filepath.Join(g.Outside, "test")
	copyProgram(t, self)
	before[self] = g.Tree()[self]
	cmd := exec.Command(self, "-test.run=^TestAWriteThatIsNotPermittedFails$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = []string{"COUNTERSIGN_WRITE_IN=" + g.Workspace, "TMPDIR=/tmp"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
	if diff := before.Diff(g.Tree()); diff != "" {
		t.Error(diff)
	}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	in, err := os.Open(self)
	must(t, err)
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
}

func writeForbidden(t *testing.T, env tool.Env) {
	for _, args := range []string{`{"path":"notes.md","content":"x"}`, `{"path":"new.txt","content":"x"}`, `{"path":"new/deep.txt","content":"x"}`} {
		p, err := files.Write{}.Plan(context.Background(), env, []byte(args))
		must(t, err)
		r, err := files.Write{}.Do(context.Background(), env, p, nil)
		must(t, err)
		if r.Outcome != protocol.OutcomeFailed || !r.IsError || r.Evidence.Error != "You have no permission for it." ||
			!strings.Contains(r.Content, "Nothing was changed") {
			t.Errorf("%s: %+v", args, r)
		}
	}
}
