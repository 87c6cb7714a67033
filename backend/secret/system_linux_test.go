package secret_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/backend/secret"
)

// inSession is set when the test binary runs itself inside a session bus.
const inSession = "COUNTERSIGN_TEST_IN_SESSION"

func TestNoSessionBusIsSaidAtOnceAndStartsNone(t *testing.T) {
	if os.Getenv(inSession) != "" {
		t.Skip("runs outside the session bus of the other test")
	}
	for _, bus := range []string{"/run/user/" + uid() + "/bus", "/run/user/" + uid() + "/dbus-session"} {
		if _, err := os.Stat(bus); err == nil {
			t.Skipf("%s exists, so a session bus cannot be made to be missing", bus)
		}
	}
	for _, address := range []string{"", "autolaunch:", "unix:path=" + filepath.Join(t.TempDir(), "none")} {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
		// A launcher on PATH would be started by a call that does not check first.
		bin := t.TempDir()
		trap := filepath.Join(bin, "called")
		if err := os.WriteFile(filepath.Join(bin, "dbus-launch"), []byte("#!/bin/sh\n: > "+trap+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin)
		v := secret.Open(secret.Options{Service: "Countersign", Dir: t.TempDir()})
		start := time.Now()
		if s := v.Status(ctx); s.State != secret.StateNone || s.Remedy == "" {
			t.Errorf("address %q: %+v", address, s)
		}
		var unavailable *secret.UnavailableError
		if _, err := v.Get(ctx, "a"); !errors.As(err, &unavailable) {
			t.Errorf("address %q: %v", address, err)
		}
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("address %q took %v", address, d)
		}
		if _, err := os.Stat(trap); err == nil {
			t.Errorf("address %q: dbus-launch was started", address)
		}
	}
}

func uid() string { return strconv.Itoa(os.Getuid()) }

// TestGnomeKeyring runs this binary again under dbus-run-session with an
// unlocked gnome-keyring, and once with a bus that has no keychain.
func TestGnomeKeyring(t *testing.T) {
	if os.Getenv(inSession) != "" {
		t.Skip("this is the inner run")
	}
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon", "secret-tool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unlock := `printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null; exec "$0" -test.run '^TestInsideGnomeKeyring$' -test.v`
	runInSession(t, "unlocked", "sh", "-c", unlock, self)
	runInSession(t, "locked", "sh", "-c", `gnome-keyring-daemon --start --components=secrets >/dev/null; exec "$0" -test.run '^TestInsideLockedKeyring$' -test.v`, self)
}

func runInSession(t *testing.T, mode string, argv ...string) {
	t.Helper()
	home := t.TempDir()
	limit, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(limit, "dbus-run-session", append([]string{"--"}, argv...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "XDG_DATA_HOME=" + home, inSession + "=" + mode}
	// The keyring daemon leaves the session's process group and outlives the bus
	// for a moment; waiting for its pipes would wait for it.
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.CombinedOutput()
	if (err != nil && !errors.Is(err, exec.ErrWaitDelay)) || !strings.Contains(string(out), "PASS") || strings.Contains(string(out), "no tests to run") {
		t.Fatalf("%s: %v\n%s", mode, err, out)
	}
}

func TestInsideGnomeKeyring(t *testing.T) {
	if os.Getenv(inSession) != "unlocked" {
		t.Skip("started by TestGnomeKeyring")
	}
	v := secret.Open(secret.Options{Service: "Countersign", Namespace: "ns", Dir: t.TempDir()})
	if s := v.Status(ctx); s.State != secret.StateKeychain {
		t.Fatalf("status %+v", s)
	}
	if _, err := v.Get(ctx, "model/a"); !errors.Is(err, secret.ErrNotFound) {
		t.Fatalf("missing secret: %v", err)
	}
	mustSet(t, v, "model/a", canary)
	wantValue(t, v, "model/a", canary)
	out, err := exec.Command("secret-tool", "lookup", "service", "Countersign", "username", "ns/model/a").Output()
	if err != nil || strings.TrimSpace(string(out)) != canary {
		t.Fatalf("secret-tool read %q, %v", out, err)
	}
	large := strings.Repeat(canary, 500)
	mustSet(t, v, "big", large)
	wantValue(t, v, "big", large)
	for _, name := range []string{"big", "model/a"} {
		if err := v.Delete(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := v.Get(ctx, "model/a"); !errors.Is(err, secret.ErrNotFound) {
		t.Fatalf("deleted secret: %v", err)
	}
}

func TestInsideLockedKeyring(t *testing.T) {
	if os.Getenv(inSession) != "locked" {
		t.Skip("started by TestGnomeKeyring")
	}
	v := secret.Open(secret.Options{Service: "Countersign", Dir: t.TempDir()})
	start := time.Now()
	s := v.Status(ctx)
	if s.Usable() || s.Remedy == "" {
		t.Fatalf("status %+v", s)
	}
	t.Logf("status %+v", s)
	var unavailable *secret.UnavailableError
	if err := v.Set(ctx, "a", canary); !errors.As(err, &unavailable) {
		t.Fatalf("save into a locked keyring: %v", err)
	}
	if d := time.Since(start); d > 7*time.Second {
		t.Fatalf("took %v", d)
	}
}
