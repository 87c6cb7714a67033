package load

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"countersign/backend/protocol"
)

func TestEachCommandLeavesALineThatNoOtherLeaves(t *testing.T) {
	w := writer{rand: rand.New(rand.NewPCG(1, 1)), marker: "mark", file: "lines.txt"}
	seen := map[string]bool{}
	for i := range 2000 {
		key := protocol.RunID(fmt.Sprintf("k0-0-%d", i))
		text, commands := w.compose(key)
		for _, c := range commands {
			if seen[c.Line] || c.Run != key || c.File != w.file {
				t.Fatalf("%+v", c)
			}
			seen[c.Line] = true
			if !strings.Contains(text, "echo "+c.Line+" >> lines.txt") || !strings.Contains(text, "mark") {
				t.Fatalf("%q does not run %+v", text, c)
			}
		}
	}
	if len(seen) < 200 {
		t.Errorf("only %d commands in 2000 messages", len(seen))
	}
	for a := range seen {
		if b := strings.TrimSuffix(a, "."); seen[b] {
			t.Fatalf("%q is found in the arguments of another command", a)
		}
	}
}

func TestOneSeedGivesOneSequence(t *testing.T) {
	say := func() (out []string) {
		w := writer{rand: rand.New(rand.NewPCG(7, 7)), marker: "mark", file: "lines.txt"}
		for i := range 50 {
			text, _ := w.compose(protocol.RunID(fmt.Sprintf("k%d", i)))
			out = append(out, text)
		}
		return out
	}
	if a, b := strings.Join(say(), "\n"), strings.Join(say(), "\n"); a != b {
		t.Error("the same seed said other things")
	}
}
