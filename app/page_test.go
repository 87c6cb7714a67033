package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakePage records the events the page would get, and hands them to the test.
type fakePage struct {
	mu     sync.Mutex
	frames []string
	closed []string
}

func (f *fakePage) emit(name string, data ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch name {
	case "frame":
		f.frames = append(f.frames, fmt.Sprintf("%d:%s", data[1], data[2]))
	case "closed":
		f.closed = append(f.closed, fmt.Sprintf("%s %d %s", data[0], data[1], data[2]))
	}
}

func (f *fakePage) counts() (frames, closed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.frames), len(f.closed)
}

// echo answers each frame with itself.
func echo(ctx context.Context, t Transport) error {
	for {
		frame, err := t.Read(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.Write(ctx, frame); err != nil {
			return err
		}
	}
}

func startPage(t *testing.T, serve func(context.Context, Transport) error) (*Page, *fakePage) {
	t.Helper()
	f := &fakePage{}
	p := newPage(slog.New(slog.DiscardHandler), f.emit, func() {}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	p.p.start(ctx, serve)
	t.Cleanup(func() { cancel(); p.p.stop() })
	return p, f
}

func TestFramesAreReadInTheOrderThePageGaveThem(t *testing.T) {
	const count = 200
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	order := rand.New(rand.NewPCG(seed, 1)).Perm(count)
	read := make(chan string, count)
	p, _ := startPage(t, func(ctx context.Context, tr Transport) error {
		for {
			frame, err := tr.Read(ctx)
			if err != nil {
				return err
			}
			read <- string(frame)
		}
	})
	id, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for _, n := range order {
		calls.Go(func() {
			if err := p.Send(id, n+1, fmt.Sprint(n)); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	for n := range count {
		if got := <-read; got != fmt.Sprint(n) {
			t.Fatalf("frame %d is %s", n, got)
		}
	}
}

func TestRepeatedOrDistantFrameEndsTheLine(t *testing.T) {
	for name, send := range map[string]func(p *Page, id string) error{
		"repeated": func(p *Page, id string) error {
			return errors.Join(p.Send(id, 2, "a"), p.Send(id, 2, "a"))
		},
		"before the first": func(p *Page, id string) error { return p.Send(id, 0, "a") },
		"too many ahead": func(p *Page, id string) error {
			var err error
			for n := range maxPending + 1 {
				err = errors.Join(err, p.Send(id, n+2, "a"))
			}
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, f := startPage(t, echo)
			id, err := p.Open()
			if err != nil {
				t.Fatal(err)
			}
			if err := send(p, id); !errors.Is(err, errOrder) {
				t.Errorf("%s: %v, want errOrder", name, err)
			}
			synctest.Wait()
			if _, closed := f.counts(); closed != 1 {
				t.Errorf("%s: the page heard of %d closes, want 1", name, closed)
			}
			if err := p.Send(id, 1, "b"); !errors.Is(err, errNoLine) {
				t.Errorf("%s: a frame after the end gives %v", name, err)
			}
		})
	}
}

func TestFrameOverTheLimitEndsTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, f := startPage(t, func(ctx context.Context, tr Transport) error {
			tr.(interface{ SetReadLimit(int64) }).SetReadLimit(8)
			return echo(ctx, tr)
		})
		id, err := p.Open()
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := p.Send(id, 1, "12345678"); err != nil {
			t.Errorf("a frame of just the limit: %v", err)
		}
		if err := p.Send(id, 2, "123456789"); !errors.Is(err, errTooLarge) {
			t.Errorf("a larger one: %v, want errTooLarge", err)
		}
		synctest.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.closed) != 1 || !strings.Contains(f.closed[0], " 1009 ") {
			t.Errorf("the page heard %q, want one close with 1009", f.closed)
		}
	})
}

func TestSlowPageHoldsTheWriterBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = maxUnacked + 50
		done := make(chan struct{})
		p, f := startPage(t, func(ctx context.Context, tr Transport) error {
			defer close(done)
			for range total {
				if err := tr.Write(ctx, []byte("x")); err != nil {
					return err
				}
			}
			return nil
		})
		id, err := p.Open()
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, _ := f.counts(); got != maxUnacked {
			t.Fatalf("%d frames sent without an acknowledgement, want %d", got, maxUnacked)
		}
		if err := p.Ack(id, total); err == nil {
			t.Error("frames that were never sent are acknowledged")
		}
		if err := p.Ack(id, 20); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, _ := f.counts(); got != maxUnacked+20 {
			t.Fatalf("%d frames after 20 were acknowledged, want %d", got, maxUnacked+20)
		}
		if err := p.Ack(id, 100); err != nil {
			t.Fatal(err)
		}
		<-done
	})
}

func TestLargeFramesAreHeldBackByTheirBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		big := []byte(strings.Repeat("x", maxUnackedBytes/2+1))
		p, f := startPage(t, func(ctx context.Context, tr Transport) error {
			for range 3 {
				if err := tr.Write(ctx, big); err != nil {
					return err
				}
			}
			<-ctx.Done()
			return nil
		})
		id, err := p.Open()
		if err != nil {
			t.Fatal(err)
		}
		for want := 1; want <= 3; want++ {
			synctest.Wait()
			if got, _ := f.counts(); got != want {
				t.Fatalf("%d large frames on their way, want %d", got, want)
			}
			if err := p.Ack(id, want); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestOpenWaitsForTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage(slog.New(slog.DiscardHandler), func(string, ...any) {}, func() {}, nil)
		opened := make(chan error, 1)
		go func() {
			_, err := p.Open()
			opened <- err
		}()
		<-time.After(time.Minute)
		select {
		case err := <-opened:
			t.Fatalf("opened before the host: %v", err)
		default:
		}
		ctx, cancel := context.WithCancel(t.Context())
		p.p.start(ctx, echo)
		if err := <-opened; err != nil {
			t.Error(err)
		}
		cancel()
		p.p.stop()
		if _, err := p.Open(); !errors.Is(err, errClosing) {
			t.Errorf("after the end: %v, want errClosing", err)
		}
	})
}

func TestReloadingPageLeavesNoLinesBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, f := startPage(t, echo)
		for range maxConns + 3 {
			if _, err := p.Open(); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if _, closed := f.counts(); closed != 3 {
			t.Errorf("%d old lines ended, want 3", closed)
		}
		p.p.mu.Lock()
		defer p.p.mu.Unlock()
		if len(p.p.conns) != maxConns {
			t.Errorf("%d lines kept, want %d", len(p.p.conns), maxConns)
		}
	})
}

func TestPageClosesItsLineWithoutAnEcho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		p, f := startPage(t, func(ctx context.Context, tr Transport) error {
			_, err := tr.Read(ctx)
			ended <- err
			return nil
		})
		id, err := p.Open()
		if err != nil {
			t.Fatal(err)
		}
		p.Close(id)
		if err := <-ended; !errors.Is(err, io.EOF) {
			t.Errorf("the gateway reads %v, want io.EOF", err)
		}
		p.Close(id)
		synctest.Wait()
		if _, closed := f.counts(); closed != 0 {
			t.Error("the page is told of the close that it asked for")
		}
	})
}
