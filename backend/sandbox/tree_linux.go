package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// proc is one line of the process table.
type proc struct {
	pid, parent, group, session int
	zombie                      bool
}

// processes reads /proc. A process that ends meanwhile is left out.
func processes() []proc {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []proc
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		// The name in parentheses may hold anything, also parentheses.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 4 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		group, _ := strconv.Atoi(fields[2])
		session, _ := strconv.Atoi(fields[3])
		list = append(list, proc{pid: pid, parent: parent, group: group, session: session, zombie: fields[0] == "Z" || fields[0] == "X"})
	}
	return list
}

// descendants returns everything below pid, without pid itself.
func descendants(list []proc, pid int) []proc {
	below := map[int]bool{pid: true}
	var found []proc
	for grown := true; grown; {
		grown = false
		for _, p := range list {
			if below[p.parent] && !below[p.pid] {
				below[p.pid] = true
				found = append(found, p)
				grown = true
			}
		}
	}
	return found
}

// namespaceTree is a command in a PID namespace of its own. When the first
// process of the namespace ends, the kernel ends all others before it reports
// that end.
type namespaceTree struct {
	pid    int
	waited <-chan struct{}
	// first is a descriptor of the namespace's first process when pid is only its
	// watcher outside, else -1.
	first int
	// watch leads the group of a watcher that needs one, else nil.
	watch *watchdog
}

// ask signals the command's processes and spares the watcher and the first
// process of the namespace, whose end would not leave the others any time.
func (t *namespaceTree) ask() {
	for _, p := range descendants(processes(), t.pid) {
		if t.first >= 0 && p.parent == t.pid {
			continue
		}
		_ = unix.Kill(p.pid, unix.SIGTERM) // it may have ended meanwhile
	}
	if t.first < 0 {
		_ = unix.Kill(t.pid, unix.SIGTERM)
	}
}

func (t *namespaceTree) kill() bool {
	if t.first >= 0 {
		_ = unix.PidfdSendSignal(t.first, unix.SIGKILL, nil, 0) // it may have ended already
	}
	select {
	case <-t.waited:
		return t.firstEnded()
	default:
		_ = unix.Kill(t.pid, unix.SIGKILL) // not yet waited for, so the number is ours
		return false
	}
}

func (t *namespaceTree) firstEnded() bool {
	if t.first < 0 {
		return true
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(t.first), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}

func (t *namespaceTree) close() {
	if t.first >= 0 {
		_ = unix.Close(t.first)
	}
	if t.watch != nil {
		t.watch.close()
	}
}

// markVariable marks the processes of one run where nothing else keeps them
// together.
const markVariable = "COUNTERSIGN_RUN"

// markedTree is a command without a namespace. Its processes are found by
// descent, by session and group, and by the mark in their environment, which
// also those have that made themselves orphans in a session of their own. One
// that also removes its environment escapes.
type markedTree struct {
	pid   int
	mark  string
	watch *watchdog // leads the group
}

func (t *markedTree) members() []int {
	list := processes()
	found := map[int]bool{}
	for _, p := range descendants(list, t.pid) {
		found[p.pid] = !p.zombie
	}
	want := []byte(markVariable + "=" + t.mark)
	for _, p := range list {
		if p.zombie {
			continue
		}
		if p.pid == t.pid || p.group == t.watch.group() || p.session == t.pid {
			found[p.pid] = true
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "environ"))
		if err == nil && bytes.Contains(environ, want) {
			found[p.pid] = true
		}
	}
	delete(found, t.watch.group())
	var pids []int
	for pid, alive := range found {
		if alive {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (t *markedTree) ask() { t.signal(unix.SIGTERM) }

func (t *markedTree) kill() bool { return t.signal(unix.SIGKILL) == 0 }

func (t *markedTree) signal(s syscall.Signal) int {
	pids := t.members()
	for _, pid := range pids {
		_ = unix.Kill(pid, s) // it may have ended meanwhile
	}
	return len(pids)
}

func (t *markedTree) close() { t.watch.close() }
