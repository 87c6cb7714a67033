package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"sync"
	"time"
)

// Purpose is what a ticket is good for.
type Purpose int

// Purposes of tickets. A ticket for either may be used once, for one of them.
const (
	ForBrowser Purpose = 1 << iota
	ForDevice
	ForEither = ForBrowser | ForDevice
)

// How long tickets last.
const (
	BrowserTicketTime = 60 * time.Second
	DeviceTicketTime  = 10 * time.Minute

	maxTickets = 32
)

func (p Purpose) life() time.Duration {
	if p == ForBrowser {
		return BrowserTicketTime
	}
	return DeviceTicketTime
}

// Tickets makes single-use secrets and takes them back. Only hashes are kept,
// and only in memory: a restart ends every ticket. It is safe for concurrent use.
type Tickets struct {
	now  func() time.Time
	mu   sync.Mutex
	open []ticket
}

type ticket struct {
	hash    [sha256.Size]byte
	purpose Purpose
	made    time.Time
}

// NewTickets makes an empty set with a clock.
func NewTickets(now func() time.Time) *Tickets { return &Tickets{now: now} }

// New makes a ticket and tells when it ends for the longest of its purposes. Of
// more than 32 open tickets the oldest ends at once.
func (t *Tickets) New(purpose Purpose) (secret string, ends time.Time) {
	secret = newSecret()
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	if len(t.open) >= maxTickets {
		t.open = slices.Delete(t.open, 0, 1)
	}
	t.open = append(t.open, ticket{hash: sha256.Sum256([]byte(secret)), purpose: purpose, made: now})
	return secret, now.Add(purpose.life())
}

// Redeem uses a ticket up. It reports false, and changes nothing, for a ticket
// that is unknown, was used, has ended or is for something else.
func (t *Tickets) Redeem(secret string, purpose Purpose) bool {
	hash := sha256.Sum256([]byte(secret))
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	for i, have := range t.open {
		// Comparing hashes in plain time tells nothing about the secret.
		if have.hash == hash && have.purpose&purpose != 0 && now.Sub(have.made) < purpose.life() {
			t.open = slices.Delete(t.open, i, i+1)
			return true
		}
	}
	return false
}

func (t *Tickets) expire(now time.Time) {
	t.open = slices.DeleteFunc(t.open, func(have ticket) bool { return now.Sub(have.made) >= have.purpose.life() })
}

// newSecret is 256 random bits as base64url.
func newSecret() string {
	var b [32]byte
	// Read of crypto/rand does not return an error: without randomness it crashes.
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

const (
	// sessionTime is how long a browser may stay away before it needs a new ticket.
	sessionTime = 30 * 24 * time.Hour
	maxSessions = 64
)

// browserSessions knows the cookies that tickets became, as hashes in memory.
type browserSessions struct {
	now  func() time.Time
	mu   sync.Mutex
	seen map[[sha256.Size]byte]time.Time
}

func newBrowserSessions(now func() time.Time) *browserSessions {
	return &browserSessions{now: now, seen: map[[sha256.Size]byte]time.Time{}}
}

// open makes a session and returns its cookie's value. Of more than 64 the one
// longest away ends.
func (s *browserSessions) open() string {
	secret := newSecret()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) >= maxSessions {
		var oldest [sha256.Size]byte
		first := true
		for hash, at := range s.seen {
			if first || at.Before(s.seen[oldest]) {
				oldest, first = hash, false
			}
		}
		delete(s.seen, oldest)
	}
	s.seen[sha256.Sum256([]byte(secret))] = s.now()
	return secret
}

// known reports whether a cookie's value is a session, and renews it.
func (s *browserSessions) known(secret string) bool {
	if secret == "" {
		return false
	}
	hash := sha256.Sum256([]byte(secret))
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.seen[hash]
	if !ok {
		return false
	}
	if s.now().Sub(at) >= sessionTime {
		delete(s.seen, hash)
		return false
	}
	s.seen[hash] = s.now()
	return true
}
