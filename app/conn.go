package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Bounds of one line. Wails' events have no back-pressure of their own: without the acknowledgements a page that is
// busy would let the process grow without end.
const (
	maxUnacked      = 256
	maxUnackedBytes = 16 << 20
	maxPending      = 256
	maxPendingBytes = 64 << 20
)

// Close codes of RFC 6455 that this side gives by itself.
const (
	closeNormal    = 1000
	closeGoingAway = 1001
	closeProtocol  = 1002
	closeTooLarge  = 1009
	closeInternal  = 1011
)

var (
	errOrder    = errors.New("frames arrive out of order")
	errTooLarge = errors.New("frame is too large")
)

// conn is one line between the page and the gateway. Calls of the page run concurrently, so its frames carry their
// order and are put back into it here. It is safe for concurrent use.
type conn struct {
	id   string
	emit func(name string, data ...any)
	gone chan struct{} // closed when the line ends

	mu           sync.Mutex // guards the rest
	next         int        // order of the frame that Read returns next
	pending      map[int][]byte
	pendingBytes int
	sent, acked  int
	sizes        []int // of the frames after acked
	unacked      int   // sum of sizes
	limit        int64 // of one frame of the page, in bytes
	closed       bool

	arrived  chan struct{} // one token: pending changed
	released chan struct{} // one token: unacked changed
}

func newConn(id string, emit func(string, ...any)) *conn {
	return &conn{
		id: id, emit: emit, next: 1, pending: map[int][]byte{}, limit: maxPendingBytes,
		gone: make(chan struct{}), arrived: make(chan struct{}, 1), released: make(chan struct{}, 1),
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// receive takes a frame of the page. A frame that came before, or too far ahead, is an error and ends the line, for
// what follows could not be put in order any more.
func (c *conn) receive(order int, frame string) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return io.EOF
	}
	if int64(len(frame)) > c.limit {
		c.mu.Unlock()
		return errors.Join(errTooLarge, c.Close(closeTooLarge, "This is too large to send."))
	}
	_, twice := c.pending[order]
	tooMuch := len(c.pending) >= maxPending || c.pendingBytes+len(frame) > maxPendingBytes
	if order < c.next || twice || tooMuch {
		c.mu.Unlock()
		err := fmt.Errorf("%w: frame %d", errOrder, order)
		return errors.Join(err, c.Close(closeProtocol, err.Error()))
	}
	c.pending[order] = []byte(frame)
	c.pendingBytes += len(frame)
	c.mu.Unlock()
	signal(c.arrived)
	return nil
}

// SetReadLimit bounds the frames of the page from the next one on, in bytes.
func (c *conn) SetReadLimit(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = bytes
}

// Read returns the next frame in order, io.EOF once the line has ended.
func (c *conn) Read(ctx context.Context) ([]byte, error) {
	for {
		if frame, ok := c.take(); ok {
			return frame, nil
		}
		select {
		case <-c.arrived:
		case <-c.gone:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *conn) take() ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	frame, ok := c.pending[c.next]
	if ok {
		delete(c.pending, c.next)
		c.pendingBytes -= len(frame)
		c.next++
	}
	return frame, ok
}

// Write sends a frame to the page, waiting while too much is on its way.
func (c *conn) Write(ctx context.Context, frame []byte) error {
	for {
		n, ok, err := c.reserve(len(frame))
		if err != nil {
			return err
		}
		if ok {
			c.emit("frame", c.id, n, string(frame))
			return nil
		}
		select {
		case <-c.released:
		case <-c.gone:
			return io.EOF
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reserve numbers a frame if there is room for it. A frame larger than all the room goes alone.
func (c *conn) reserve(size int) (n int, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, false, io.EOF
	}
	if len(c.sizes) >= maxUnacked || len(c.sizes) > 0 && c.unacked+size > maxUnackedBytes {
		return 0, false, nil
	}
	c.sent++
	c.sizes = append(c.sizes, size)
	c.unacked += size
	if len(c.sizes) < maxUnacked {
		// Passes the token on: another writer may wait for the same room.
		signal(c.released)
	}
	return c.sent, true, nil
}

// ack notes that the page has handled all frames up to received.
func (c *conn) ack(received int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if received > c.sent {
		return fmt.Errorf("%w: frame %d acknowledged, %d sent", errOrder, received, c.sent)
	}
	for c.acked < received {
		c.unacked -= c.sizes[0]
		c.sizes = c.sizes[1:]
		c.acked++
	}
	signal(c.released)
	return nil
}

// Close ends the line and tells the page why.
func (c *conn) Close(code int, reason string) error {
	if c.end() {
		c.emit("closed", c.id, code, reason)
	}
	return nil
}

// end ends the line without a word and reports whether it was open.
func (c *conn) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.closed = true
	close(c.gone)
	return true
}
