package sandbox

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"time"
)

// detected is a Status with the path of bwrap and those of its options that work
// here.
type detected struct {
	Status
	tool    string
	options []string
}

const probeTimeout = 5 * time.Second

var bwrapPlaces = []string{"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"}

// detect looks for bubblewrap and tries it, since it is often installed where
// the kernel does not let it work.
func detect() detected {
	tool := ""
	for _, path := range bwrapPlaces {
		if isProgram(path) {
			tool = path
			break
		}
	}
	if tool == "" {
		return detected{Status: Status{
			Mechanism: MechanismNone,
			Reason:    "Commands run without a sandbox, because bubblewrap is not installed.",
			Remedy:    "Install it: " + installCommand() + ".",
		}}
	}
	return probeBubblewrap(tool)
}

// commonOptions are what every run uses. The terminal session is new, so that no
// input can be pushed into the owner's terminal.
var commonOptions = []string{
	"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "countersign",
	"--die-with-parent", "--new-session", "--cap-drop", "ALL",
}

// probeBubblewrap tries the strictest options first.
func probeBubblewrap(tool string) detected {
	variants := [][]string{{"--unshare-user", "--disable-userns"}, {"--unshare-user"}}
	if os.Geteuid() == 0 {
		variants = append(variants, nil)
	}
	var last string
	for _, extra := range variants {
		options := append(append([]string{}, extra...), commonOptions...)
		message, ok := tryBubblewrap(tool, options)
		if ok {
			return detected{
				Status: Status{Mechanism: MechanismBubblewrap, Reason: "Commands run in a bubblewrap sandbox."},
				tool:   tool, options: options,
			}
		}
		last = message
	}
	return detected{Status: Status{
		Mechanism: MechanismNone,
		Reason:    "Commands run without a sandbox, because bubblewrap does not work here (" + last + ").",
		Remedy:    bubblewrapRemedy(last),
	}}
}

func tryBubblewrap(tool string, options []string) (message string, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	b := &bwrapArgs{args: append([]string{}, options...)}
	b.add("--unshare-net")
	b.system(false)
	b.add("--perms", "0700", "--tmpfs", "/tmp", "--remount-ro", "/", "--", "/bin/sh", "-c", "exit 0")
	cmd := exec.CommandContext(ctx, tool, b.args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if err == nil {
		return "", true
	}
	text := strings.TrimPrefix(strings.TrimSpace(stderr.String()), "bwrap: ")
	if text == "" {
		text = err.Error()
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(strings.ToValidUTF8(line, "?"), "."), false
}

// bubblewrapRemedy names the switch that keeps bubblewrap from working.
func bubblewrapRemedy(message string) string {
	switch {
	case strings.Contains(message, "Unknown option"):
		return "Update bubblewrap to version 0.5 or later."
	case setting("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		return "Allow user namespaces: sudo sysctl kernel.unprivileged_userns_clone=1."
	case setting("/proc/sys/user/max_user_namespaces") == "0":
		return "Allow user namespaces: sudo sysctl user.max_user_namespaces=15000."
	case setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
		return "Add an AppArmor profile that lets /usr/bin/bwrap use user namespaces; the package apparmor-profiles has one named bwrap-userns-restrict."
	default:
		return "Allow user namespaces on this computer, or ask its administrator; inside a container, start it with fewer restrictions."
	}
}

func setting(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// installCommand fits the distribution.
func installCommand() string {
	release := setting("/etc/os-release")
	for _, c := range []struct{ id, command string }{
		{"debian", "sudo apt install bubblewrap"}, {"ubuntu", "sudo apt install bubblewrap"},
		{"fedora", "sudo dnf install bubblewrap"}, {"rhel", "sudo dnf install bubblewrap"},
		{"arch", "sudo pacman -S bubblewrap"}, {"suse", "sudo zypper install bubblewrap"},
		{"alpine", "sudo apk add bubblewrap"},
	} {
		for line := range strings.Lines(release) {
			if name, value, ok := strings.Cut(line, "="); ok && (name == "ID" || name == "ID_LIKE") && strings.Contains(value, c.id) {
				return c.command
			}
		}
	}
	return "the package is called bubblewrap"
}
