package load

import (
	"context"
	"math/rand/v2"
	"time"
)

// moments tells of the instants when something is under way: a message about to
// be sent, a decision just made, a command that begins.
type moments struct{ came chan struct{} }

// mark tells of one; when nobody has listened for long it is dropped.
func (m moments) mark() {
	select {
	case m.came <- struct{}{}:
	default:
	}
}

// await returns at the moment chance has chosen. Most often that is just after
// one of the first moments, where a crash hurts; sometimes it is any time.
func (m moments) await(ctx context.Context, r *rand.Rand) {
	for len(m.came) > 0 {
		<-m.came // those of the boot before
	}
	skip, delay := r.IntN(24), time.Duration(r.Int64N(int64(12*time.Millisecond)))
	if r.IntN(4) == 0 {
		skip, delay = 0, time.Duration(r.Int64N(int64(time.Second)))
	}
	limit := time.NewTimer(maxWork)
	defer limit.Stop()
	for ; skip >= 0; skip-- {
		select {
		case <-m.came:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
