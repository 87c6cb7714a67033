//go:build !windows

package sandbox

import (
	"os"
	"os/exec"
	"syscall"
)

// watchdog leads the process group of a command and kills it when this process
// dies. It is a shell that waits for the end of a pipe whose other end only we
// hold, and it is started first, so that a command is never without it. It is
// needed where, or as long as, neither a namespace nor a signal ties a whole tree
// to its parent.
type watchdog struct {
	cmd  *exec.Cmd
	pipe *os.File
}

func startWatchdog() (*watchdog, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	script := `trap '' TERM INT HUP; read -r line; kill -KILL 0`
	cmd := command("/bin/sh", []string{"sh", "-c", script}, "/", []string{"PATH=/usr/bin:/bin"})
	cmd.Stdin = read
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	SealDescriptors()
	err = cmd.Start()
	closeAll([]*os.File{read})
	if err != nil {
		closeAll([]*os.File{write})
		return nil, err
	}
	return &watchdog{cmd: cmd, pipe: write}, nil
}

// group is the process group to start the command in.
func (w *watchdog) group() int { return w.cmd.Process.Pid }

// close ends the watchdog without its bite.
func (w *watchdog) close() {
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
	closeAll([]*os.File{w.pipe})
}
