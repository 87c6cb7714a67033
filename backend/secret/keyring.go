package secret

import (
	"context"
	"errors"
	"time"

	"github.com/zalando/go-keyring"
)

// Keyring is what a vault needs of a keychain. A missing secret is ErrNotFound
// or keyring.ErrNotFound. Calls may block; the vault bounds them.
type Keyring interface {
	Get(service, user string) (string, error)
	Set(service, user, value string) error
	Delete(service, user string) error
}

// prober is a Keyring that can tell its state without opening a dialog.
type prober interface {
	Probe() error
}

// Causes that a Keyring may return to name its state.
var (
	errTimeout      = errors.New("the keychain did not answer in time")
	errNoBus        = errors.New("there is no session bus")
	errLockedAtRest = errors.New("the keychain is locked")
)

// systemKeyring is the keychain of the operating system.
type systemKeyring struct{}

func (systemKeyring) Get(service, user string) (string, error) {
	if err := reachable(); err != nil {
		return "", err
	}
	return keyring.Get(service, user)
}

func (systemKeyring) Set(service, user, value string) error {
	if err := reachable(); err != nil {
		return err
	}
	return keyring.Set(service, user, value)
}

func (systemKeyring) Delete(service, user string) error {
	if err := reachable(); err != nil {
		return err
	}
	return keyring.Delete(service, user)
}

// timedKeyring bounds every call. A call that hangs keeps its goroutine, and the
// only slot, until the keychain answers: later calls then fail at their own
// timeout instead of piling up behind the same dialog.
type timedKeyring struct {
	ring    Keyring
	timeout time.Duration
	slot    chan struct{}
}

func newTimedKeyring(ring Keyring, timeout time.Duration) *timedKeyring {
	return &timedKeyring{ring: ring, timeout: timeout, slot: make(chan struct{}, 1)}
}

type answer struct {
	value string
	err   error
}

func (t *timedKeyring) call(ctx context.Context, fn func() (string, error)) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.timeout, errTimeout)
	defer cancel()
	select {
	case t.slot <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	done := make(chan answer, 1)
	go func() {
		defer func() { <-t.slot }()
		value, err := fn()
		done <- answer{value, err}
	}()
	select {
	case a := <-done:
		if errors.Is(a.err, keyring.ErrNotFound) {
			return "", ErrNotFound
		}
		return a.value, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (t *timedKeyring) get(ctx context.Context, service, user string) (string, error) {
	return t.call(ctx, func() (string, error) { return t.ring.Get(service, user) })
}

func (t *timedKeyring) set(ctx context.Context, service, user, value string) error {
	_, err := t.call(ctx, func() (string, error) { return "", t.ring.Set(service, user, value) })
	return err
}

func (t *timedKeyring) delete(ctx context.Context, service, user string) error {
	_, err := t.call(ctx, func() (string, error) { return "", t.ring.Delete(service, user) })
	return err
}

func (t *timedKeyring) probe(ctx context.Context, service, user string) error {
	_, err := t.call(ctx, func() (string, error) {
		if p, ok := t.ring.(prober); ok {
			return "", p.Probe()
		}
		return t.ring.Get(service, user)
	})
	return err
}
