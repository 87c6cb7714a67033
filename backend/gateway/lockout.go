package gateway

import (
	"sync"
	"time"
)

// Failed proofs (protocol v4): ten in a minute, then five minutes without any.
const (
	maxFailures   = 10
	failureWindow = 60 * time.Second
	lockoutTime   = 5 * time.Minute
	maxLockKeys   = 256
)

// lockout slows down guessing. It counts failures by where they come from and by
// the kind of proof, so that a guesser of tokens does not lock out a device. A
// right proof is refused too while the lock holds, else it would tell.
type lockout struct {
	now  func() time.Time
	mu   sync.Mutex
	keys map[string]*failures
}

type failures struct {
	times []time.Time
	until time.Time
}

func newLockout(now func() time.Time) *lockout {
	return &lockout{now: now, keys: map[string]*failures{}}
}

// wait is how long proofs of this key are refused yet.
func (l *lockout) wait(key string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.keys[key]
	if f == nil {
		return 0
	}
	return max(0, f.until.Sub(l.now()))
}

// failed notes a wrong proof.
func (l *lockout) failed(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	f := l.keys[key]
	if f == nil {
		l.forget(now)
		f = &failures{}
		l.keys[key] = f
	}
	kept := f.times[:0]
	for _, t := range f.times {
		if now.Sub(t) < failureWindow {
			kept = append(kept, t)
		}
	}
	f.times = append(kept, now)
	if len(f.times) >= maxFailures {
		f.until, f.times = now.Add(lockoutTime), nil
	}
}

// forget makes room: keys whose failures are old, and at worst the oldest lock.
func (l *lockout) forget(now time.Time) {
	if len(l.keys) < maxLockKeys {
		return
	}
	var oldest string
	for key, f := range l.keys {
		stale := !f.until.After(now) && (len(f.times) == 0 || now.Sub(f.times[len(f.times)-1]) >= failureWindow)
		if stale {
			delete(l.keys, key)
			continue
		}
		if oldest == "" || f.until.Before(l.keys[oldest].until) {
			oldest = key
		}
	}
	if len(l.keys) >= maxLockKeys {
		delete(l.keys, oldest)
	}
}
