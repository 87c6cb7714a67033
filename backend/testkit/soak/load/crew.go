package load

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/uuid"

	"countersign/backend/client"
	"countersign/backend/host"
	"countersign/backend/protocol"
	"countersign/backend/testkit/kill"
)

// crew are the senders, and the one who decides.
type crew struct {
	ledger    *ledger
	home      string
	talks     []*talk
	decider   *decider
	tokenFile string
	paired    bool
}

func newCrew(o Options, l *ledger) (*crew, error) {
	c := &crew{ledger: l, home: filepath.Join(o.Dir, "data"), tokenFile: filepath.Join(o.Dir, "token")}
	token := uuid.NewString()
	if err := os.WriteFile(c.tokenFile, []byte(token+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write token file: %w", err)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make device key: %w", err)
	}
	c.decider = &decider{ledger: l, home: c.home, key: key}
	for i := range o.Talks {
		c.talks = append(c.talks, &talk{no: i, ledger: l, token: token, home: c.home, ended: make(map[protocol.RunID]bool)})
	}
	return c, nil
}

// meet pairs the device of the one who decides, at the first boot.
func (c *crew) meet(ctx context.Context, h *kill.Host) error {
	if c.paired {
		return nil
	}
	conn, err := client.Socket(ctx, filepath.Join(c.home, host.SocketName), client.Options{
		Name: "soak", Version: "soak", Scopes: decidingScopes(), Key: c.decider.key, Bootstrap: h.Ticket,
	})
	if err != nil {
		return fmt.Errorf("pair device: %w", err)
	}
	c.paired = true
	return conn.Close()
}

// work lets everybody work until ctx ends; done is closed when all have stopped.
// What ends them is the end of the host, so their errors say nothing.
func (c *crew) work(ctx context.Context, seed uint64, h *kill.Host) (done <-chan struct{}) {
	c.ledger.waiting.Store(0)
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.decider.work(ctx, seed) })
	for _, t := range c.talks {
		wg.Go(func() { _ = t.work(ctx, seed, h) })
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		wg.Wait()
	}()
	return ended
}

// settle sends again what was never acknowledged, and returns when nothing is
// open any more.
func (c *crew) settle(ctx context.Context, h *kill.Host) error {
	deciding, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.decider.work(deciding, 0) })
	defer wg.Wait()
	defer stop()
	for _, t := range c.talks {
		if err := t.finish(ctx, h); err != nil {
			return fmt.Errorf("conversation %s: %w", t.session(), err)
		}
	}
	return nil
}

// finish sends what was not acknowledged, waits for the end of every run, and
// sends every key of the conversation once more.
func (t *talk) finish(ctx context.Context, h *kill.Host) error {
	if err := t.dial(ctx, h); err != nil {
		return err
	}
	defer t.conn.Close()
	if err := t.resend(ctx); err != nil {
		return err
	}
	if err := t.follow(ctx, 0); err != nil {
		return err
	}
	for _, m := range t.sent {
		if err := t.again(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func decode(e protocol.Event, into any) error {
	if err := json.Unmarshal(e.Payload, into); err != nil {
		return fmt.Errorf("understand event %s: %w", e.Event, err)
	}
	return nil
}
