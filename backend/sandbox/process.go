package sandbox

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"time"
)

// process is a started command with everything that belongs to it.
type process struct {
	cmd *exec.Cmd
	// waited is closed when the command has ended and its state is known.
	waited chan struct{}
	// tree ends what the command has started.
	tree    tree
	started time.Time

	stdout, stderr *os.File // our ends
	stdin          *os.File // nil without input
}

// tree is a command with all its descendants. Its methods may be called at any
// time, also after the command has ended.
type tree interface {
	// ask asks every process to end.
	ask()
	// kill ends every process and returns true when none is left.
	kill() bool
	// close frees what the tree holds.
	close()
}

// newProcess connects the streams. The child's ends are closed by begin.
func newProcess(cmd *exec.Cmd, hasInput bool) (p *process, theirs []*os.File, err error) {
	p = &process{cmd: cmd, waited: make(chan struct{})}
	fail := func(err error) (*process, []*os.File, error) {
		p.closeStreams()
		closeAll(theirs)
		return nil, nil, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	p.stdout, theirs, cmd.Stdout = outRead, append(theirs, outWrite), outWrite
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	p.stderr, theirs, cmd.Stderr = errRead, append(theirs, errWrite), errWrite
	if hasInput {
		inRead, inWrite, err := os.Pipe()
		if err != nil {
			return fail(err)
		}
		p.stdin, theirs, cmd.Stdin = inWrite, append(theirs, inRead), inRead
	}
	return p, theirs, nil
}

func (p *process) closeStreams() {
	closeAll([]*os.File{p.stdout, p.stderr, p.stdin})
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // pipes and descriptors that were only read
		}
	}
}

// follow waits for the end, whatever brings it, and returns when nothing of the
// command is left.
func (p *process) follow(ctx context.Context, s Spec, out func(Chunk)) Result {
	limit, timeout := s.MaxOutput, s.Timeout
	if limit <= 0 {
		limit = DefaultMaxOutput
	}
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	streams := p.read(limit, out)
	var fed sync.WaitGroup
	if p.stdin != nil {
		fed.Go(func() {
			_, _ = p.stdin.Write(s.Stdin) // a command need not read its input
			_ = p.stdin.Close()
		})
	}
	var res Result
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.waited:
	case <-timer.C:
		res.TimedOut = true
		p.stop()
	case <-ctx.Done():
		res.Stopped = true
		p.stop()
	}
	p.finish(streams)
	fed.Wait()
	res.Duration = time.Since(p.started)
	p.outcome(&res)
	res.Stdout, res.TruncatedBytes = streams.stdout.text()
	stderr, cut := streams.stderr.text()
	res.Stderr, res.TruncatedBytes = stderr, res.TruncatedBytes+cut
	return res
}

// stop asks, waits, and kills.
func (p *process) stop() {
	p.tree.ask()
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-p.waited:
	case <-timer.C:
	}
}

// finish kills what is left, also of a command that ended by itself and left
// others behind, and collects the rest of the output.
func (p *process) finish(streams *streams) {
	deadline := time.Now().Add(killWait)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !p.tree.kill() && time.Now().Before(deadline) {
		<-ticker.C
	}
	<-p.waited
	// A process that escaped the tree may hold the pipes open.
	limit := time.Now().Add(killWait)
	_ = p.stdout.SetReadDeadline(limit) // at worst the output is read to its end
	_ = p.stderr.SetReadDeadline(limit)
	if p.stdin != nil {
		_ = p.stdin.SetWriteDeadline(time.Now())
	}
	streams.wait()
	p.closeStreams()
	p.tree.close()
}

func (p *process) outcome(res *Result) {
	state := p.cmd.ProcessState
	res.ExitCode = state.ExitCode()
	res.Signal = signalName(state)
}

// streams reads both outputs.
type streams struct {
	stdout, stderr *capture
	readers        sync.WaitGroup
}

func (s *streams) wait() { s.readers.Wait() }

func (p *process) read(limit int64, out func(Chunk)) *streams {
	s := &streams{stdout: newCapture(limit), stderr: newCapture(limit)}
	var one sync.Mutex
	var emit func(Chunk)
	if out != nil {
		emit = func(c Chunk) {
			one.Lock()
			defer one.Unlock()
			out(c)
		}
	}
	pump := func(from *os.File, keep *capture, stream string) {
		show := live{stream: stream, out: emit, left: limit}
		defer show.close()
		buffer := make([]byte, 32<<10)
		for {
			n, err := from.Read(buffer)
			keep.write(buffer[:n])
			show.write(buffer[:n])
			if err != nil {
				return // the end, or the deadline of finish
			}
		}
	}
	s.readers.Go(func() { pump(p.stdout, s.stdout, Stdout) })
	s.readers.Go(func() { pump(p.stderr, s.stderr, Stderr) })
	return s
}
