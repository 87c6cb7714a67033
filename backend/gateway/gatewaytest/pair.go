// Package gatewaytest lets tests talk to a gateway without a network: an
// in-memory transport, a client over it, and stand-ins for what the host gives.
//
// It owns no rules of the protocol: the client sends what it is told and returns
// what came. It promises real back-pressure: the gateway's writer blocks once the
// pair's buffer is full and nobody reads. It refuses to be used outside tests.
package gatewaytest

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
)

// Pipe is the server's end of an in-memory connection.
type Pipe struct {
	in, out chan []byte
	closed  chan struct{}
	once    sync.Once
	code    atomic.Int64
	reason  atomic.Value
	// wrote counts the frames that the server's Write let through.
	wrote atomic.Int64
}

// NewPipe makes a connection that holds as many frames as told in each direction
// before the writer blocks.
func NewPipe(buffer int) *Pipe {
	return &Pipe{in: make(chan []byte, buffer), out: make(chan []byte, buffer), closed: make(chan struct{})}
}

// Read implements gateway.Transport.
func (p *Pipe) Read(ctx context.Context) ([]byte, error) {
	select {
	case frame := <-p.in:
		return frame, nil
	default:
	}
	select {
	case frame := <-p.in:
		return frame, nil
	case <-p.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements gateway.Transport.
func (p *Pipe) Write(ctx context.Context, frame []byte) error {
	mine := append([]byte(nil), frame...)
	select {
	case p.out <- mine:
		p.wrote.Add(1)
		return nil
	case <-p.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close implements gateway.Transport; the first code and reason count.
func (p *Pipe) Close(code int, reason string) error {
	p.once.Do(func() {
		p.code.Store(int64(code))
		p.reason.Store(reason)
		close(p.closed)
	})
	return nil
}

// Ended returns how the connection was closed; ok is false while it is open.
func (p *Pipe) Ended() (code int, reason string, ok bool) {
	select {
	case <-p.closed:
		reason, _ := p.reason.Load().(string)
		return int(p.code.Load()), reason, true
	default:
		return 0, "", false
	}
}

// Wrote is how many frames the server has written.
func (p *Pipe) Wrote() int64 { return p.wrote.Load() }

// Deliver hands the server a frame; it is dropped when the connection has ended.
func (p *Pipe) Deliver(frame []byte) {
	select {
	case p.in <- frame:
	case <-p.closed:
	}
}

// Received takes a frame that the server has written; ok is false when none is
// there.
func (p *Pipe) Received() (frame []byte, ok bool) {
	select {
	case frame := <-p.out:
		return frame, true
	default:
		return nil, false
	}
}
