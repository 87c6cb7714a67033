package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"countersign/backend/protocol"
)

// Transport carries the text frames of one connection. Read is called by one
// goroutine and Write by another; Close may be called by any, at any time, more
// than once.
type Transport interface {
	// Read returns the next frame. It ends with an error when the transport is
	// closed, when the context is done, and when the frame is not what may come:
	// ErrFrameTooLarge, ErrNotText.
	Read(ctx context.Context) ([]byte, error)
	// Write sends one frame and returns when it has left; it must return soon
	// after the context is done. It must not keep the slice.
	Write(ctx context.Context, frame []byte) error
	// Close ends the transport and unblocks Read and Write. Code and reason go to
	// the other side where the transport has a way to say them.
	Close(code int, reason string) error
}

// ReadLimiter is what a transport offers that can refuse a frame before it is in
// memory. The limit holds from the next Read on and is set by the reader.
type ReadLimiter interface {
	SetReadLimit(bytes int64)
}

// Echoer is what a transport offers whose other side says by itself when it has
// read all that was written before.
type Echoer interface {
	// Echo asks for that sign and calls heard when it comes, on the reader's
	// goroutine; where it never comes, heard is never called.
	Echo(heard func())
}

// ErrFrameTooLarge reports a frame over the limit; the connection is closed with
// 1009.
var ErrFrameTooLarge = errors.New("frame is too large")

// ErrNotText reports a binary frame; the connection is closed with 1003.
var ErrNotText = errors.New("frame is not text")

// stream carries frames as lines of JSON over a byte stream.
type stream struct {
	conn  net.Conn
	in    *bufio.Reader
	limit int64
	once  sync.Once
	err   error
}

// NewStream carries frames as lines over a byte stream, such as the Unix socket.
// A line is one frame; close codes cannot be told and the stream just ends.
func NewStream(conn net.Conn) Transport {
	return &stream{conn: conn, in: bufio.NewReader(conn), limit: protocol.MaxFrameBeforeAuth}
}

func (s *stream) SetReadLimit(bytes int64) { s.limit = bytes }

func (s *stream) Read(ctx context.Context) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var line []byte
	for {
		part, err := s.in.ReadSlice('\n')
		if int64(len(line)+len(part)) > s.limit+1 {
			return nil, ErrFrameTooLarge
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read frame: %w", err)
	}
}

func (s *stream) Write(ctx context.Context, frame []byte) error {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	lines := net.Buffers{frame, []byte{'\n'}}
	if _, err := lines.WriteTo(s.conn); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

func (s *stream) Close(int, string) error {
	s.once.Do(func() { s.err = s.conn.Close() })
	return s.err
}
