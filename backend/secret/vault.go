package secret

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// DefaultTimeout bounds one question to the keychain.
const DefaultTimeout = 3 * time.Second

// maxNameBytes keeps a name within what every keychain accepts.
const maxNameBytes = 200

// ErrNotFound says that the vault was asked and holds no secret of that name.
var ErrNotFound = errors.New("there is no secret of this name")

// State is where secrets are kept, or why they cannot be.
type State string

// The states of a vault.
const (
	StateKeychain   State = "keychain"
	StateLocked     State = "locked"
	StateNone       State = "none"
	StateFile       State = "file"
	StateFileLocked State = "file-locked"
	StateSession    State = "session"
)

// Status is the state in words for the owner.
type Status struct {
	State State `json:"state"`
	// Sentence says what is so.
	Sentence string `json:"sentence"`
	// Remedy says what to do; it is empty when nothing has to be done.
	Remedy string `json:"remedy"`
}

// Usable says that secrets can be read and saved now.
func (s Status) Usable() bool {
	return s.State == StateKeychain || s.State == StateFile || s.State == StateSession
}

// UnavailableError says that the vault could not be asked. Callers show the
// status and must not treat the secret as missing.
type UnavailableError struct {
	Status Status
	// Err is the cause, or nil.
	Err error
}

// Error is the sentence and the remedy.
func (e *UnavailableError) Error() string {
	return strings.TrimSpace(e.Status.Sentence + " " + e.Status.Remedy)
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Options configure a Vault.
type Options struct {
	// Service is the name under which the keychain lists the secrets.
	Service string
	// Namespace keeps several data directories apart in one keychain.
	Namespace string
	// Dir is the directory of secrets.enc and large.enc.
	Dir    string
	Logger *slog.Logger
	// Keyring replaces the keychain of the system, for tests.
	Keyring Keyring
	// Timeout bounds one question to the keychain; zero means DefaultTimeout.
	Timeout time.Duration
}

// Vault reads and saves secrets. It is safe for concurrent use.
type Vault struct {
	service   string
	namespace string
	log       *slog.Logger
	ring      *timedKeyring
	large     largeStore
	file      *passFile

	mu      sync.Mutex
	session map[string]string // nil unless UseSession was called
	known   map[string]bool
}

// Open returns a vault. It asks nothing of the keychain and writes nothing.
func Open(o Options) *Vault {
	ring, timeout, log := o.Keyring, o.Timeout, o.Logger
	if ring == nil {
		ring = systemKeyring{}
	}
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Vault{
		service:   o.Service,
		namespace: o.Namespace,
		log:       log,
		ring:      newTimedKeyring(ring, timeout),
		large:     largeStore{dir: o.Dir, change: &sync.Mutex{}},
		file:      &passFile{dir: o.Dir},
		known:     map[string]bool{},
	}
}

// Status asks where secrets are kept now. It never opens an unlock dialog where
// the system lets it avoid that, and answers within the timeout.
func (v *Vault) Status(ctx context.Context) Status {
	if v.inSession() {
		return statusSession
	}
	if v.file.exists() {
		if v.file.unlocked() {
			return statusFile
		}
		return statusFileLocked
	}
	err := v.ring.probe(ctx, v.service, v.user("status"))
	if err == nil || errors.Is(err, ErrNotFound) {
		return statusKeychain
	}
	return v.statusOf(err)
}

func (v *Vault) statusOf(err error) Status {
	status := classify(err)
	v.log.Info("keychain unavailable", "state", status.State, "cause", err)
	return status
}

// Get returns a secret. Its errors are ErrNotFound, *UnavailableError, and those
// of a damaged file.
func (v *Vault) Get(ctx context.Context, name string) (string, error) {
	value, err := v.get(ctx, name)
	if err != nil {
		return "", fmt.Errorf("read secret %q: %w", name, err)
	}
	v.learn(value)
	return value, nil
}

func (v *Vault) get(ctx context.Context, name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	if value, ok, active := v.sessionValue(name); active {
		if !ok {
			return "", ErrNotFound
		}
		return value, nil
	}
	if v.file.exists() {
		return v.file.get(name)
	}
	stored, err := v.ring.get(ctx, v.service, v.user(name))
	if err != nil {
		return "", v.explain(err)
	}
	if isWrapped(stored) {
		return v.large.open(v.user(name), stored)
	}
	return stored, nil
}

// Set saves a secret and reads it back, since some keychains report a success
// that was none. An empty value is refused; use Delete.
func (v *Vault) Set(ctx context.Context, name, value string) error {
	if err := v.set(ctx, name, value); err != nil {
		return fmt.Errorf("save secret %q: %w", name, err)
	}
	return nil
}

func (v *Vault) set(ctx context.Context, name, value string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if value == "" {
		return errors.New("the value is empty")
	}
	v.learn(value)
	if v.setInSession(name, &value) {
		return nil
	}
	if v.file.exists() {
		return v.file.change(func(m map[string]string) { m[name] = value })
	}
	return v.setInKeychain(ctx, name, value)
}

func (v *Vault) setInKeychain(ctx context.Context, name, value string) error {
	user := v.user(name)
	before := v.wrappedBefore(ctx, user)
	stored := value
	if len(value) > maxPlainBytes || isWrapped(value) {
		var err error
		if stored, err = v.large.seal(user, value); err != nil {
			return err
		}
	}
	if err := v.ring.set(ctx, v.service, user, stored); err != nil {
		return v.explain(err)
	}
	back, err := v.ring.get(ctx, v.service, user)
	if err != nil {
		return v.explain(err)
	}
	if back != stored {
		return &UnavailableError{Status: statusRefused}
	}
	return v.large.forget(before)
}

// Delete removes a secret. It returns ErrNotFound when there is none.
func (v *Vault) Delete(ctx context.Context, name string) error {
	if err := v.remove(ctx, name); err != nil {
		return fmt.Errorf("delete secret %q: %w", name, err)
	}
	return nil
}

func (v *Vault) remove(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if _, ok, active := v.sessionValue(name); active {
		if !ok {
			return ErrNotFound
		}
		v.setInSession(name, nil)
		return nil
	}
	if v.file.exists() {
		if _, err := v.file.get(name); err != nil {
			return err
		}
		return v.file.change(func(m map[string]string) { delete(m, name) })
	}
	before := v.wrappedBefore(ctx, v.user(name))
	if err := v.ring.delete(ctx, v.service, v.user(name)); err != nil {
		return v.explain(err)
	}
	return v.large.forget(before)
}

// wrappedBefore returns the wrapping of the present value, if it has one. An
// error here costs at most an orphan in large.enc, which no key opens.
func (v *Vault) wrappedBefore(ctx context.Context, user string) string {
	if !v.large.exists() {
		return ""
	}
	stored, err := v.ring.get(ctx, v.service, user)
	if err != nil || !isWrapped(stored) {
		return ""
	}
	return stored
}

// explain turns an error of the keychain into one for the owner.
func (v *Vault) explain(err error) error {
	if errors.Is(err, ErrNotFound) {
		return ErrNotFound
	}
	return &UnavailableError{Status: v.statusOf(err), Err: err}
}

// CreateFile makes secrets.enc under a passphrase and uses it from now on instead
// of the keychain. Call it only when the owner has chosen so. It returns
// ErrFileExists, ErrWeakPassphrase, or an error of the disk.
func (v *Vault) CreateFile(ctx context.Context, passphrase string) error {
	if err := v.file.create(ctx, passphrase); err != nil {
		return fmt.Errorf("create the file for secrets: %w", err)
	}
	v.endSession()
	return nil
}

// UnlockFile opens secrets.enc. It returns ErrWrongPassphrase, fs.ErrNotExist
// when there is no file, or an error that says how the file is damaged.
func (v *Vault) UnlockFile(ctx context.Context, passphrase string) error {
	if err := v.file.unlock(ctx, passphrase); err != nil {
		return fmt.Errorf("unlock the file for secrets: %w", err)
	}
	v.endSession()
	return nil
}

// UseSession keeps secrets in memory only, until the program ends. It starts
// empty and hides what the keychain or the file holds.
func (v *Vault) UseSession() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.session == nil {
		v.session = map[string]string{}
	}
}

// Known returns the values that were read or saved in this process, longest
// first, for redaction. Deleted ones stay: they are still secrets.
func (v *Vault) Known() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	values := make([]string, 0, len(v.known))
	for value := range v.known {
		values = append(values, value)
	}
	slices.SortFunc(values, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return values
}

func (v *Vault) learn(value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known[value] = true
}

func (v *Vault) inSession() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.session != nil
}

func (v *Vault) endSession() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.session = nil
}

func (v *Vault) sessionValue(name string) (value string, ok, active bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	value, ok = v.session[name]
	return value, ok, v.session != nil
}

// setInSession changes the session's value, nil to remove it, and returns false
// when secrets are not kept in memory.
func (v *Vault) setInSession(name string, value *string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.session == nil {
		return false
	}
	if value == nil {
		delete(v.session, name)
	} else {
		v.session[name] = *value
	}
	return true
}

func (v *Vault) user(name string) string {
	if v.namespace == "" {
		return name
	}
	return v.namespace + "/" + name
}

func checkName(name string) error {
	if name == "" || len(name) > maxNameBytes || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("a secret's name has 1 to %d bytes and no control characters", maxNameBytes)
	}
	return nil
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
