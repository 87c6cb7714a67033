package completion

import (
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/backend/model"
	"countersign/backend/protocol"
)

// shown is what a person sees and what is kept of content that comes in pieces.
func shown(content string, size int) (text, thinking string, kept protocol.Blocks) {
	w := newWords(func(d model.Delta) {
		if d.Reset {
			text, thinking = "", ""
		}
		text += d.Text
		thinking += d.Thinking
	})
	for len(content) > 0 {
		n := min(size, len(content))
		for n < len(content) && !utf8.RuneStart(content[n]) {
			n++ // JSON strings are never cut inside a character
		}
		w.write(content[:n])
		content = content[n:]
	}
	w.end()
	return text, thinking, w.blocks()
}

func thought(bs protocol.Blocks) string {
	var out []string
	for _, b := range bs {
		if t, ok := b.(protocol.ThinkingBlock); ok {
			out = append(out, t.Thinking)
		}
	}
	return strings.Join(out, "|")
}

var shapes = []struct{ content, text, thinking string }{
	{"<think>a</think>b", "b", "a"},
	{"<think>\na\n</think>\n\nb", "b", "a"},
	{"\n\n<think>a</think>b", "b", "a"},
	{"a</think>b", "b", "a"},
	{"a\n</think>\n\nb", "b", "a"},
	{"reasoning… </think> answer", "answer", "reasoning…"},
	{"</think>b", "b", ""},
	{"</think>", "", ""},
	{"<think></think>b", "b", ""},
	{"<think>\n\n</think>\n\nb", "b", ""},
	{"<think>a", "", "a"},
	{"<think>", "", ""},
	{"<think>a</think>", "", "a"},
	{"<think>a</think>b<think>c</think>d", "bd", "a|c"},
	{"a</think>b</think>c", "c", "a\nb"},
	{"<think>a</think>b</think>c", "c", "a\nb"},
	{"<think>a<think>b</think>c</think>d", "d", "ab\nc"},
	{"<think><think>a</think>b", "b", "a"},
	{"<THINK>a</THINK>b", "b", "a"},
	{"<Think>a</think >b", "b", "a"},
	{"< think >a< / think >b", "b", "a"},
	{"<think\n>a</think\n>b", "b", "a"},
	{`<think id="1" lang='x'>a</think>b`, "b", "a"},
	{"<thinking>a</thinking>b", "b", "a"},
	{"<thought>a</thought>b", "b", "a"},
	{"<reasoning>a</reasoning>b", "b", "a"},
	{"<seed:think>a</seed:think>b", "b", "a"},
	{"<think>a</thinking>b", "b", "a"},
	{"[THINK]a[/THINK]b", "b", "a"},
	{"◁think▷a◁/think▷b", "b", "a"},
	{"a◁/think▷b", "b", "a"},
	{"<think/>b", "b", ""},
	{"a <think/> b", "a b", ""},
	{"hello <think>a</think> there", "hello there", "a"},
	{"<think>1 < 2 and <b></think>b", "b", "1 < 2 and <b>"},
	{"<think>`code` and ``` fence</think>b", "b", "`code` and ``` fence"},
	{"use `<think>` here", "use `<think>` here", ""},
	{"use `</think>` here", "use `</think>` here", ""},
	{"``a `</think>` b``", "``a `</think>` b``", ""},
	{"```\n<think>x</think>\n```\nend", "```\n<think>x</think>\n```\nend", ""},
	{"a ` b </think> c", "c", "a ` b"},
	{"<thin", "<thin", ""},
	{"a <thinker> b", "a <thinker> b", ""},
	{"1 < 2 [x] ◁ y", "1 < 2 [x] ◁ y", ""},
	{"<", "<", ""},
	{"<thin>x</thin>", "<thin>x</thin>", ""},
	{"你好<think>想</think>🦀", "你好🦀", "想"},
	{"想</think>🦀", "🦀", "想"},
	{"&lt;think&gt;a", "&lt;think&gt;a", ""},
	{"  a  ", "  a  ", ""},
	{"<think>a</think>  \n b", "b", "a"},
	{"<think>a</th", "", "a</th"},
	{"<think>a</think", "", "a</think"},
	{"<think>a< /b", "", "a< /b"},
}

func TestTagsNeverReachTheText(t *testing.T) {
	for _, row := range shapes {
		for _, size := range []int{1, 2, 3, 5, 1000} {
			text, thinking, kept := shown(row.content, size)
			if text != row.text || kept.Text() != row.text || thought(kept) != row.thinking {
				t.Errorf("%q in pieces of %d: text %q, kept %q, thinking %q", row.content, size, text, kept.Text(), thought(kept))
			}
			if strings.TrimSpace(thinking) == "" != (row.thinking == "") {
				t.Errorf("%q: shown as thinking %q", row.content, thinking)
			}
		}
	}
	if len(shapes) < 40 {
		t.Errorf("only %d shapes", len(shapes))
	}
}

func FuzzTags(f *testing.F) {
	for _, row := range shapes {
		f.Add(row.content, 2)
	}
	f.Fuzz(func(t *testing.T, content string, size int) {
		size = max(1, size%7)
		text, _, kept := shown(content, size)
		whole, _, again := shown(content, len(content)+1)
		if utf8.ValidString(content) && (text != whole || thought(kept) != thought(again)) {
			t.Errorf("in pieces of %d %q, at once %q", size, text, whole)
		}
		if kept.Text() != text {
			t.Errorf("shown %q, kept %q", text, kept.Text())
		}
		if !strings.ContainsAny(content, "<[◁") && text != content && strings.TrimSpace(content) != "" {
			t.Errorf("%q became %q", content, text)
		}
	})
}

func FuzzChunks(f *testing.F) {
	for _, s := range []string{
		`{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}`, `{"index":null,"id":7,"function":{"arguments":{"a":1}}}`,
		`{}`, `{"function":{"arguments":null}}`, `{"index":"1","function":{"name":["x"]}}`,
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		out := New(func(model.Delta) {})
		for _, raw := range []string{a, b, a} {
			if _, err := out.Take([]byte(`{"choices":[{"index":0,"delta":{"tool_calls":[` + raw + `]}}]}`)); err != nil {
				return
			}
		}
		for _, c := range out.calls.blocks(nil) {
			if c.Name == "" || c.ID == "" || len(c.Arguments) == 0 {
				t.Errorf("%+v", c)
			}
			if c.Arguments[0] != '{' && len(c.Arguments) > 1<<10 {
				t.Errorf("%d bytes of arguments", len(c.Arguments))
			}
		}
	})
}
