//go:build peers

package peers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"countersign/backend/protocol"
)

// terminal is OpenClaw's terminal program in a tmux of its own.
type terminal struct {
	t   *testing.T
	dir string
}

func openTerminal(t *testing.T, o *openclaw, h *host, session, message string) *terminal {
	t.Helper()
	needs(t, "tmux")
	// Not t.TempDir, whose paths are too long for a socket.
	dir, err := os.MkdirTemp("", "peers-tmux")
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, dir: dir}
	t.Cleanup(func() {
		_ = term.tmux("kill-server").Run() // it has ended when the program has
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	args := []string{"new-session", "-d", "-x", "150", "-y", "50", "-s", "t", "env"}
	args = append(args, o.env()...)
	args = append(args, o.node, o.main, "tui", "--url", h.address(), "--token", token, "--session", session, "--message", message)
	if out, err := term.tmux(args...).CombinedOutput(); err != nil {
		t.Fatalf("open a terminal: %v\n%s", err, out)
	}
	return term
}

func (term *terminal) tmux(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(term.dir, "s"), "-f", "/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8")
	return cmd
}

func (term *terminal) screen() string {
	out, err := term.tmux("capture-pane", "-p", "-t", "t").Output()
	if err != nil {
		return "the terminal has ended"
	}
	return string(out)
}

// sees waits until all of these stand on the screen.
func (term *terminal) sees(what ...string) {
	term.t.Helper()
	until(term.t, strings.Join(what, ", "), func() bool {
		screen := term.screen()
		for _, w := range what {
			if !strings.Contains(screen, w) {
				return false
			}
		}
		return true
	}, term.screen)
}

func (term *terminal) types(text string) {
	term.t.Helper()
	for _, keys := range [][]string{{"-l", text}, {"Enter"}} {
		if out, err := term.tmux(append([]string{"send-keys", "-t", "t"}, keys...)...).CombinedOutput(); err != nil {
			term.t.Fatalf("type: %v\n%s", err, out)
		}
	}
}

// The practice model answers without any delay, which is where a gateway can be
// too fast for this program: it misses its own run and its spinner never stops.
func TestOpenClawsTerminalChats(t *testing.T) {
	o, h := newOpenClaw(t), startHost(t)
	term := openTerminal(t, o, h, "a", "say hello to the terminal")
	term.sees("agent main (Countersign)", "session agent:main:a", "\nhello to the terminal", "| idle")
	for _, word := range []string{"first", "second", "third"} {
		term.types("say the " + word + " word")
		term.sees("\nthe "+word+" word", "| idle")
	}
	if screen := term.screen(); strings.Contains(screen, "failed") || strings.Contains(screen, "error") {
		t.Errorf("something went wrong on the way:\n%s", screen)
	}
}

// It brings a device of its own and asks for approvals. The token lets it read
// and write; nobody paired the device, so it decides nothing.
func TestOpenClawsTerminalMayAskAndStopButNotDecide(t *testing.T) {
	o, h := newOpenClaw(t), startHost(t)
	term := openTerminal(t, o, h, "b", "write notes.md: buy milk")
	waiting := func() []protocol.Approval {
		return decode[struct{ Approvals []protocol.Approval }](t, h.must("approvals", "list", "--json")).Approvals
	}
	until(t, "a question", func() bool { return len(waiting()) == 1 }, term.screen)
	if got := waiting()[0].Request; got.Tool != "write" || got.SessionKey != "agent:main:b" {
		t.Errorf("asked was %+v", got)
	}
	term.sees("write notes.md: buy milk")
	term.types("/abort")
	term.sees("| aborted")
	until(t, "the question to be withdrawn", func() bool { return len(waiting()) == 0 }, term.screen)
	notes, err := filepath.Glob(filepath.Join(h.home, "workspace", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range notes {
		if filepath.Base(path) == "notes.md" {
			t.Error("the file was written though nobody allowed it")
		}
	}
}
