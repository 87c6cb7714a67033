package load

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"countersign/backend/protocol"
	"countersign/backend/testkit/invariant"
)

// writer makes up messages for the practice model. Each names its own key, so
// that it can be found again.
type writer struct {
	rand   *rand.Rand
	marker string
	// file takes the lines of this conversation's commands.
	file string
}

// compose makes a message for key, and tells which lines its commands leave.
func (w *writer) compose(key protocol.RunID) (text string, commands []invariant.Command) {
	steps := 1
	if w.rand.IntN(4) == 0 {
		steps = 2 + w.rand.IntN(2)
	}
	var parts []string
	for i := range steps {
		part, command := w.step(key, i)
		parts = append(parts, part)
		if command != nil {
			commands = append(commands, *command)
		}
	}
	return strings.Join(parts, " then "), commands
}

func (w *writer) step(key protocol.RunID, i int) (string, *invariant.Command) {
	switch p := w.rand.IntN(100); {
	case p < 20:
		return fmt.Sprintf("say %s-%d", key, i), nil
	case p < 30:
		return "list this folder", nil
	case p < 40:
		return "search for " + string(key), nil
	case p < 45:
		return fmt.Sprintf("count to %d", 20+w.rand.IntN(200)), nil
	case p < 48:
		return "run env", nil
	case p < 65:
		return fmt.Sprintf("write %s-%d.txt: `words of %s`", key, i, key), nil
	}
	line := fmt.Sprintf("%s-%d.", key, i)
	pause := float64(w.rand.IntN(150)) / 1000
	return fmt.Sprintf("run sh -c 'echo %s >> %s; sleep %.3f' %s", line, w.file, pause, w.marker), &invariant.Command{Run: key, Line: line, File: w.file}
}
