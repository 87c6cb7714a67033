package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"countersign/backend/effect"
	"countersign/backend/gateway"
	"countersign/backend/protocol"
	"countersign/backend/secret"
	"countersign/backend/store"
)

// anchorName is where the head of the receipts' chain lies in the keychain.
const anchorName = "receipts/head"

// anchorDelay gathers the receipts of a moment into one write of the keychain.
const anchorDelay = 2 * time.Second

// anchor keeps the head of the receipts' chain in the keychain, so that a cut
// tail is found. It follows the chain by at most anchorDelay; a host without a
// keychain has none, and says so when asked to verify.
type anchor struct {
	h     *Host
	wake  chan struct{}
	stop  context.CancelFunc
	ctx   context.Context
	ended chan struct{}

	mu   sync.Mutex // guards last
	last string
}

func newAnchor(h *Host) *anchor {
	ctx, stop := context.WithCancel(context.Background())
	a := &anchor{h: h, wake: make(chan struct{}, 1), ctx: ctx, stop: stop, ended: make(chan struct{})}
	h.cancels = append(h.cancels, h.db.Subscribe(func(changes []store.Change) {
		for _, c := range changes {
			if c.Kind == effect.ChangeReceipt {
				a.poke()
			}
		}
	}))
	go a.follow()
	return a
}

func (a *anchor) poke() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *anchor) follow() {
	defer close(a.ended)
	for {
		select {
		case <-a.ctx.Done():
			return
		case <-a.wake:
		}
		timer := time.NewTimer(anchorDelay)
		select {
		case <-a.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			a.save(a.ctx)
		}
	}
}

// save writes the present head. Without a keychain there is nothing to write to;
// the owner sees that state elsewhere.
func (a *anchor) save(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	head, err := a.head(ctx)
	if err != nil || head.Seq == 0 {
		return
	}
	value := fmt.Sprintf("%d:%s", head.Seq, head.Hash)
	if value == a.last {
		return
	}
	if err := a.h.vault.Set(ctx, anchorName, value); err != nil {
		a.h.log.Info("anchor of receipts not kept", "cause", err)
		return
	}
	a.last = value
}

func (a *anchor) head(ctx context.Context) (head effect.ChainHead, err error) {
	err = a.h.db.Read(ctx, func(tx *store.ReadTx) (err error) {
		head, err = effect.Head(tx)
		return err
	})
	return head, err
}

// close saves the head a last time.
func (a *anchor) close(ctx context.Context) {
	a.stop()
	<-a.ended
	a.save(ctx)
}

// verifyReceipts implements receipts.verify: it walks the chain and compares it
// with the anchor.
func (h *Host) verifyReceipts(ctx context.Context, _ gateway.Caller, _ protocol.Empty) (protocol.ReceiptsVerifyResult, error) {
	var out protocol.ReceiptsVerifyResult
	kept, keptErr := h.vault.Get(ctx, anchorName)
	err := h.db.Read(ctx, func(tx *store.ReadTx) error {
		head, count, broken, err := effect.Verify(tx)
		if err != nil {
			return err
		}
		out.Count, out.Head = count, head.Hash
		if broken != nil {
			out.BrokenID, out.BrokenAt = broken.ID, broken.Seq
			out.Sentence = fmt.Sprintf("The chain of receipts is broken at number %d: %s.", broken.Seq, broken.Why)
			out.Anchor = "unavailable"
			return nil
		}
		out.Anchor, err = compareAnchor(tx, kept, keptErr)
		return err
	})
	if err != nil || out.BrokenID != "" || out.Sentence != "" {
		return out, err
	}
	out.OK = out.Anchor != "differs"
	out.Sentence = verifySentence(out)
	return out, nil
}

func verifySentence(r protocol.ReceiptsVerifyResult) string {
	switch r.Anchor {
	case "differs":
		return "Receipts are missing at the end, or were exchanged: the chain does not reach the mark that is kept with your keys."
	case "matches":
		return fmt.Sprintf("All %d receipts are whole and in order, and the mark that is kept with your keys fits.", r.Count)
	case "missing":
		return fmt.Sprintf("All %d receipts are whole and in order. No mark is kept with your keys yet, so a cut at the end would not be seen.", r.Count)
	}
	return fmt.Sprintf("All %d receipts are whole and in order. Your keys cannot be reached now, nor the mark that is kept with them, so a cut at the end would not be seen.", r.Count)
}

func compareAnchor(tx *store.ReadTx, kept string, keptErr error) (string, error) {
	if errors.Is(keptErr, secret.ErrNotFound) {
		return "missing", nil
	}
	if keptErr != nil {
		return "unavailable", nil
	}
	seqText, hash, ok := strings.Cut(kept, ":")
	seq, err := strconv.ParseInt(seqText, 10, 64)
	if !ok || err != nil {
		return "differs", nil
	}
	at, found, err := effect.HashAt(tx, seq)
	if err != nil {
		return "", err
	}
	if !found || at != hash {
		return "differs", nil
	}
	return "matches", nil
}
