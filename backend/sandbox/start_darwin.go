package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// detected is a Status with the path of sandbox-exec.
type detected struct {
	Status
	tool string
}

const sandboxExec = "/usr/bin/sandbox-exec"

func detect() detected {
	if !isProgram(sandboxExec) {
		return detected{Status: Status{
			Mechanism: MechanismNone,
			Reason:    "Commands run without a sandbox, because this version of macOS has no sandbox-exec.",
			Remedy:    "You are asked before each command; read it with care.",
		}}
	}
	return detected{
		Status: Status{Mechanism: MechanismSandboxExec, Reason: "Commands run in a sandbox of macOS."},
		tool:   sandboxExec,
	}
}

func start(_ context.Context, m detected, req request) (*process, error) {
	path, argv := req.launch.argv[0], req.launch.argv
	if m.Mechanism == MechanismSandboxExec {
		file := filepath.Join(req.private.dir, "profile.sb")
		text := profile(req.mounts, req.tools, req.private.dir, req.spec.Plan.Network)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("write the sandbox profile: %w", err)
		}
		path, argv = m.tool, append([]string{"sandbox-exec", "-f", file}, argv...)
	}
	env := withEnv(withEnv(req.env, homeVariable, req.private.home()), "TMPDIR", req.private.home())
	cmd := command(path, argv, req.spec.Plan.Dir, withEnv(env, "PWD", req.spec.Plan.Dir))
	watch, err := startWatchdog()
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: watch.group()}
	p, theirs, err := newProcess(cmd, req.spec.Stdin != nil)
	if err == nil {
		err = p.begin(theirs, func() error { return nil }, func(pid int) tree { return newFollowedTree(pid, watch) })
	}
	if err != nil {
		watch.close()
		return nil, err
	}
	return p, nil
}

// followInterval is how often the process table is read while a command runs. A
// process that is born, made an orphan and hidden in a session of its own
// between two looks is found only by its group.
const followInterval = 50 * time.Millisecond

// followedTree remembers each process that ever descended from the command,
// since an orphan no longer shows where it came from.
type followedTree struct {
	pid   int
	watch *watchdog // leads the group
	quit  chan struct{}
	done  sync.WaitGroup

	mu   sync.Mutex
	seen map[int]unix.Timeval // process number and its time of birth
}

func newFollowedTree(pid int, watch *watchdog) *followedTree {
	t := &followedTree{pid: pid, watch: watch, quit: make(chan struct{}), seen: map[int]unix.Timeval{}}
	t.look()
	t.done.Go(func() {
		ticker := time.NewTicker(followInterval)
		defer ticker.Stop()
		for {
			select {
			case <-t.quit:
				return
			case <-ticker.C:
				t.look()
			}
		}
	})
	return t
}

// look updates what is known and returns the living members.
func (t *followedTree) look() []int {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for grown := true; grown; {
		grown = false
		for i := range table {
			pid, parent, group := int(table[i].Proc.P_pid), int(table[i].Eproc.Ppid), int(table[i].Eproc.Pgid)
			_, known := t.seen[pid]
			_, parentKnown := t.seen[parent]
			ours := pid == t.pid || group == t.watch.group() || parentKnown
			if !known && ours && pid != t.watch.group() {
				t.seen[pid] = table[i].Proc.P_starttime
				grown = true
			}
		}
	}
	const zombie = 5 // SZOMB of sys/proc.h
	var alive []int
	for i := range table {
		pid := int(table[i].Proc.P_pid)
		if born, known := t.seen[pid]; known && born == table[i].Proc.P_starttime && table[i].Proc.P_stat != zombie {
			alive = append(alive, pid)
		}
	}
	return alive
}

func (t *followedTree) ask() { t.signal(unix.SIGTERM) }

func (t *followedTree) kill() bool { return t.signal(unix.SIGKILL) == 0 }

func (t *followedTree) signal(s syscall.Signal) int {
	pids := t.look()
	for _, pid := range pids {
		_ = unix.Kill(pid, s) // it may have ended meanwhile
	}
	return len(pids)
}

func (t *followedTree) close() {
	close(t.quit)
	t.done.Wait()
	t.watch.close()
}
