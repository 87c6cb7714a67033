package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"countersign/backend/protocol"
)

// Prepare makes a history ready to be sent: files become text, pictures are held
// to the limits, and what says nothing is left out. The messages given are not
// changed; the same history gives the same result, so that a provider's cache of
// its beginning stays good.
func Prepare(messages []protocol.Message) []protocol.Message {
	out := make([]protocol.Message, 0, len(messages))
	drop := surplus(count(messages))
	for _, m := range messages {
		content := make(protocol.Blocks, 0, len(m.Content))
		for _, b := range m.Content {
			switch b := b.(type) {
			case protocol.TextBlock:
				if strings.TrimSpace(b.Text) != "" {
					content = append(content, b)
				}
			case protocol.FileBlock:
				content = append(content, protocol.TextBlock{Text: fileText(b)})
			case protocol.ImageBlock:
				if drop > 0 {
					drop--
					content = append(content, protocol.TextBlock{Text: "[An earlier picture is left out: " + pictureName(b) + "]"})
					continue
				}
				content = append(content, fit(b))
			default:
				content = append(content, b)
			}
		}
		m.Content = content
		if m.Role == protocol.RoleToolResult || speaks(content) {
			out = append(out, m)
		}
	}
	if n := len(out); n > 0 && out[n-1].Role == protocol.RoleAssistant {
		// After a cut answer the history may end with it; a request that does is
		// refused, or taken as words to be continued.
		out = append(out, protocol.Message{Role: protocol.RoleUser, Content: protocol.Blocks{protocol.TextBlock{Text: goOn}}})
	}
	return out
}

// goOn stands behind a history that ends with an answer.
const goOn = "(Please go on.)"

// speaks reports whether content is more than thinking.
func speaks(content protocol.Blocks) bool {
	for _, b := range content {
		if _, thinks := b.(protocol.ThinkingBlock); !thinks {
			return true
		}
	}
	return false
}

func count(messages []protocol.Message) int {
	n := 0
	for _, m := range messages {
		for _, b := range m.Content {
			if _, ok := b.(protocol.ImageBlock); ok {
				n++
			}
		}
	}
	return n
}

func fileText(f protocol.FileBlock) string {
	if f.Text == "" {
		return fmt.Sprintf("[The file %s (%s, %d bytes) is attached but cannot be shown as text.]", f.FileName, f.MimeType, f.Size)
	}
	return fmt.Sprintf("[The attached file %s:]\n%s\n[End of %s]", f.FileName, f.Text, f.FileName)
}

var callID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

// CallID is a call's identifier in the shape that every provider takes. Equal
// ones stay equal, so that results find their calls.
func CallID(id string) string {
	if callID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

var notInName = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// CallName is a tool's name in the shape that every provider takes back: a model
// may have called one that never was.
func CallName(name string) string {
	name = notInName.ReplaceAllString(name, "_")
	if name == "" {
		return "unnamed"
	}
	return cut(name, 64)
}

// FreshIDs gives a new identifier to each call that has none, or one that the
// history or this answer has used before: some servers count from zero in every
// answer. random gives the new ones.
func FreshIDs(history []protocol.Message, calls []protocol.ToolCallBlock, random func() string) {
	used := make(map[string]bool)
	for _, m := range history {
		for _, c := range m.Content.ToolCalls() {
			used[CallID(c.ID)] = true
		}
	}
	for i := range calls {
		if calls[i].ID == "" || used[CallID(calls[i].ID)] {
			calls[i].ID = "call_" + random()
		}
		used[CallID(calls[i].ID)] = true
	}
}
