package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/backend/protocol"
)

// Clients append what they find in deltaText; where it is missing they append
// "undefined".
func TestEveryDeltaSaysItsTextAlsoWhenItIsEmpty(t *testing.T) {
	for state, want := range map[protocol.ChatState]bool{
		protocol.ChatStateDelta: true, protocol.ChatStateStatus: false, protocol.ChatStateFinal: false,
	} {
		raw, err := json.Marshal(protocol.ChatEvent{RunID: "r", SessionKey: "agent:main:x", State: state, Replace: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(raw), `"deltaText":""`); got != want {
			t.Errorf("%s: %s", state, raw)
		}
		var back protocol.ChatEvent
		if err := json.Unmarshal(raw, &back); err != nil || back.RunID != "r" || !back.Replace {
			t.Errorf("read back %+v, %v", back, err)
		}
	}
}
