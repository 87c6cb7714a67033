package secret_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zalando/go-keyring"

	"countersign/backend/secret"
)

// fakeKeyring keeps state like a keychain, and can refuse, hang and lie.
type fakeKeyring struct {
	mu     sync.Mutex
	items  map[string]string
	err    error
	hang   chan struct{} // calls wait until it is closed
	limit  int           // larger values are cut off silently, as on macOS
	active int
	most   int
}

func newFake() *fakeKeyring { return &fakeKeyring{items: map[string]string{}} }

func (f *fakeKeyring) enter() error {
	f.mu.Lock()
	f.active++
	f.most = max(f.most, f.active)
	hang, err := f.hang, f.err
	f.mu.Unlock()
	if hang != nil {
		<-hang
	}
	f.mu.Lock()
	f.active--
	f.mu.Unlock()
	return err
}

func (f *fakeKeyring) mostAtOnce() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most
}

func (f *fakeKeyring) Get(service, user string) (string, error) {
	if err := f.enter(); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.items[service+"|"+user]
	if !ok {
		return "", keyring.ErrNotFound
	}
	return v, nil
}

func (f *fakeKeyring) Set(service, user, value string) error {
	if err := f.enter(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.limit > 0 && len(value) > f.limit {
		return nil
	}
	f.items[service+"|"+user] = value
	return nil
}

func (f *fakeKeyring) Delete(service, user string) error {
	if err := f.enter(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.items[service+"|"+user]; !ok {
		return keyring.ErrNotFound
	}
	delete(f.items, service+"|"+user)
	return nil
}

func open(dir string, ring secret.Keyring) *secret.Vault {
	return secret.Open(secret.Options{Service: "Countersign", Namespace: "test", Dir: dir, Keyring: ring})
}

const canary = "canary-7f3a9c-do-not-store-me"

var ctx = context.Background()

func mustSet(t *testing.T, v *secret.Vault, name, value string) {
	t.Helper()
	if err := v.Set(ctx, name, value); err != nil {
		t.Fatal(err)
	}
}

func wantValue(t *testing.T, v *secret.Vault, name, want string) {
	t.Helper()
	if got, err := v.Get(ctx, name); err != nil || got != want {
		t.Fatalf("Get(%s) = %d bytes, %v; want %d bytes", name, len(got), err, len(want))
	}
}

func TestKeychainRoundTrip(t *testing.T) {
	ring := newFake()
	v := open(t.TempDir(), ring)
	if s := v.Status(ctx); s.State != secret.StateKeychain || !s.Usable() || s.Remedy != "" {
		t.Fatalf("status %+v", s)
	}
	if _, err := v.Get(ctx, "model/a"); !errors.Is(err, secret.ErrNotFound) {
		t.Fatalf("missing secret: %v", err)
	}
	mustSet(t, v, "model/a", canary)
	wantValue(t, v, "model/a", canary)
	if ring.items["Countersign|test/model/a"] != canary {
		t.Fatalf("the namespace is not part of the name: %v", ring.items)
	}
	if err := v.Delete(ctx, "model/a"); err != nil {
		t.Fatal(err)
	}
	if err := v.Delete(ctx, "model/a"); !errors.Is(err, secret.ErrNotFound) {
		t.Fatalf("second delete: %v", err)
	}
}

func TestAHangingKeychainIsReportedInTimeAndDoesNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ring := newFake()
		ring.hang = make(chan struct{})
		v := open(t.TempDir(), ring)
		for range 5 {
			start := time.Now()
			_, err := v.Get(ctx, "a")
			var unavailable *secret.UnavailableError
			if !errors.As(err, &unavailable) || unavailable.Status.State != secret.StateLocked || unavailable.Status.Remedy == "" {
				t.Fatalf("got %v", err)
			}
			if errors.Is(err, secret.ErrNotFound) {
				t.Fatal("a hanging keychain looks like a missing secret")
			}
			if d := time.Since(start); d > 3*time.Second {
				t.Fatalf("took %v", d)
			}
		}
		if s := v.Status(ctx); s.State != secret.StateLocked {
			t.Fatalf("status %+v", s)
		}
		if most := ring.mostAtOnce(); most != 1 {
			t.Fatalf("%d calls wait behind the dialog", most)
		}
		close(ring.hang)
		synctest.Wait()
		if _, err := v.Get(ctx, "a"); !errors.Is(err, secret.ErrNotFound) {
			t.Fatalf("after unlocking: %v", err)
		}
	})
}

func TestACallersContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ring := newFake()
		ring.hang = make(chan struct{})
		v := open(t.TempDir(), ring)
		cancelled, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := v.Get(cancelled, "a"); err == nil || time.Since(start) != 10*time.Millisecond {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
		close(ring.hang)
		synctest.Wait()
	})
}

func TestEachRefusalHasItsState(t *testing.T) {
	cases := []struct {
		err   error
		state secret.State
		words string
	}{
		{errors.New("failed to unlock correct collection '/org/freedesktop/secrets/collection/login'"), secret.StateLocked, "Unlock"},
		{errors.New("failed to unlock correct collection '/org/freedesktop/secrets/aliases/default'"), secret.StateNone, "Make one"},
		{errors.New("The name org.freedesktop.secrets was not provided by any .service files"), secret.StateNone, "Install"},
		{errors.New("dbus: couldn't determine address of session bus"), secret.StateNone, "desktop session"},
		{errors.New("dial unix /nowhere: connect: no such file or directory"), secret.StateNone, "desktop session"},
		{keyring.ErrUnsupportedPlatform, secret.StateNone, "passphrase"},
		{errors.New("exit status 36"), secret.StateLocked, "Unlock"},
		{errors.New("something else"), secret.StateNone, "passphrase"},
	}
	for _, c := range cases {
		ring := newFake()
		ring.err = c.err
		dir := t.TempDir()
		v := open(dir, ring)
		s := v.Status(ctx)
		if s.State != c.state || !strings.Contains(s.Remedy, c.words) || s.Usable() || s.Sentence == "" {
			t.Errorf("%v gives %+v", c.err, s)
		}
		for what, err := range map[string]error{
			"get": func() error { _, err := v.Get(ctx, "a"); return err }(), "set": v.Set(ctx, "a", canary), "delete": v.Delete(ctx, "a"),
		} {
			var unavailable *secret.UnavailableError
			if !errors.As(err, &unavailable) || errors.Is(err, secret.ErrNotFound) || !errors.Is(err, c.err) {
				t.Errorf("%s after %v: %v", what, c.err, err)
			}
			if err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("%s shows the secret", what)
			}
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("an unavailable keychain made %v", entries)
		}
	}
}

func TestASilentlyRefusedSaveIsAnError(t *testing.T) {
	ring := newFake()
	ring.limit = 10
	v := open(t.TempDir(), ring)
	if err := v.Set(ctx, "a", canary); err == nil {
		t.Fatal("the keychain dropped the value and nobody was told")
	}
}

func TestLargeSecretsAreWrapped(t *testing.T) {
	ring := newFake()
	ring.limit = 2560
	dir := t.TempDir()
	v := open(dir, ring)
	large := strings.Repeat(canary, 4000)
	mustSet(t, v, "big", large)
	wantValue(t, v, "big", large)
	wantValue(t, open(dir, ring), "big", large)
	for _, item := range ring.items {
		if len(item) > 200 || strings.Contains(item, "canary") {
			t.Fatalf("the keychain got %d bytes", len(item))
		}
	}
	noPlaintext(t, dir)
	// A value that looks like a wrapping is a value all the same.
	lookalike := ring.items["Countersign|test/big"]
	mustSet(t, v, "copy", lookalike)
	wantValue(t, v, "copy", lookalike)

	mustSet(t, v, "big", large+"2")
	wantValue(t, v, "big", large+"2")
	mustSet(t, v, "big", "small")
	wantValue(t, v, "big", "small")
	if err := v.Delete(ctx, "copy"); err != nil {
		t.Fatal(err)
	}
	var left struct{ Entries map[string]string }
	b, err := os.ReadFile(filepath.Join(dir, secret.LargeFileName))
	if err != nil || json.Unmarshal(b, &left) != nil || len(left.Entries) != 0 {
		t.Fatalf("orphans: %v, %v", left.Entries, err)
	}
}

func TestAFailedReplacementKeepsTheOldLargeSecret(t *testing.T) {
	ring := newFake()
	dir := t.TempDir()
	v := open(dir, ring)
	large := strings.Repeat(canary, 200)
	mustSet(t, v, "big", large)
	ring.limit = 1
	if err := v.Set(ctx, "big", large+"new"); err == nil {
		t.Fatal("the refusal was not reported")
	}
	ring.limit = 0
	wantValue(t, v, "big", large)
}

func TestFileRoundTripAndWrongPassphrase(t *testing.T) {
	dir := t.TempDir()
	ring := newFake()
	ring.err = errors.New("dbus: couldn't determine address of session bus")
	var logged bytes.Buffer
	v := secret.Open(secret.Options{Service: "Countersign", Dir: dir, Keyring: ring, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if err := v.UnlockFile(ctx, "some passphrase"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("unlock without a file: %v", err)
	}
	if err := v.CreateFile(ctx, "short"); !errors.Is(err, secret.ErrWeakPassphrase) {
		t.Fatalf("weak passphrase: %v", err)
	}
	const passphrase = "correct horse 🐴 battery"
	if err := v.CreateFile(ctx, passphrase); err != nil {
		t.Fatal(err)
	}
	mustSet(t, v, "model/a", canary)
	mustSet(t, v, "model/b", canary+"2")
	wantValue(t, v, "model/a", canary)
	if s := v.Status(ctx); s.State != secret.StateFile {
		t.Fatalf("status %+v", s)
	}
	if err := v.CreateFile(ctx, passphrase); !errors.Is(err, secret.ErrFileExists) {
		t.Fatalf("second create: %v", err)
	}
	noPlaintext(t, dir)
	if strings.Contains(logged.String(), "canary") || strings.Contains(logged.String(), "horse") {
		t.Fatal("a secret is in the log")
	}

	again := open(dir, newFake())
	if s := again.Status(ctx); s.State != secret.StateFileLocked || s.Remedy == "" {
		t.Fatalf("status after a restart %+v", s)
	}
	var unavailable *secret.UnavailableError
	if _, err := again.Get(ctx, "model/a"); !errors.As(err, &unavailable) {
		t.Fatalf("locked file: %v", err)
	}
	if err := again.Set(ctx, "model/a", "x"); !errors.As(err, &unavailable) {
		t.Fatalf("locked file: %v", err)
	}
	if err := again.UnlockFile(ctx, "wrong horse battery"); !errors.Is(err, secret.ErrWrongPassphrase) {
		t.Fatalf("wrong passphrase: %v", err)
	}
	if err := again.UnlockFile(ctx, passphrase); err != nil {
		t.Fatal(err)
	}
	wantValue(t, again, "model/a", canary)
	if err := again.Delete(ctx, "model/a"); err != nil {
		t.Fatal(err)
	}
	// The first vault reads the file anew and sees the change.
	if _, err := v.Get(ctx, "model/a"); !errors.Is(err, secret.ErrNotFound) {
		t.Fatalf("deleted secret: %v", err)
	}
	wantValue(t, v, "model/b", canary+"2")
	info, err := os.Stat(filepath.Join(dir, secret.PassFileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
}

func TestADamagedFileIsNeverTakenForAWrongNameOrWritten(t *testing.T) {
	dir := t.TempDir()
	v := open(dir, newFake())
	if err := v.CreateFile(ctx, "long enough passphrase"); err != nil {
		t.Fatal(err)
	}
	mustSet(t, v, "a", canary)
	path := filepath.Join(dir, secret.PassFileName)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(good); i += 11 {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		value, err := v.Get(ctx, "a")
		if errors.Is(err, secret.ErrNotFound) || (err == nil && value != canary) {
			t.Fatalf("flipped bit at %d: %q, %v", i, value, err)
		}
		if err := v.Set(ctx, "b", "x"); err != nil {
			if now, _ := os.ReadFile(path); !bytes.Equal(now, bad) {
				t.Fatalf("flipped bit at %d: the failed save changed the file", i)
			}
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
		// A changed salt locks the file, as a file of another passphrase would.
		if v.Status(ctx).State == secret.StateFileLocked {
			if err := v.UnlockFile(ctx, "long enough passphrase"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSessionKeepsSecretsInMemoryOnly(t *testing.T) {
	dir := t.TempDir()
	ring := newFake()
	v := open(dir, ring)
	v.UseSession()
	mustSet(t, v, "a", canary)
	wantValue(t, v, "a", canary)
	if s := v.Status(ctx); s.State != secret.StateSession {
		t.Fatalf("status %+v", s)
	}
	if len(ring.items) != 0 {
		t.Fatal("the keychain was used")
	}
	noPlaintext(t, dir)
	if err := v.Delete(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Get(ctx, "a"); !errors.Is(err, secret.ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := open(dir, ring).Get(ctx, "a"); !errors.Is(err, secret.ErrNotFound) {
		t.Fatal("the secret outlived its session")
	}
}

func TestNamesAndEmptyValuesAreChecked(t *testing.T) {
	v := open(t.TempDir(), newFake())
	for _, name := range []string{"", "a\nb", strings.Repeat("n", 201), "a\x00"} {
		if err := v.Set(ctx, name, "value"); err == nil {
			t.Errorf("name %q was accepted", name)
		}
	}
	if err := v.Set(ctx, "a", ""); err == nil {
		t.Error("an empty value was accepted")
	}
}

func TestKnownHoldsWhatWasReadOrSavedLongestFirst(t *testing.T) {
	ring := newFake()
	mustSet(t, open(t.TempDir(), ring), "a", "value-one")
	v := open(t.TempDir(), ring)
	if len(v.Known()) != 0 {
		t.Fatal("something is known before anything was read")
	}
	wantValue(t, v, "a", "value-one")
	mustSet(t, v, "b", "value-one-and-more")
	if got := fmt.Sprint(v.Known()); got != "[value-one-and-more value-one]" {
		t.Fatal(got)
	}
}

func TestVaultIsSafeForConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	v := open(dir, newFake())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := fmt.Sprintf("n%d", i)
			value := strings.Repeat(name, 1500)
			for range 5 {
				if err := v.Set(ctx, name, value); err != nil {
					t.Error(err)
				}
				if got, err := v.Get(ctx, name); err != nil || got != value {
					t.Errorf("%s: %v", name, err)
				}
				v.Known()
			}
		})
	}
	wg.Wait()
}

// noPlaintext looks for the canary in every file, as it is and in base64.
func noPlaintext(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))[:20]} {
			if bytes.Contains(b, []byte(form)) {
				t.Errorf("%s holds the secret", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEnvCandidatesNeverShowTheValue(t *testing.T) {
	got := secret.EnvCandidates([]string{"PATH=/bin", "OPENAI_API_KEY=" + canary, "ANTHROPIC_API_KEY= " + canary + "\n", "GROQ_API_KEY=", "BROKEN"})
	if len(got) != 2 || got[0].Provider != "anthropic" || got[1].Variable != "OPENAI_API_KEY" {
		t.Fatalf("got %v", got)
	}
	if got[0].Value() != canary {
		t.Fatal("the value is not there to be saved")
	}
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "candidate", got[0], "all", got)
	for _, text := range []string{string(b), fmt.Sprintf("%v %+v %#v %s", got, got, got, got[0]), logged.String()} {
		if strings.Contains(text, canary) {
			t.Errorf("%s shows the value", text)
		}
	}
}
