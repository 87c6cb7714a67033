package protocol_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"countersign/backend/protocol"
)

func TestEveryBlockComesBackAsItWas(t *testing.T) {
	in := protocol.Blocks{
		protocol.TextBlock{Text: "a <b> & \u2028"},
		protocol.ThinkingBlock{Thinking: "hm", Signature: "c2ln+/==", Redacted: true},
		protocol.ToolCallBlock{ID: "c", Name: "n", Arguments: json.RawMessage(`{"n":12345678901234567890}`)},
		protocol.ImageBlock{MimeType: "image/png", Data: "AA==", Blob: "b", Size: 1},
		protocol.FileBlock{MimeType: "text/plain", FileName: "f", Text: "t", Blob: "b", Size: 2},
	}
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out protocol.Blocks
	if err := json.Unmarshal(raw, &out); err != nil || !reflect.DeepEqual(in, out) {
		t.Errorf("%v\n%#v\n%#v", err, in, out)
	}
}

func TestBlocksThatAreReadOtherwise(t *testing.T) {
	unreadable := protocol.TextBlock{Text: protocol.UnreadableBlock}
	for _, c := range []struct {
		in   string
		want protocol.Blocks
	}{
		{`"plain"`, protocol.Blocks{protocol.TextBlock{Text: "plain"}}},
		{`[]`, protocol.Blocks{}},
		{`[{"type":"hologram"}]`, protocol.Blocks{unreadable}},
		{`[{"type":"text","text":["a"]},{"type":"text","text":"b"}]`, protocol.Blocks{unreadable, protocol.TextBlock{Text: "b"}}},
	} {
		var got protocol.Blocks
		if err := json.Unmarshal([]byte(c.in), &got); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s is read as %#v (%v), want %#v", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{`7`, `{}`, `[7]`, `["a"]`, `[{}]`, `[{"type":3}]`, `[null]`} {
		var got protocol.Blocks
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%s is no content and was read as %#v", in, got)
		}
	}
}
