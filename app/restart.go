package app

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// A window that dies again and again must not be started for ever. The times of the last restarts travel to the next
// process in this variable, as Unix seconds.
const (
	restartsVariable = "COUNTERSIGN_RESTARTED_AT"
	restartsMost     = 3
	restartsWithin   = 10 * time.Minute
)

// nextRestart returns the variable's next value, or false when there were too many restarts.
func nextRestart(value string, now time.Time) (string, bool) {
	var recent []string
	for _, part := range strings.Fields(value) {
		at, err := strconv.ParseInt(part, 10, 64)
		if err == nil && now.Sub(time.Unix(at, 0)) < restartsWithin {
			recent = append(recent, part)
		}
	}
	if len(recent) >= restartsMost {
		return "", false
	}
	return strings.Join(append(recent, strconv.FormatInt(now.Unix(), 10)), " "), true
}

// Again starts the program in place of this one. It returns only when it cannot.
func Again(now time.Time) error {
	value, ok := nextRestart(os.Getenv(restartsVariable), now)
	if !ok {
		return fmt.Errorf("restart the window: it was restarted %d times in %s", restartsMost, restartsWithin)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("restart the window: %w", err)
	}
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, restartsVariable+"=") {
			env = append(env, e)
		}
	}
	if err := replace(self, os.Args, append(env, restartsVariable+"="+value)); err != nil {
		return fmt.Errorf("restart the window: %w", err)
	}
	return nil
}
