package exec

import (
	"path"
	"slices"
	"strings"
)

// risk is one kind of command that deserves a second look. It decides nothing: a
// command without a risk is asked about as well. What it adds is the warning, and
// that the tray opens the window instead of allowing.
type risk struct {
	// programs are base names; "*" at the end stands for any rest.
	programs []string
	// sub, if any, is a first word after the options, such as "push".
	sub []string
	// flags, if any, must occur: a long option, or letters of which one stands in
	// a group of short options.
	flags []string
	why   string
}

var risks = []risk{
	{programs: []string{"rm"}, flags: []string{"-r", "-R", "--recursive"}, why: "it removes folders with all they hold"},
	{programs: []string{"find"}, flags: []string{"-delete", "-exec", "-execdir", "-ok"}, why: "it removes files or runs a command for each file found"},
	{programs: []string{"shred", "srm", "wipe"}, why: "it destroys content for good"},
	{programs: []string{"git"}, sub: []string{"clean"}, flags: []string{"-f", "--force"}, why: "it removes files that git does not know"},
	{programs: []string{"git"}, sub: []string{"reset"}, flags: []string{"--hard"}, why: "it throws away changes that are not committed"},
	{programs: []string{"git"}, sub: []string{"push"}, why: "it sends your work to another computer"},
	{programs: []string{"git"}, flags: []string{"-c", "--config-env", "--exec-path"}, why: "git settings can make it run other commands"},
	{programs: []string{"dd"}, why: "it writes raw data over what is there"},
	{programs: []string{"mkfs*", "mke2fs", "wipefs", "fdisk", "sfdisk", "parted", "diskutil", "format"}, why: "it can erase a disk"},
	{programs: []string{"chmod", "chown", "chgrp", "setfacl"}, flags: []string{"-R", "--recursive"}, why: "it changes who may use all files of a folder"},
	{programs: []string{"sudo", "su", "doas", "pkexec", "runas", "run0", "gsudo"}, why: "it asks for an administrator's rights"},
	{programs: []string{"kill", "killall", "pkill", "taskkill"}, why: "it ends programs"},
	{programs: []string{"shutdown", "reboot", "halt", "poweroff", "systemctl", "launchctl", "service", "sc"}, why: "it controls the computer or its services"},
	{programs: []string{"crontab", "at", "batch", "schtasks"}, why: "it makes commands run later"},
	{programs: []string{"npm", "pnpm", "yarn", "bun"}, sub: []string{"install", "i", "add", "ci", "exec", "dlx", "x", "publish", "run"}, why: "it installs or runs code that others wrote"},
	{programs: []string{"npx", "bunx", "uvx", "pipx"}, why: "it fetches and runs code that others wrote"},
	{programs: []string{"pip", "pip3", "uv", "gem", "cargo", "brew", "conda", "poetry"}, sub: []string{"install", "add", "sync", "pip", "tool", "publish"}, why: "it installs code that others wrote"},
	{programs: []string{"go"}, sub: []string{"install", "get", "run", "generate"}, why: "it installs or runs code that others wrote"},
	{programs: []string{"apt", "apt-get", "dnf", "yum", "pacman", "zypper", "apk", "snap", "flatpak", "dpkg", "rpm", "port", "winget", "choco"}, why: "it changes the software of the computer"},
	{programs: []string{"docker", "podman", "nerdctl", "kubectl", "vagrant"}, why: "it can reach past the sandbox by another program"},
	{programs: []string{"ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "socat", "telnet", "ftp"}, why: "it connects to another computer"},
	{programs: []string{"curl"}, flags: []string{"-T", "-d", "-F", "--upload-file", "--data", "--data-binary", "--data-raw", "--form", "-X", "--request", "--json"}, why: "it can send data to another computer"},
	{programs: []string{"wget"}, flags: []string{"--post-data", "--post-file", "--method"}, why: "it can send data to another computer"},
	{programs: []string{"gh", "aws", "gcloud", "az", "terraform", "heroku", "vercel", "fly"}, why: "it acts on an account elsewhere"},
	{programs: []string{"osascript", "open", "xdg-open", "start"}, why: "it makes other programs act"},
	{programs: []string{"eval", "source", "."}, why: "it runs text as commands"},
	{programs: []string{"truncate"}, why: "it can empty files"},
	{programs: []string{"mount", "umount", "modprobe", "insmod", "iptables", "nft", "sysctl"}, why: "it changes the system"},
}

// interpreters run text that is given to them; inline names the options that
// carry such text.
var interpreters = []struct {
	programs []string
	inline   []string
	shell    bool
}{
	{[]string{"sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "busybox"}, []string{"-c"}, true},
	{[]string{"cmd", "cmd.exe"}, []string{"/c", "/k", "/C", "/K"}, true},
	{[]string{"powershell", "pwsh", "powershell.exe", "pwsh.exe"}, []string{"-c", "-command", "-Command", "-e", "-enc", "-EncodedCommand"}, true},
	{[]string{"python*", "pypy*"}, []string{"-c"}, false},
	{[]string{"node", "deno", "bun", "ruby", "perl", "lua*", "Rscript", "osascript"}, []string{"-e", "-E", "-p", "--eval", "--print", "eval"}, false},
	{[]string{"php"}, []string{"-r", "-B", "-E", "-R"}, false},
	{[]string{"awk", "gawk", "mawk"}, []string{"system("}, false},
}

// wrappers run the command that follows their options.
var wrappers = []string{"env", "nice", "nohup", "time", "timeout", "stdbuf", "setsid", "xargs", "command", "exec", "ionice", "chrt", "caffeinate", "parallel", "watch", "busybox"}

// maxDepth bounds commands inside commands.
const maxDepth = 4

// risksOf lists why a command deserves a second look, in order and once each.
func risksOf(argv []string, stdin string) []string {
	var found []string
	add := func(why string) {
		if why != "" && !slices.Contains(found, why) {
			found = append(found, why)
		}
	}
	assess(argv, stdin != "", 0, add)
	return found
}

func assess(argv []string, fed bool, depth int, add func(string)) {
	if len(argv) == 0 || depth > maxDepth {
		return
	}
	name, rest := programName(argv[0]), argv[1:]
	for _, r := range risks {
		if r.fits(name, rest) {
			add(r.why)
		}
	}
	assessInterpreter(name, rest, fed, depth, add)
	if slices.Contains(wrappers, name) {
		assess(innerCommand(rest), fed, depth+1, add)
	}
	if name == "sudo" || name == "doas" || name == "pkexec" {
		assess(innerCommand(rest), fed, depth+1, add)
	}
}

func assessInterpreter(name string, rest []string, fed bool, depth int, add func(string)) {
	for _, in := range interpreters {
		if !oneOf(name, in.programs) {
			continue
		}
		text, inline := inlineText(rest, in.inline, in.shell)
		switch {
		case inline && in.shell:
			add("it is shell text, which can do anything a command can")
			for _, c := range shellCommands(text) {
				assess(c.argv, c.piped, depth+1, add)
				if c.writes {
					add("it writes to files by redirection")
				}
			}
		case inline:
			add("it runs code given in the command itself")
		case fed && !hasOperand(rest):
			add("it runs the text it is fed as code")
		}
	}
}

// inlineText finds the text after an inline option. Shells allow it in a group of
// short options ("-lc").
func inlineText(rest, options []string, shell bool) (string, bool) {
	for i, arg := range rest {
		for _, option := range options {
			grouped := shell && option == "-c" && len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.Contains(arg, "c")
			embedded := option == "system(" && strings.Contains(arg, option)
			joined := len(option) == 2 && option[0] == '-' && strings.HasPrefix(arg, option)
			if arg != option && !grouped && !embedded && !joined {
				continue
			}
			if i+1 < len(rest) {
				return rest[i+1], true
			}
			return "", true
		}
	}
	return "", false
}

func (r risk) fits(name string, rest []string) bool {
	if !oneOf(name, r.programs) {
		return false
	}
	if len(r.sub) > 0 && !slices.ContainsFunc(operands(rest), func(word string) bool { return slices.Contains(r.sub, word) }) {
		return false
	}
	return len(r.flags) == 0 || slices.ContainsFunc(rest, r.hasFlag)
}

// hasFlag takes "--data=x" for "--data" and "-rf" for "-r".
func (r risk) hasFlag(arg string) bool {
	for _, flag := range r.flags {
		switch {
		case arg == flag, strings.HasPrefix(flag, "--") && strings.HasPrefix(arg, flag+"="):
			return true
		case len(flag) == 2 && len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.Contains(arg[1:], flag[1:]):
			return true
		}
	}
	return false
}

// operands are the arguments that are no options, at most the first few: a
// subcommand stands early, a file named "push" may follow later.
func operands(rest []string) []string {
	const most = 2
	var out []string
	for _, arg := range rest {
		if !strings.HasPrefix(arg, "-") {
			if out = append(out, arg); len(out) == most {
				break
			}
		}
	}
	return out
}

func hasOperand(rest []string) bool {
	return slices.ContainsFunc(rest, func(arg string) bool { return arg != "-" && !strings.HasPrefix(arg, "-") })
}

// innerCommand skips a wrapper's own options, settings and numbers.
func innerCommand(rest []string) []string {
	for i, arg := range rest {
		if strings.HasPrefix(arg, "-") || strings.Contains(arg, "=") || strings.Trim(arg, "0123456789.smhd") == "" {
			continue
		}
		return rest[i:]
	}
	return nil
}

func programName(argv0 string) string {
	name := path.Base(strings.ReplaceAll(argv0, `\`, "/"))
	return strings.TrimSuffix(name, ".exe")
}

func oneOf(name string, programs []string) bool {
	return slices.ContainsFunc(programs, func(p string) bool {
		if prefix, ok := strings.CutSuffix(p, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return p == name || strings.TrimSuffix(p, ".exe") == name
	})
}
