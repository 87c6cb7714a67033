package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	// A batch ends at whichever comes first, so that the first function in it
	// does not wait long for its answer.
	maxBatch     = 256
	maxBatchSpan = 10 * time.Millisecond

	slowFunction  = 50 * time.Millisecond
	stuckFunction = 5 * time.Second
)

const (
	beginSQL      = "BEGIN IMMEDIATE"
	commitSQL     = "COMMIT"
	rollbackSQL   = "ROLLBACK"
	savepointSQL  = "SAVEPOINT member"
	rollbackToSQL = "ROLLBACK TO member"
	releaseSQL    = "RELEASE member"
)

// request is one call of Write, or work for the writer's connection outside
// any transaction.
type request struct {
	fn      func(*Tx) error
	control func(*sql.Conn) error
	done    chan error // holds one answer, so that the writer never waits

	tx  *Tx
	err error
}

// writer owns the one connection that writes. run is its goroutine; closing
// ends it once the requests it has accepted are answered.
type writer struct {
	conn    *sql.Conn
	stmts   *statements
	guard   *guard
	log     *changeLog
	lastSeq *atomic.Int64 // newest committed change
	feed    *feed
	path    string
	logger  *slog.Logger
	now     func() time.Time
	commit  func() error // COMMIT, replaced by tests of a failing disk

	queue   chan *request // unbuffered: who was not received was not accepted
	closing chan struct{}
	done    chan struct{}

	next      *request   // received but not begun
	orphans   []*request // lost their batch, run again alone before anything else
	running   []*request // in the open transaction
	answering []*request // committed and not all answered
	stuck     *time.Timer
	current   atomic.Pointer[func(*Tx) error]
	failed    error // set once a sync failed: no more writes
	stats     counters
}

// bg is the context of everything the writer does: an interrupt would roll
// back functions that have nothing to do with it.
func (w *writer) bg() context.Context { return context.Background() }

func (w *writer) run() {
	ended := false
	defer func() {
		if ended {
			close(w.done)
			return
		}
		// A function ended the goroutine (runtime.Goexit, as testing.FailNow
		// does). Its neighbours run again on a new one.
		w.abandonRunning()
		go w.run()
	}()
	for !ended {
		ended = w.step()
	}
}

// abandonRunning follows a function that ended the writer's goroutine: it
// alone fails, its neighbours run again.
func (w *writer) abandonRunning() {
	for _, r := range w.answering {
		select {
		case r.done <- r.err:
		default:
		}
	}
	w.answering = nil
	if len(w.running) == 0 {
		return
	}
	last := len(w.running) - 1
	culprit := w.running[last]
	w.orphans = append(w.running[:last:last], w.orphans...)
	w.running = nil
	if err := culprit.tx.finish(); err != nil {
		w.logger.Warn("close the rows of an ended transaction function", "error", err)
	}
	w.rollback()
	culprit.done <- errFunctionExited
}

// step serves what waits next; it reports whether the writer has ended.
func (w *writer) step() (ended bool) {
	if len(w.orphans) > 0 {
		r := w.orphans[0]
		w.orphans = w.orphans[1:]
		w.stats.reruns.Add(1)
		w.alone(r)
		return false
	}
	if r := w.next; r != nil {
		w.next = nil
		w.serve(r)
		return false
	}
	select {
	case r := <-w.queue:
		w.serve(r)
		return false
	case <-w.closing:
		r := w.poll()
		if r == nil {
			return true
		}
		w.serve(r)
		return false
	}
}

func (w *writer) poll() *request {
	select {
	case r := <-w.queue:
		return r
	default:
		return nil
	}
}

func (w *writer) serve(first *request) {
	switch {
	case first.control != nil:
		first.done <- first.control(w.conn)
	case w.failed != nil:
		first.done <- w.failed
	default:
		w.batch(first)
	}
}

// batch runs first and whoever waits in one transaction.
func (w *writer) batch(first *request) {
	if err := w.begin(); err != nil {
		first.done <- classify(w.path, err)
		return
	}
	began := time.Now()
	intact := true
	for r := first; r != nil; {
		w.running = append(w.running, r)
		if intact = w.attempt(r); !intact {
			break // asking for another now would lose it
		}
		r = w.another(began)
	}
	if intact {
		if err := w.commitBatch(); err == nil {
			w.settle()
			return
		} else if isSyncFailure(err) {
			w.fail(err)
			return
		}
	}
	w.rollback()
	w.orphans, w.running = w.running, nil
}

// another gives the next function for the batch, or nil when the batch is to
// be committed.
func (w *writer) another(began time.Time) *request {
	if len(w.running) >= maxBatch || time.Since(began) > maxBatchSpan {
		return nil
	}
	r := w.poll()
	if r != nil && r.control != nil {
		w.next = r
		return nil
	}
	return r
}

// alone runs a function of a lost batch in a transaction of its own.
func (w *writer) alone(r *request) {
	if w.failed != nil {
		r.done <- w.failed
		return
	}
	if err := w.begin(); err != nil {
		r.done <- classify(w.path, err)
		return
	}
	w.running = []*request{r}
	intact := w.attempt(r)
	if intact && r.err == nil {
		err := w.commitBatch()
		if err == nil {
			w.settle()
			return
		}
		if isSyncFailure(err) {
			w.fail(err)
			return
		}
		r.err = fmt.Errorf("commit: %w", err)
	}
	w.running = nil
	w.rollback()
	if r.err == nil {
		r.err = errRolledBack
		if r.tx.failure != nil {
			r.err = fmt.Errorf("%w: %w", errRolledBack, r.tx.failure)
		}
	}
	r.done <- classify(w.path, r.err)
}

// attempt runs one function in a savepoint. It reports whether the transaction
// around it is still there.
func (w *writer) attempt(r *request) (intact bool) {
	seq := w.log.next
	if _, r.err = w.stmts.exec(w.bg(), savepointSQL); r.err != nil {
		return false
	}
	r.tx = &Tx{ctx: w.bg(), stmts: w.stmts, guard: w.guard, now: w.now}
	r.err = w.invoke(r)
	if err := r.tx.finish(); err != nil && r.err == nil {
		r.err = fmt.Errorf("close rows: %w", err)
	}
	if r.err == nil {
		r.err = w.log.append(w.bg(), w.stmts, r.tx.changes)
	}
	if w.guard.rolledBack.Load() {
		return false
	}
	if r.err == nil {
		_, err := w.stmts.exec(w.bg(), releaseSQL)
		return err == nil
	}
	w.log.next = seq
	if _, err := w.stmts.exec(w.bg(), rollbackToSQL); err != nil {
		return false
	}
	_, err := w.stmts.exec(w.bg(), releaseSQL)
	return err == nil
}

// invoke calls the function with the guard closed, and turns its panic into
// its error.
func (w *writer) invoke(r *request) (err error) {
	began := time.Now()
	w.current.Store(&r.fn)
	w.stuck.Reset(stuckFunction)
	w.guard.closed.Store(true)
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		w.guard.closed.Store(false)
		w.stuck.Stop()
		if took := time.Since(began); took > slowFunction {
			w.logger.Warn("a transaction function was slow; all writers waited",
				"took", took, "function", functionName(r.fn))
		}
	}()
	return r.fn(r.tx)
}

func (w *writer) warnStuck() {
	if fn := w.current.Load(); fn != nil {
		w.logger.Error("a transaction function does not end; all writers wait",
			"age", stuckFunction, "function", functionName(*fn))
	}
}

// begin opens the transaction. One that an earlier failure left open is rolled
// back first.
func (w *writer) begin() error {
	_, err := w.stmts.exec(w.bg(), beginSQL)
	if err != nil {
		w.rollback()
		_, err = w.stmts.exec(w.bg(), beginSQL)
	}
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	w.guard.rolledBack.Store(false)
	return nil
}

// commitBatch prunes the change log and commits; after it returns nil the
// batch is on disk.
func (w *writer) commitBatch() error {
	first, err := w.log.prune(w.bg(), w.stmts)
	if err != nil {
		return err
	}
	if err := w.commit(); err != nil {
		return err
	}
	w.log.first = first
	w.stats.commits.Add(1)
	return nil
}

func (w *writer) execCommit() error {
	_, err := w.stmts.exec(w.bg(), commitSQL)
	return err
}

// rollback ends whatever transaction is left and takes back its numbers.
func (w *writer) rollback() {
	// It fails when SQLite has rolled back already, which is what is wanted.
	_, _ = w.stmts.exec(w.bg(), rollbackSQL)
	w.log.next = w.lastSeq.Load() + 1
}

// settle publishes and answers a committed batch.
func (w *writer) settle() {
	members := w.running
	w.answering, w.running = members, nil
	w.lastSeq.Store(w.log.next - 1)
	var changes []Change
	for _, r := range members {
		if r.err == nil {
			changes = append(changes, r.tx.changes...)
			w.stats.transactions.Add(1)
		}
	}
	if len(changes) > 0 {
		w.feed.publish(changes)
	}
	for _, r := range members {
		if r.err == nil {
			w.runHooks(r.tx.onCommit)
		}
	}
	for _, r := range members {
		r.done <- classify(w.path, r.err)
	}
	w.answering = nil
}

func (w *writer) runHooks(hooks []func()) {
	for _, hook := range hooks {
		func() {
			defer func() {
				if v := recover(); v != nil {
					w.logger.Error("a function run after a commit panicked", "value", v, "stack", string(debug.Stack()))
				}
			}()
			hook()
		}()
	}
}

// fail ends all writing: after a failed sync the kernel may call the next one
// good although the pages are lost.
func (w *writer) fail(err error) {
	w.failed = classify(w.path, fmt.Errorf("commit: %w", err))
	w.logger.Error("the disk did not confirm a commit; no more is written until a restart", "error", err)
	w.rollback()
	for _, r := range w.running {
		r.done <- w.failed
	}
	w.running = nil
}

var errFunctionExited = errors.New("transaction function ended its goroutine: not saved")

func functionName(fn any) string {
	if f := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()); f != nil {
		return f.Name()
	}
	return "unknown"
}
