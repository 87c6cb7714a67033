//go:build !windows

package sandbox

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// begin starts cmd on a thread of its own and keeps that thread until the
// command has ended: the kernel sends the signal for the death of a parent when
// the thread dies that started the child. prepare runs on that thread and may
// restrict it; the thread is given up afterwards.
func (p *process) begin(theirs []*os.File, prepare func() error, treeOf func(pid int) tree) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: a restricted thread is not reused
		defer close(p.waited)
		err := prepare()
		if err == nil {
			p.started = time.Now()
			SealDescriptors()
			err = p.cmd.Start()
		}
		closeAll(theirs)
		if err != nil {
			result <- err
			return
		}
		p.tree = treeOf(p.cmd.Process.Pid)
		result <- nil
		_ = p.cmd.Wait() // the state is in cmd.ProcessState
	}()
	if err := <-result; err != nil {
		p.closeStreams()
		return err
	}
	return nil
}

func signalName(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return unix.SignalName(ws.Signal())
	}
	return ""
}

func linkOrSkip(target, path string) error { return os.Symlink(target, path) }

// command builds an exec.Cmd without its search on PATH.
func command(path string, argv []string, dir string, env []string) *exec.Cmd {
	return &exec.Cmd{Path: path, Args: argv, Dir: dir, Env: env}
}

func withEnv(env []string, name, value string) []string {
	out := make([]string, 0, len(env)+1)
	for _, pair := range env {
		if !strings.HasPrefix(pair, name+"=") {
			out = append(out, pair)
		}
	}
	return append(out, name+"="+value)
}
