//go:build peers

package peers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A key goes in by our command line and comes out by secret-tool, over a session
// bus of its own and an unlocked gnome-keyring whose files are the test's.
func TestAKeyIsReadBackFromTheSecretService(t *testing.T) {
	needs(t, "dbus-run-session", "gnome-keyring-daemon", "secret-tool")
	const key = "sk-peers-canary-7d1f0c9e5b"
	dir := t.TempDir()
	home := filepath.Join(dir, "data")
	for _, folder := range []string{home, filepath.Join(dir, "run")} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script := `set -e
printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null
printf '%s\n' "$KEY" | "$0" model add --name cloud --provider openai --model gpt-test --key-stdin --json
echo "--- stored"
secret-tool search --all --unlock service Countersign 2>&1
"$0" model remove cloud >/dev/null
echo "--- removed"
secret-tool search --all --unlock service Countersign 2>&1
`
	cmd := exec.Command("dbus-run-session", "--", "sh", "-c", script, program)
	cmd.Env = append(os.Environ(), "KEY="+key, "COUNTERSIGN_HOME="+home, "HOME="+dir, "XDG_RUNTIME_DIR="+filepath.Join(dir, "run"),
		"XDG_DATA_HOME="+filepath.Join(dir, "share"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	out, status := output(t, cmd)
	if status != 0 {
		t.Fatalf("the session ended with %d: %s", status, out)
	}
	added, rest, _ := strings.Cut(out, "--- stored")
	stored, removed, whole := strings.Cut(rest, "--- removed")
	if !whole || strings.Contains(added, key) || !strings.Contains(added, `"hasKey": true`) {
		t.Errorf("adding the model said %q", added)
	}
	if strings.Count(stored, "secret = "+key) != 1 {
		t.Errorf("secret-tool found %q", stored)
	}
	if strings.Contains(removed, key) {
		t.Errorf("after removing the model it found %q", removed)
	}
	err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), key) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
