package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/gorilla/websocket"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// rowSize is about what one admission writes, in bytes: the message and the row
// of its run.
const rowSize = 1024

// floor is what no acknowledgement of a stored message can be faster than: one
// commit that is on the disk, and one way to a server and back.
type floor struct {
	db     *sql.DB
	insert *sql.Stmt
	row    []byte

	server *http.Server
	conn   *websocket.Conn
	frame  []byte
}

func newFloor(ctx context.Context, dir string) (f *floor, err error) {
	f = &floor{row: make([]byte, rowSize), frame: make([]byte, rowSize/2)}
	for i := range f.frame {
		f.frame[i] = 'x'
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	name := "file:" + filepath.Join(dir, "bare.db") + "?_journal_mode=WAL&_synchronous=FULL&_pragma=fullfsync(1)"
	if f.db, err = sql.Open("sqlite", name); err != nil {
		return f, fmt.Errorf("open bare database: %w", err)
	}
	f.db.SetMaxOpenConns(1)
	if _, err := f.db.ExecContext(ctx, `CREATE TABLE rows (id INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT`); err != nil {
		return f, fmt.Errorf("open bare database: %w", err)
	}
	if f.insert, err = f.db.PrepareContext(ctx, `INSERT INTO rows (content) VALUES (?)`); err != nil {
		return f, fmt.Errorf("open bare database: %w", err)
	}
	return f, f.echo(ctx)
}

// echo starts a server that says what it hears, and connects to it.
func (f *floor) echo(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	f.server = &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: time.Second}
	go func() { _ = f.server.Serve(l) }() // ends with close
	f.conn, _, err = websocket.DefaultDialer.DialContext(ctx, "ws://"+l.Addr().String(), nil)
	if err != nil {
		return fmt.Errorf("reach echo: %w", err)
	}
	return nil
}

func answer(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	defer conn.Close()
	for {
		kind, frame, err := conn.ReadMessage()
		if err != nil || conn.WriteMessage(kind, frame) != nil {
			return
		}
	}
}

func (f *floor) commit(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	if _, err := f.insert.ExecContext(ctx, f.row); err != nil {
		return 0, fmt.Errorf("commit bare row: %w", err)
	}
	return time.Since(began), nil
}

func (f *floor) loop() (time.Duration, error) {
	began := time.Now()
	if err := f.conn.WriteMessage(websocket.TextMessage, f.frame); err != nil {
		return 0, fmt.Errorf("send to echo: %w", err)
	}
	if _, _, err := f.conn.ReadMessage(); err != nil {
		return 0, fmt.Errorf("hear echo: %w", err)
	}
	return time.Since(began), nil
}

func (f *floor) close() error {
	var errs []error
	if f.conn != nil {
		errs = append(errs, f.conn.Close())
	}
	if f.server != nil {
		errs = append(errs, f.server.Close())
	}
	if f.insert != nil {
		errs = append(errs, f.insert.Close())
	}
	if f.db != nil {
		errs = append(errs, f.db.Close())
	}
	return errors.Join(errs...)
}
