package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// maxConns bounds the lines of one page. A page that reloads leaves its line behind without a word; opening one more
// than this ends the oldest.
const maxConns = 4

var (
	errNoLine  = errors.New("this line has ended")
	errClosing = errors.New("the host is closing")
)

// Page is what the window's page can call: a line of frames to the gateway, the system's folder chooser, and its sign of
// life. Every exported
// method here is reachable from the page, so there are no others. Its methods are safe for concurrent use.
type Page struct {
	p *pageCore
}

// pageCore keeps what the page must not reach out of the bound object.
type pageCore struct {
	log  *slog.Logger
	emit func(name string, data ...any)
	beat func()
	// choose asks the owner for a folder.
	choose func() (string, error)

	ready chan struct{} // closed once serve and ctx are set, or the host could not open

	mu    sync.Mutex // guards the rest
	serve func(context.Context, Transport) error
	ctx   context.Context
	conns []*conn // oldest first
	done  bool
	lines sync.WaitGroup
}

func newPage(log *slog.Logger, emit func(string, ...any), beat func(), choose func() (string, error)) *Page {
	return &Page{&pageCore{log: log, emit: emit, beat: beat, choose: choose, ready: make(chan struct{})}}
}

// start lets lines open. ctx ends them.
func (p *pageCore) start(ctx context.Context, serve func(context.Context, Transport) error) {
	p.mu.Lock()
	p.ctx, p.serve = ctx, serve
	p.mu.Unlock()
	close(p.ready)
}

// stop ends all lines, refuses new ones, and returns when none is served any more.
func (p *pageCore) stop() {
	p.mu.Lock()
	p.done = true
	open := p.conns
	p.conns = nil
	p.mu.Unlock()
	for _, c := range open {
		// The close itself cannot fail; the error is the interface's.
		_ = c.Close(closeGoingAway, "Countersign is closing.")
	}
	p.lines.Wait()
}

// Open starts a line and returns its name. It waits while the host opens.
func (p *Page) Open() (string, error) {
	c := p.p
	<-c.ready
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done || c.serve == nil {
		return "", errClosing
	}
	if len(c.conns) >= maxConns {
		oldest := c.conns[0]
		c.conns = c.conns[1:]
		go oldest.Close(closeGoingAway, "The page opened another line.")
	}
	line := newConn(rand.Text(), c.emit)
	c.conns = append(c.conns, line)
	c.lines.Add(1)
	go c.run(c.ctx, line)
	return line.id, nil
}

// run serves one line until it ends; stop waits for it.
func (p *pageCore) run(ctx context.Context, line *conn) {
	defer p.lines.Done()
	err := p.serve(ctx, line)
	code, reason := closeNormal, ""
	if err != nil && ctx.Err() == nil {
		p.log.Warn("the page's line ended", "conn", line.id, "err", err)
		code, reason = closeInternal, "The line to the host ended."
	}
	_ = line.Close(code, reason)
	p.forget(line)
}

func (p *pageCore) forget(line *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, c := range p.conns {
		if c == line {
			p.conns = append(p.conns[:i:i], p.conns[i+1:]...)
			return
		}
	}
}

func (p *pageCore) find(id string) (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		if c.id == id {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", errNoLine, id)
}

// Send takes a frame of the line. Order counts the line's frames from 1.
func (p *Page) Send(id string, order int, frame string) error {
	c, err := p.p.find(id)
	if err != nil {
		return err
	}
	return c.receive(order, frame)
}

// Ack says that the page has handled all frames up to number received.
func (p *Page) Ack(id string, received int) error {
	c, err := p.p.find(id)
	if err != nil {
		return err
	}
	return c.ack(received)
}

// Close ends the line from the page's side. A line that has ended already is fine.
func (p *Page) Close(id string) {
	if c, err := p.p.find(id); err == nil {
		c.end()
		p.p.forget(c)
	}
}

// ChooseFolder shows the system's folder chooser and returns the whole path; empty when the owner chose none. It opens
// nothing to the agent: what was chosen is only a path, which the page shows and the gateway checks.
func (p *Page) ChooseFolder() (string, error) { return p.p.choose() }

// Heartbeat is the page's sign of life.
func (p *Page) Heartbeat() { p.p.beat() }
