// Package run is the conductor of runs: it admits messages, gives lanes, holds
// leases, journals the agent loop, parks and resumes, stops, and recovers after
// a restart.
//
// Admission is one transaction (the input and its run), then the
// acknowledgement. One dispatcher claims the oldest queued run whose session
// lane is free, up to the width of the global lane; the goroutine of a claimed
// run writes only under its lease. A parked run is rows and nothing else; a
// decision puts it back into the queue, so that resuming after a decision,
// after a pause and after a restart are one path.
//
// At a boot every lease of an older epoch is void. An effect found started is
// looked into where its tool can find out, and else becomes unknown and parks
// its run. A run without such an effect goes on from its last committed step,
// which costs one of a fixed number of recoveries.
package run

import (
	"errors"
	"time"
)

// Words a person sees while a run works or waits.
const (
	stepThinking = "Thinking"
	stepPaused   = "Paused"
	stepStopped  = "Stopped with the app; it goes on now"
)

// defaultRecoveries is how often a run is continued after unclean ends.
const defaultRecoveries = 3

// defaultWidth is how many runs work at once.
const defaultWidth = 8

// Causes with which a run's context ends.
var (
	errStopped  = errors.New("stopped")
	errShutdown = errors.New("the host ends")
	errWallTime = errors.New("the time ceiling is reached")
)

// toolUpdateEvery bounds how often running output is sent on.
const toolUpdateEvery = 100 * time.Millisecond
