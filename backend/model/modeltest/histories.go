package modeltest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/testkit/modelstub"
)

// histories of every kind make valid requests, and their beginning stays the
// same from turn to turn.
func (s *suite) histories(t *testing.T) {
	for seed := range uint64(120) {
		random := rand.New(rand.NewPCG(seed, 7))
		req := Ask("begin")
		req.Messages = history(random)
		req.Thinking = []string{"", "low", "high"}[random.IntN(3)]
		if _, _, err := s.play(t, req, modelstub.Text("fine")); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, s.stub.Requests()[0].Body)
		}
	}
	s.prefix(t)
	s.pictures(t)
}

// history is a random conversation, repaired as the caller does: each call has
// its result.
func history(random *rand.Rand) []protocol.Message {
	var out []protocol.Message
	signed := func() protocol.Block {
		if random.IntN(4) == 0 {
			return protocol.ThinkingBlock{Signature: modelstub.Seal("hidden"), Redacted: true}
		}
		text := fmt.Sprintf("thought <&> \u2028 %d", random.IntN(1000))
		return protocol.ThinkingBlock{Thinking: text, Signature: modelstub.Sign(text)}
	}
	if random.IntN(2) == 0 {
		out = append(out, User("hello"))
	}
	for range 1 + random.IntN(12) {
		var blocks protocol.Blocks
		for range random.IntN(5) {
			switch random.IntN(6) {
			case 0:
				blocks = append(blocks, signed())
			case 1:
				blocks = append(blocks, protocol.ThinkingBlock{Thinking: "from elsewhere, unsigned"})
			case 2:
				blocks = append(blocks, protocol.TextBlock{Text: []string{"words", "", " \n", "<think>x"}[random.IntN(4)]})
			case 3, 4:
				blocks = append(blocks, protocol.ToolCallBlock{
					ID:        fmt.Sprintf([]string{"functions.list:%d", "call_%d", "toolu_%d", "长-%d-" + strings.Repeat("x", 80)}[random.IntN(4)], random.Int64()),
					Name:      []string{"list", "write", "no such tool!", ""}[random.IntN(4)],
					Arguments: json.RawMessage([]string{`{"path":"a"}`, `{}`, `"broken {"`, ``, `[1]`}[random.IntN(5)]),
				})
			case 5:
				blocks = append(blocks, protocol.TextBlock{Text: "more"})
			}
		}
		out = append(out, protocol.Message{Role: protocol.RoleAssistant, Content: blocks, Incomplete: random.IntN(5) == 0})
		for _, c := range blocks.ToolCalls() {
			result := protocol.Message{Role: protocol.RoleToolResult, ToolCallID: c.ID, ToolName: c.Name, IsError: random.IntN(2) == 0}
			if random.IntN(3) > 0 {
				result.Content = protocol.Blocks{protocol.TextBlock{Text: "result"}}
			}
			if random.IntN(6) == 0 {
				result.Content = append(result.Content, protocol.ImageBlock{MimeType: "image/png", Data: picture(2, 2)})
			}
			out = append(out, result)
		}
		for range random.IntN(3) {
			blocks := protocol.Blocks{protocol.TextBlock{Text: "and then"}}
			switch random.IntN(5) {
			case 0:
				blocks = append(blocks, protocol.FileBlock{FileName: "a.txt", MimeType: "text/plain", Text: "content"})
			case 1:
				blocks = protocol.Blocks{protocol.ImageBlock{MimeType: "image/png", Data: picture(3, 3)}, protocol.FileBlock{FileName: "b.zip", MimeType: "application/zip", Size: 9}}
			case 2:
				blocks = append(blocks, protocol.ImageBlock{MimeType: "image/svg+xml", Data: "PHN2Zz4="}, protocol.ImageBlock{MimeType: "image/png", Data: "not base64"})
			}
			out = append(out, protocol.Message{Role: protocol.RoleUser, Content: blocks})
		}
	}
	return out
}

func picture(w, h int) string {
	img := image.NewGray(image.Rect(0, 0, w, h))
	img.Set(0, 0, color.White)
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic("modeltest: encode a picture: " + err.Error())
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// prefix: a longer history begins with the same bytes, but for the mark of the
// cache.
func (s *suite) prefix(t *testing.T) {
	req := Ask("hello")
	body := func() string {
		if _, _, err := s.play(t, req, modelstub.Text("fine")); err != nil {
			t.Fatal(err)
		}
		raw := string(s.stub.Requests()[0].Body)
		raw = strings.ReplaceAll(raw, `,"cache_control":{"type":"ephemeral"}`, "")
		raw = strings.ReplaceAll(raw, `"cache_control":{"type":"ephemeral"},`, "")
		from := strings.Index(raw, `"messages":[`)
		to := strings.LastIndex(raw, `]`)
		return raw[from:from+strings.Index(raw[from:], `"hello"`)+7] + raw[to:to]
	}
	first := body()
	req.Messages = append(req.Messages, protocol.Message{Role: protocol.RoleAssistant, Content: protocol.Blocks{protocol.TextBlock{Text: "yes"}}}, User("more"))
	if second := body(); second != first {
		t.Errorf("the beginning has changed:\n%s\n%s", first, second)
	}
}

// pictures are held to the limits of the request as a whole.
func (s *suite) pictures(t *testing.T) {
	req := Ask("look")
	req.Messages = nil
	for range 27 {
		req.Messages = append(req.Messages, protocol.Message{Role: protocol.RoleUser, Content: protocol.Blocks{protocol.ImageBlock{MimeType: "image/png", Data: picture(2500, 10)}}})
	}
	for _, size := range [][2]int{{9000, 4}, {4, 9000}} {
		req.Messages = append(req.Messages, protocol.Message{Role: protocol.RoleUser, Content: protocol.Blocks{protocol.ImageBlock{MimeType: "image/png", Data: picture(size[0], size[1])}}})
	}
	before := slices.Clone(req.Messages)
	if _, _, err := s.play(t, req, modelstub.Text("fine")); err != nil {
		t.Error(err)
	}
	if raw := string(s.stub.Requests()[0].Body); !strings.Contains(raw, "earlier picture is left out") || strings.Count(raw, "base64") < 15 {
		t.Error("pictures are not left out as they should be")
	}
	if fmt.Sprint(before) != fmt.Sprint(req.Messages) {
		t.Error("the request was changed")
	}
}
