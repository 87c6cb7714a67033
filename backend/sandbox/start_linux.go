package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sandboxHome is the empty home folder of a command.
const sandboxHome = "/home/agent"

func start(ctx context.Context, m detected, req request) (*process, error) {
	if m.Mechanism == MechanismBubblewrap {
		return startBubblewrap(ctx, m, req)
	}
	return startBare(req)
}

// gateScript stands in front of the command inside the sandbox. It says that
// everything is in place and waits for the word to go. Without it, a parent that
// dies while bubblewrap is still mounting would leave the command running, since
// bubblewrap ties itself to its parent only afterwards; and an error of
// bubblewrap could not be told from one of the command.
const gateScript = `echo ready >&3; IFS= read -r go <&4 || exit 126; exec 3>&- 4<&-; exec "$@"`

func startBubblewrap(ctx context.Context, m detected, req request) (*process, error) {
	b := &bwrapArgs{}
	defer func() { closeAll(b.files) }()
	g, err := newGate()
	if err != nil {
		return nil, err
	}
	defer g.close()
	// The gate's ends are descriptors 3 and 4, as its script has it.
	b.files = append(b.files, g.readyWrite, g.goRead)
	if err := b.build(m, req); err != nil {
		return nil, err
	}
	options, err := memoryFile("options", []byte(strings.Join(b.args, "\x00")+"\x00"))
	if err != nil {
		return nil, err
	}
	b.files = append(b.files, options, g.infoWrite)
	argv := []string{"bwrap", "--args", strconv.Itoa(1 + len(b.files)), "--info-fd", strconv.Itoa(2 + len(b.files)), "--",
		"/bin/sh", "-c", gateScript, "sh"}
	env := withEnv(withEnv(req.env, homeVariable, sandboxHome), "TMPDIR", "/tmp")
	cmd := command(m.tool, append(argv, req.launch.argv...), "/", env)
	cmd.ExtraFiles = b.files
	// bubblewrap holds its child back until everything is prepared. One that dies
	// before, by our signal or of a broken pipe, leaves a child that waits for ever
	// and is tied to nobody; until its session is its own, the group reaches it.
	watch, err := startWatchdog()
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: watch.group(), Pdeathsig: syscall.SIGKILL}
	p, theirs, err := newProcess(cmd, req.spec.Stdin != nil)
	if err != nil {
		watch.close()
		return nil, err
	}
	prepare := func() error { return nil }
	if req.spec.Plan.Network {
		// The network namespace of the host brings its abstract sockets along, and
		// the session bus may be one of them.
		prepare = denyAbstractSockets
	}
	err = p.begin(append(theirs, b.files...), prepare, func(pid int) tree {
		return &namespaceTree{pid: pid, waited: p.waited, first: firstProcess(g.infoRead), watch: watch}
	})
	if err != nil {
		watch.close()
		return nil, err
	}
	if err := g.pass(ctx); err != nil {
		return nil, p.abandon(err)
	}
	return p, nil
}

// gate holds the pipes between us and gateScript.
type gate struct {
	readyRead, readyWrite, goRead, goWrite, infoRead, infoWrite *os.File
}

func newGate() (*gate, error) {
	g := &gate{}
	for _, pair := range [][2]**os.File{{&g.readyRead, &g.readyWrite}, {&g.goRead, &g.goWrite}, {&g.infoRead, &g.infoWrite}} {
		r, w, err := os.Pipe()
		if err != nil {
			g.close()
			return nil, err
		}
		*pair[0], *pair[1] = r, w
	}
	return g, nil
}

func (g *gate) close() {
	closeAll([]*os.File{g.readyRead, g.readyWrite, g.goRead, g.goWrite, g.infoRead, g.infoWrite})
}

// pass waits for the sandbox to be ready and lets the command go.
func (g *gate) pass(ctx context.Context) error {
	_ = g.readyRead.SetReadDeadline(time.Now().Add(gateTimeout))
	defer context.AfterFunc(ctx, func() { _ = g.readyRead.SetReadDeadline(time.Now()) })()
	word := make([]byte, 8)
	if n, err := g.readyRead.Read(word); err != nil || n == 0 {
		return errGate
	}
	_, err := g.goWrite.Write([]byte("go\n"))
	return err
}

// gateTimeout is generous: a busy machine may take its time to mount.
const gateTimeout = 30 * time.Second

var errGate = errors.New("the sandbox could not be set up")

// abandon ends a process whose command never began, and returns the reason that
// it gave.
func (p *process) abandon(cause error) error {
	s := p.read(4<<10, nil)
	p.finish(s)
	text, _ := s.stderr.text()
	if text = strings.TrimSpace(text); text != "" {
		return fmt.Errorf("%w: %s", cause, text)
	}
	return cause
}

// firstProcess reads from bubblewrap which process is the first of the
// namespace, and returns a descriptor of it. It returns -1 when bubblewrap ended
// before it made one.
func firstProcess(info *os.File) int {
	_ = info.SetReadDeadline(time.Now().Add(gateTimeout))
	var said struct {
		Pid int `json:"child-pid"`
	}
	if err := json.NewDecoder(info).Decode(&said); err != nil || said.Pid <= 0 {
		return -1
	}
	fd, err := unix.PidfdOpen(said.Pid, 0)
	if err != nil {
		return -1
	}
	return fd
}

// startBare runs without a sandbox: in a PID namespace where the kernel lets us,
// so that nothing can be left behind, else as a marked process group.
func startBare(req request) (*process, error) {
	p, err := startInNamespace(req)
	if err == nil || !(errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS)) {
		return p, err
	}
	return startMarked(req)
}

func bareCommand(req request, env []string) *exec.Cmd {
	env = withEnv(withEnv(env, homeVariable, req.private.home()), "PWD", req.spec.Plan.Dir)
	return command(req.launch.argv[0], req.launch.argv, req.spec.Plan.Dir, env)
}

func startInNamespace(req request) (*process, error) {
	cmd := bareCommand(req, req.env)
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
	cmd.SysProcAttr = attr
	p, theirs, err := newProcess(cmd, req.spec.Stdin != nil)
	if err != nil {
		return nil, err
	}
	err = p.begin(theirs, func() error { return nil }, func(pid int) tree {
		return &namespaceTree{pid: pid, waited: p.waited, first: -1}
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

func startMarked(req request) (*process, error) {
	watch, err := startWatchdog()
	if err != nil {
		return nil, err
	}
	mark := rand.Text()
	cmd := bareCommand(req, append(slices.Clone(req.env), markVariable+"="+mark))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: watch.group(), Pdeathsig: syscall.SIGKILL}
	p, theirs, err := newProcess(cmd, req.spec.Stdin != nil)
	if err == nil {
		err = p.begin(theirs, func() error { return nil }, func(pid int) tree {
			return &markedTree{pid: pid, mark: mark, watch: watch}
		})
	}
	if err != nil {
		watch.close()
		return nil, err
	}
	return p, nil
}

// memoryFile is an unnamed file that holds data and cannot be changed any more.
func memoryFile(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(data); err != nil {
		return nil, errors.Join(fmt.Errorf("fill a file in memory: %w", err), f.Close())
	}
	if _, err := f.Seek(0, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE); err != nil {
		return nil, errors.Join(fmt.Errorf("seal a file in memory: %w", err), f.Close())
	}
	return f, nil
}

// bwrapArgs collects the options of bubblewrap and the files they refer to,
// which the child sees from descriptor 3 on.
type bwrapArgs struct {
	args  []string
	files []*os.File
}

func (b *bwrapArgs) add(args ...string) { b.args = append(b.args, args...) }

// build puts the mounts in order: system, own folders, the agent's folders with
// what is hidden in them, copies, and last everything else read-only.
func (b *bwrapArgs) build(m detected, req request) error {
	b.add(m.options...)
	if !req.spec.Plan.Network {
		b.add("--unshare-net")
	}
	b.system(req.spec.Plan.Network)
	b.add("--tmpfs", "/tmp", "--dir", "/var", "--symlink", "../tmp", "/var/tmp")
	b.add("--perms", "0700", "--tmpfs", sandboxHome)
	for _, dir := range req.tools {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			b.add("--ro-bind-try", dir, dir)
		}
	}
	for _, mt := range withGuards(req.mounts) {
		b.mount(mt, req)
	}
	if err := b.copies(req.launch.files); err != nil {
		return err
	}
	b.add("--remount-ro", "/", "--chdir", req.spec.Plan.Dir)
	return nil
}

// withGuards adds the guarded folders as mounts of their own, for a mount point
// cannot be renamed. Shorter paths come first, so none covers what is inside it.
func withGuards(mounts []mount) []mount {
	list := slices.Clone(mounts)
	for _, dir := range guards(mounts) {
		list = append(list, mount{path: dir, writable: true})
	}
	slices.SortStableFunc(list, func(a, b mount) int { return len(a.path) - len(b.path) })
	return list
}

func (b *bwrapArgs) mount(mt mount, req request) {
	switch {
	case !mt.hidden && mt.writable:
		b.add("--bind", mt.path, mt.path)
	case !mt.hidden:
		b.add("--ro-bind", mt.path, mt.path)
	default:
		shown := isSystemPath(mt.path) || slices.ContainsFunc(req.tools, func(d string) bool { return isWithin(mt.path, d) }) ||
			slices.ContainsFunc(req.mounts, func(o mount) bool { return !o.hidden && isWithin(mt.path, o.path) })
		if !shown {
			return
		}
		if info, err := os.Stat(mt.path); err == nil && info.IsDir() {
			b.add("--perms", "0500", "--tmpfs", mt.path)
			if !slices.ContainsFunc(req.mounts, func(o mount) bool { return !o.hidden && o.path != mt.path && isWithin(o.path, mt.path) }) {
				b.add("--remount-ro", mt.path)
			}
			return
		}
		b.add("--ro-bind", "/dev/null", mt.path)
	}
}

// etcNames is what programs need of /etc. The rest stays out: it holds passwords,
// host keys and the settings of services.
var etcNames = []string{
	"alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "debian_version", "fonts", "gai.conf", "group",
	"host.conf", "hosts", "inputrc", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime",
	"login.defs", "lsb-release", "magic", "magic.mime", "mime.types", "nsswitch.conf", "os-release", "papersize", "passwd",
	"perl", "pki/ca-trust", "pki/tls/cert.pem", "pki/tls/certs", "pki/tls/openssl.cnf", "profile", "protocols", "bash.bashrc",
	"resolv.conf", "services", "sgml", "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf", "static", "terminfo", "texmf", "timezone", "xml",
}

// etcPrefixes are names that carry a version.
var etcPrefixes = []string{"/etc/python3*", "/etc/java-*"}

func etcPaths() []string {
	var paths []string
	for _, name := range etcNames {
		paths = append(paths, filepath.Join("/etc", name))
	}
	for _, pattern := range etcPrefixes {
		found, err := filepath.Glob(pattern)
		if err == nil {
			paths = append(paths, found...)
		}
	}
	return paths
}

// topLevel are folders that are links on some systems and folders on others.
var topLevel = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

func (b *bwrapArgs) system(network bool) {
	b.add("--ro-bind", "/usr", "/usr")
	for _, dir := range topLevel {
		if target, err := os.Readlink(dir); err == nil {
			b.add("--symlink", target, dir)
		} else {
			b.add("--ro-bind-try", dir, dir)
		}
	}
	// Where the folder of homes is a link, paths by both names work.
	if target, err := os.Readlink("/home"); err == nil {
		b.add("--symlink", target, "/home")
	}
	for _, dir := range []string{"/opt", "/nix/store", "/gnu/store", "/home/linuxbrew", "/run/current-system"} {
		b.add("--ro-bind-try", dir, dir)
	}
	for _, path := range etcPaths() {
		if path == "/etc/resolv.conf" && !network {
			continue
		}
		// A link may lead out of what is shown, as that of resolv.conf to /run.
		if real, err := filepath.EvalSymlinks(path); err == nil {
			b.add("--ro-bind-try", real, path)
		}
	}
	b.add("--proc", "/proc", "--dev", "/dev")
}

// copies puts the private copies in place. Their contents go through sealed
// files in memory; the folder itself becomes read-only with everything else.
func (b *bwrapArgs) copies(files []sealedFile) error {
	for _, f := range files {
		if f.target != "" {
			b.add("--symlink", f.target, f.path)
			continue
		}
		m, err := memoryFile(filepath.Base(f.path), f.data)
		if err != nil {
			return err
		}
		b.files = append(b.files, m)
		b.add("--perms", fmt.Sprintf("%04o", f.mode), "--file", strconv.Itoa(2+len(b.files)), f.path)
	}
	return nil
}
