package gateway

import (
	"encoding/json"
	"testing"
	"time"

	"countersign/backend/protocol"
)

func TestListsAreNeverNullAndTheValueStaysAsItWas(t *testing.T) {
	shared := []protocol.Run{{RunID: "a", Gauges: []protocol.Gauge{{Name: "modelCalls"}}}, {RunID: "b"}}
	type row struct {
		name, want string
		value      any
	}
	type outer struct {
		Raw   json.RawMessage         `json:"raw"`
		Bytes []byte                  `json:"bytes"`
		Any   any                     `json:"any"`
		Map   map[string][]int        `json:"map"`
		Ptr   *protocol.ModelsList    `json:"ptr"`
		None  *protocol.ModelsList    `json:"none"`
		Omit  []string                `json:"omit,omitempty"`
		Deep  [][]string              `json:"deep"`
		Block protocol.Blocks         `json:"block"`
		Inner struct{ Strings []int } `json:"inner"`
	}
	rows := []row{
		{"top", "[]", []protocol.Presence(nil)},
		{"nil", "null", nil},
		{"word", `"x"`, "x"},
		{"nested", `{"raw":null,"bytes":null,"any":{"agents":[],"defaultId":"","mainKey":"","scope":""},"map":null,"ptr":{"models":[]},"none":null,"deep":[["x"],[]],"block":[],"inner":{"Strings":[]}}`,
			outer{Any: protocol.AgentsList{}, Ptr: &protocol.ModelsList{}, Deep: [][]string{{"x"}, nil}}},
	}
	for _, r := range rows {
		got, err := encode(r.value)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, string(got), r.want) {
			t.Errorf("%s: %s, want %s", r.name, got, r.want)
		}
	}
	got, err := encode(protocol.RunsList{Runs: shared})
	if err != nil {
		t.Fatal(err)
	}
	var back struct{ Runs []struct{ Gauges []any } }
	if err := json.Unmarshal(got, &back); err != nil || len(back.Runs[0].Gauges) != 1 || back.Runs[1].Gauges == nil {
		t.Errorf("the list is %s", got)
	}
	if shared[1].Gauges != nil {
		t.Error("the caller's value was changed")
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}

func TestTheLockoutForgetsWhatIsOld(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	l := newLockout(func() time.Time { return now })
	for n := range 3 * maxLockKeys {
		l.failed(string(rune('a' + n)))
	}
	if len(l.keys) > maxLockKeys {
		t.Errorf("%d keys are kept", len(l.keys))
	}
}
