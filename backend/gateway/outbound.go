package gateway

import (
	"strconv"
	"sync"
	"time"

	"countersign/backend/protocol"
)

const (
	// windowPace is the shortest time between two sendings of running text to the
	// window, whose events have no back-pressure of their own: 30 a second.
	windowPace = time.Second / 30
	// maxPendingText bounds the running text that waits for one client, in bytes.
	// What does not fit is left out; the end of the run carries the whole text.
	maxPendingText = 4 << 20
	// frameOverhead is what an event frame weighs beside its payload, about.
	frameOverhead = 96
)

// item is one frame to come. Its fields are set before push and belong to the
// outbound queue afterwards; payload is shared with other clients and never
// changed.
type item struct {
	raw     []byte // a whole frame: an answer, or the challenge
	event   protocol.EventName
	payload []byte
	state   *protocol.StateVersion
	run     protocol.RunID
	text    *runningText // set for what may be merged
	ends    bool         // ends the run: whole text inside
	newest  bool         // replaces an older one that has not left
	size    int64
	written func()
}

// outbound is the queue of one client. Frames leave in the order they came, but
// for three things: running text is merged with text of the same run that has not
// left yet, an event that only tells the newest state replaces its predecessor,
// and events of a run wait until the answer that started it has left.
//
// A client's seq is given when a frame leaves, so that it has no holes.
type outbound struct {
	overflow func()
	pace     time.Duration

	mu       sync.Mutex
	wake     chan struct{}
	queue    []*item
	bytes    int64
	text     int64
	seq      int64
	finished bool

	gated  bool
	early  []*item
	held   map[protocol.RunID]*hold
	open   map[protocol.RunID]map[textKey]*item
	lost   map[protocol.RunID]map[textKey]struct{}
	newest map[protocol.EventName]*item

	paced    []*item
	lastPace time.Time
	timer    *time.Timer
}

// hold keeps the events of a run back; answers counts the calls they wait for.
type hold struct {
	answers int
	items   []*item
}

func newOutbound(overflow func()) *outbound {
	return &outbound{
		overflow: overflow, wake: make(chan struct{}, 1),
		held:   map[protocol.RunID]*hold{},
		open:   map[protocol.RunID]map[textKey]*item{},
		lost:   map[protocol.RunID]map[textKey]struct{}{},
		newest: map[protocol.EventName]*item{},
	}
}

// push takes a frame. It never blocks.
func (o *outbound) push(it *item) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.finished {
		return
	}
	if o.bytes+it.size > protocol.MaxBuffered {
		if it.newest {
			return
		}
		if it.text != nil {
			o.lose(it)
			return
		}
		o.finished = true
		o.queue, o.early, o.paced = nil, nil, nil
		// The connection's end comes back here; it must not meet our lock.
		go o.overflow()
		return
	}
	o.bytes += it.size
	o.place(it)
}

// place puts a frame where it waits for its turn.
func (o *outbound) place(it *item) {
	switch h := o.held[it.run]; {
	case it.raw == nil && o.gated:
		o.early = append(o.early, it)
	case it.raw == nil && it.run != "" && h != nil:
		h.items = append(h.items, it)
	case it.newest:
		o.replace(it)
	case it.text != nil:
		o.merge(it)
	default:
		o.barrier(it)
		o.enqueue(it)
	}
}

func (o *outbound) enqueue(it *item) {
	o.queue = append(o.queue, it)
	o.signal()
}

func (o *outbound) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbound) replace(it *item) {
	if older := o.newest[it.event]; older != nil {
		o.bytes -= older.size
		older.payload, older.state, older.size = it.payload, it.state, it.size
		return
	}
	o.newest[it.event] = it
	o.enqueue(it)
}

// merge adds running text to what waits, or begins a new piece.
func (o *outbound) merge(it *item) {
	if _, lost := o.lost[it.run][it.text.key]; lost {
		o.bytes -= it.size
		return
	}
	if o.text+it.size > maxPendingText {
		o.bytes -= it.size
		o.lose(it)
		return
	}
	o.text += it.size
	if waiting := o.open[it.run][it.text.key]; waiting != nil {
		waiting.text.absorb(it.text)
		waiting.payload = nil
		waiting.size += it.size
		return
	}
	it.text = it.text.own()
	if o.open[it.run] == nil {
		o.open[it.run] = map[textKey]*item{}
	}
	o.open[it.run][it.text.key] = it
	if o.pace == 0 {
		o.enqueue(it)
		return
	}
	o.paced = append(o.paced, it)
	wait := o.pace - time.Since(o.lastPace)
	switch {
	case wait <= 0:
		o.flushPaced()
	case o.timer == nil:
		o.timer = time.AfterFunc(wait, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.timer = nil
			if !o.finished {
				o.flushPaced()
			}
		})
	}
}

func (o *outbound) flushPaced() {
	if len(o.paced) == 0 {
		return
	}
	o.lastPace = time.Now()
	o.queue = append(o.queue, o.paced...)
	o.paced = nil
	o.signal()
}

// barrier keeps what follows from being merged into what came before: text after
// a tool call stays after it.
func (o *outbound) barrier(it *item) {
	if it.run == "" {
		return
	}
	o.flushPaced()
	delete(o.open, it.run)
	if it.ends {
		delete(o.lost, it.run)
	}
}

// lose leaves out text from here to the end of the run.
func (o *outbound) lose(it *item) {
	if o.lost[it.run] == nil {
		o.lost[it.run] = map[textKey]struct{}{}
	}
	o.lost[it.run][it.text.key] = struct{}{}
}

// gate keeps all events back until openGate: what happens while the snapshot is
// taken comes after it.
func (o *outbound) gate() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gated = true
}

// openGate sends the snapshot and then what waited for it.
func (o *outbound) openGate(first *item) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.finished {
		return
	}
	o.gated = false
	o.bytes += first.size
	o.enqueue(first)
	early := o.early
	o.early = nil
	for _, it := range early {
		o.place(it)
	}
}

// hold keeps the events of a run back until as many releases.
func (o *outbound) hold(run protocol.RunID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held[run] == nil {
		o.held[run] = &hold{}
	}
	o.held[run].answers++
}

func (o *outbound) release(run protocol.RunID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.held[run]
	if h == nil || o.finished {
		return
	}
	if h.answers--; h.answers > 0 {
		return
	}
	delete(o.held, run)
	for _, it := range h.items {
		o.place(it)
	}
}

// next returns the frame whose turn it is and waits for one; nil ends the writer.
func (o *outbound) next() *item {
	for {
		o.mu.Lock()
		if len(o.queue) > 0 {
			it := o.queue[0]
			o.queue[0] = nil
			o.queue = o.queue[1:]
			o.close(it)
			o.mu.Unlock()
			return it
		}
		finished := o.finished
		o.mu.Unlock()
		if finished {
			return nil
		}
		<-o.wake
	}
}

// close takes a leaving frame out of what may still be changed.
func (o *outbound) close(it *item) {
	if it.newest {
		delete(o.newest, it.event)
	}
	if it.text == nil {
		return
	}
	o.text -= it.size
	if open := o.open[it.run]; open[it.text.key] == it {
		delete(open, it.text.key)
		if len(open) == 0 {
			delete(o.open, it.run)
		}
	}
}

// frame writes a leaving item; only the writer calls it.
func (o *outbound) frame(it *item) ([]byte, error) {
	if it.raw != nil {
		return it.raw, nil
	}
	payload := it.payload
	if payload == nil {
		var err error
		if payload, err = it.text.encode(); err != nil {
			return nil, err
		}
	}
	o.seq++
	b := make([]byte, 0, len(payload)+frameOverhead+64)
	b = append(b, `{"type":"event","event":`...)
	b = strconv.AppendQuote(b, string(it.event))
	b = append(b, `,"payload":`...)
	b = append(b, payload...)
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, o.seq, 10)
	if it.state != nil {
		b = append(b, `,"stateVersion":{"presence":`...)
		b = strconv.AppendInt(b, it.state.Presence, 10)
		b = append(b, `,"health":`...)
		b = strconv.AppendInt(b, it.state.Health, 10)
		b = append(b, '}')
	}
	return append(b, '}'), nil
}

// wrote settles a frame that has left.
func (o *outbound) wrote(it *item) {
	o.mu.Lock()
	o.bytes -= it.size
	o.mu.Unlock()
	if it.written != nil {
		it.written()
	}
}

// finish takes no more frames; with drop, what is queued is forgotten too.
func (o *outbound) finish(drop bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !drop && !o.finished {
		o.flushPaced()
	}
	o.finished = true
	if drop {
		o.queue = nil
	}
	if o.timer != nil {
		o.timer.Stop()
	}
	o.signal()
}
