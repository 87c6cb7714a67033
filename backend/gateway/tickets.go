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
