package practice_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/backend/model"
	"countersign/backend/model/modeltest"
	"countersign/backend/model/practice"
	"countersign/backend/protocol"
)

func specs() []model.ToolSpec {
	props := map[string]string{
		"list": `"path":{},"depth":{}`, "read": `"path":{},"offset":{},"limit":{}`, "search": `"pattern":{},"path":{}`,
		"write": `"path":{},"content":{}`, "edit": `"path":{},"old":{},"new":{},"all":{}`,
		"exec": `"argv":{},"cwd":{}`, "ask": `"question":{},"options":{},"multiple":{},"freeText":{}`,
	}
	var out []model.ToolSpec
	for _, name := range []string{"list", "read", "search", "write", "edit", "exec", "ask"} {
		out = append(out, model.ToolSpec{Name: name, Schema: json.RawMessage(`{"type":"object","properties":{` + props[name] + `}}`)})
	}
	return out
}

// talk is a conversation with the practice model; answer plays the tools.
type talk struct {
	t        *testing.T
	messages []protocol.Message
	answer   func(protocol.ToolCallBlock) (string, bool)
	turns    [][]string
	// offered are the tools; nil means those of specs.
	offered []model.ToolSpec
}

func (c *talk) say(text string) string {
	c.t.Helper()
	id := protocol.MessageID(fmt.Sprintf("m%d", len(c.messages)))
	c.messages = append(c.messages, protocol.Message{ID: id, Seq: int64(len(c.messages)), Role: protocol.RoleUser, Content: protocol.Blocks{protocol.TextBlock{Text: text}}})
	c.turns = nil
	for range 20 {
		resp := c.turn()
		calls := resp.Content.ToolCalls()
		c.messages = append(c.messages, protocol.Message{Role: protocol.RoleAssistant, Content: resp.Content})
		if len(calls) == 0 {
			return resp.Content.Text()
		}
		var turn []string
		for _, call := range calls {
			turn = append(turn, call.Name+string(call.Arguments))
			text, ok := "fine", true
			if c.answer != nil {
				text, ok = c.answer(call)
			}
			c.messages = append(c.messages, protocol.Message{
				Role: protocol.RoleToolResult, ToolCallID: call.ID, ToolName: call.Name, IsError: !ok,
				Content: protocol.Blocks{protocol.TextBlock{Text: text}},
			})
		}
		c.turns = append(c.turns, turn)
	}
	return "(no end)"
}

func (c *talk) turn() model.Response {
	c.t.Helper()
	p := practice.With(practice.Options{})
	tools := c.offered
	if tools == nil {
		tools = specs()
	}
	var streamed strings.Builder
	resp, err := p.Stream(context.Background(), model.Request{Messages: c.messages, Tools: tools}, func(d model.Delta) { streamed.WriteString(d.Text) })
	if err != nil {
		c.t.Fatal(err)
	}
	if streamed.String() != resp.Content.Text() {
		c.t.Fatalf("streamed %q, answered %q", streamed.String(), resp.Content.Text())
	}
	return resp
}

func TestRequestsBecomeCalls(t *testing.T) {
	for _, row := range []struct{ said, calls string }{
		{"list this folder", `list{"path":"."}`},
		{"List this folder.", `list{"path":"."}`},
		{"list", `list{"path":"."}`},
		{"ls", `list{"path":"."}`},
		{"list .", `list{"path":"."}`},
		{"list ..", `list{"path":".."}`},
		{"list src", `list{"path":"src"}`},
		{"list the src folder", `list{"path":"src"}`},
		{"please list the files in src/app", `list{"path":"src/app"}`},
		{"Can you list everything here?", `list{"path":"."}`},
		{"show me the files", `list{"path":"."}`},
		{"show me the files in docs", `list{"path":"docs"}`},
		{"what is in this folder?", `list{"path":"."}`},
		{"what's in src", `list{"path":"src"}`},
		{"what is in notes.md", `read{"path":"notes.md"}`},
		{`list "my documents"`, `list{"path":"my documents"}`},
		{"read notes.md", `read{"path":"notes.md"}`},
		{"show me notes.md", `read{"path":"notes.md"}`},
		{"Show me the file notes.md, please", `read{"path":"notes.md"}`},
		{"open `Meeting notes.md`", `read{"path":"Meeting notes.md"}`},
		{"what does README say?", `read{"path":"README"}`},
		{"read lines 10 to 20 of notes.md", `read{"limit":11,"offset":10,"path":"notes.md"}`},
		{"read notes.md lines 3-4", `read{"limit":2,"offset":3,"path":"notes.md"}`},
		{"show the first 5 lines of notes.md", `read{"limit":5,"offset":1,"path":"notes.md"}`},
		{"read a.md and b.md", `read{"path":"a.md"} > read{"path":"b.md"}`},
		{"read a.md, b.md and c.md together", `read{"path":"a.md"} + read{"path":"b.md"} + read{"path":"c.md"}`},
		{"search for TODO in src", `search{"path":"src","pattern":"TODO"}`},
		{"search for TODO", `search{"pattern":"TODO"}`},
		{"search src for TODO", `search{"path":"src","pattern":"TODO"}`},
		{`find "this and then that" in notes.md`, `search{"path":"notes.md","pattern":"this and then that"}`},
		{"look for two words in the docs folder", `search{"path":"docs","pattern":"two words"}`},
		{"grep for x=1 in here", `search{"pattern":"x=1"}`},
		{"write notes.md: hello", `write{"content":"hello","path":"notes.md"}`},
		{"Write notes.md: Hello, you and me. Then some.", `write{"content":"Hello, you and me. Then some.","path":"notes.md"}`},
		{"write notes.md:\nline one\nline two\n", `write{"content":"line one\nline two","path":"notes.md"}`},
		{"write notes.md:\nfirst this, then read the news\nthen end", `write{"content":"first this, then read the news\nthen end","path":"notes.md"}`},
		{"write a.txt:\nx\nthen read a.txt", `write{"content":"x","path":"a.txt"} > read{"path":"a.txt"}`},
		{"write x.py:\n```python\nprint('then list')\n```\nthen run python3 x.py", `write{"content":"print('then list')\n","path":"x.py"} > exec{"argv":["python3","x.py"]}`},
		{`write notes.md: "a then list b"`, `write{"content":"a then list b","path":"notes.md"}`},
		{`write "hello there" to notes.md`, `write{"content":"hello there","path":"notes.md"}`},
		{"create notes.md with hello", `write{"content":"hello","path":"notes.md"}`},
		{"create an empty file called notes.md", `write{"content":"","path":"notes.md"}`},
		{"write notes.md: see http://x.example/a:b", `write{"content":"see http://x.example/a:b","path":"notes.md"}`},
		{"replace foo with bar in notes.md", `edit{"new":"bar","old":"foo","path":"notes.md"}`},
		{`replace "a with b" with "c in d" in notes.md`, `edit{"new":"c in d","old":"a with b","path":"notes.md"}`},
		{"change red to blue in the file colours.txt", `edit{"new":"blue","old":"red","path":"colours.txt"}`},
		{"replace all foo with bar in notes.md", `edit{"all":true,"new":"bar","old":"foo","path":"notes.md"}`},
		{"in notes.md replace foo with bar", `edit{"new":"bar","old":"foo","path":"notes.md"}`},
		{"edit notes.md: replace foo with bar", `edit{"new":"bar","old":"foo","path":"notes.md"}`},
		{"run ls -la", `exec{"argv":["ls","-la"]}`},
		{"run `git status`", `exec{"argv":["git","status"]}`},
		{"Run the command `git status`.", `exec{"argv":["git","status"]}`},
		{"ls -la", `exec{"argv":["ls","-la"]}`},
		{"$ echo hi", `exec{"argv":["echo","hi"]}`},
		{"run git commit -m 'one and then two'", `exec{"argv":["git","commit","-m","one and then two"]}`},
		{`run printf "a\"b\n" c\ d ""`, `exec{"argv":["printf","a\"b\\n","c d",""]}`},
		{"run `make test` in src/app", `exec{"argv":["make","test"],"cwd":"src/app"}`},
		{"run ls in the src folder", `exec{"argv":["ls"],"cwd":"src"}`},
		{"run git add .", `exec{"argv":["git","add","."]}`},
		{"run sh -c 'ls | wc -l; date'", `exec{"argv":["sh","-c","ls | wc -l; date"]}`},
		{"ask me whether to continue", `ask{"options":[{"label":"Yes"},{"label":"No"}],"question":"Should I continue?"}`},
		{"ask me which colour: red, green or blue", `ask{"options":[{"label":"red"},{"label":"green"},{"label":"blue"}],"question":"Which colour?"}`},
		{"ask me: Which one? a or b", `ask{"options":[{"label":"a"},{"label":"b"}],"question":"Which one?"}`},
		{"ask me what my name is", `ask{"freeText":true,"question":"What my name is?"}`},
		{"list src then read notes.md", `list{"path":"src"} > read{"path":"notes.md"}`},
		{"List src, then read notes.md, and then run date.", `list{"path":"src"} > read{"path":"notes.md"} > exec{"argv":["date"]}`},
		{"list src and read notes.md", `list{"path":"src"} > read{"path":"notes.md"}`},
		{"list src\nread notes.md", `list{"path":"src"} > read{"path":"notes.md"}`},
		{"write notes.md: hello then read notes.md", `write{"content":"hello","path":"notes.md"} > read{"path":"notes.md"}`},
		{"read a.md and at the same time list src", `read{"path":"a.md"} + list{"path":"src"}`},
		{"list src and read a.md together, then run date", `list{"path":"src"} + read{"path":"a.md"} > exec{"argv":["date"]}`},
		{"list src and read a.md together", `list{"path":"src"} + read{"path":"a.md"}`},
		{"say hello then list src", `list{"path":"src"}`},
		{"read don't.md then list", `read{"path":"don't.md"} > list{"path":"."}`},
		{"write 你好.md: 🦀 then read 你好.md", `write{"content":"🦀","path":"你好.md"} > read{"path":"你好.md"}`},
	} {
		c := &talk{t: t}
		said := c.say(row.said)
		var turns []string
		for _, turn := range c.turns {
			turns = append(turns, strings.Join(turn, " + "))
		}
		if got := strings.Join(turns, " > "); got != row.calls {
			t.Errorf("%q:\n got %s\nwant %s\nsaid %s", row.said, got, row.calls, said)
		}
	}
}

func TestWhatIsNotUnderstoodIsNotBegun(t *testing.T) {
	for said, want := range map[string]string{
		"frobnicate the widgets":             "did not understand",
		"list src then frobnicate it all":    "begun none",
		"read the letter that Anna sent":     "did not understand",
		"run ls | wc -l":                     "sh -c 'ls | wc -l'",
		"run echo 'open":                     "never closed",
		"append x to notes.md":               "not append",
		"":                                   "no words",
		"help":                               "This is what I follow",
		"?":                                  "This is what I follow",
		"hello":                              "Hello",
		"Are you an AI?":                     "no AI",
		"who are you":                        "no AI",
		"show markdown":                      "| what |",
		"count to 3":                         "1 2 3",
		"say good day":                       "good day",
		"think about the sea":                "thought about the sea",
		"run ``":                             "no command",
		"please":                             "did not understand",
		"what can you do?":                   "This is what I follow",
		"count to 0":                         "1",
		"list src, at the same time wobble.": "begun none",
	} {
		c := &talk{t: t}
		got := c.say(said)
		if len(c.turns) > 0 {
			t.Errorf("%q made calls %v", said, c.turns)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %q is not in %q", said, want, got)
		}
	}
}

func TestItSaysWhatItIsOnceAtTheStart(t *testing.T) {
	c := &talk{t: t}
	if got := c.turnText("list src"); !strings.Contains(got, "no AI") {
		t.Errorf("the first turn does not say what it is: %q", got)
	}
	c = &talk{t: t}
	c.say("hello")
	if got := c.say("hello"); strings.Contains(got, "no AI") {
		t.Errorf("said again: %q", got)
	}
	if got := c.say("are you a real AI?"); !strings.Contains(got, "no AI") {
		t.Errorf("asked, it said: %q", got)
	}
	c = &talk{t: t}
	if got := c.say("who are you?"); strings.Count(got, "no AI") != 1 {
		t.Errorf("said twice: %q", got)
	}
}

func (c *talk) turnText(said string) string {
	c.messages = append(c.messages, protocol.Message{Role: protocol.RoleUser, Content: protocol.Blocks{protocol.TextBlock{Text: said}}})
	resp := c.turn()
	return resp.Content.Text()
}

func TestARefusedStepEndsTheRequest(t *testing.T) {
	c := &talk{t: t, answer: func(call protocol.ToolCallBlock) (string, bool) {
		return "The owner said no: not today", call.Name != "write"
	}}
	got := c.say("list src then write a.md: x then run cat a.md")
	if len(c.turns) != 2 {
		t.Fatalf("turns: %v", c.turns)
	}
	for _, want := range []string{"1 of 2 steps", "could not write `a.md`", "not today", "Not begun:\n\n- run `cat a.md`"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

func TestNoIsNo(t *testing.T) {
	for said, more := range map[string]bool{"Yes": true, "No": false, "No: I have changed my mind": false} {
		c := &talk{t: t, answer: func(protocol.ToolCallBlock) (string, bool) { return "The owner answered: " + said, true }}
		got := c.say("ask me whether to run the tests then run make test")
		if (len(c.turns) == 2) != more || !strings.Contains(got, "You answered: **"+said+"**") || strings.Contains(got, "as you said no") == more {
			t.Errorf("%q: %v, %s", said, c.turns, got)
		}
	}
}

func TestSummariesCannotBeBrokenByWhatTheyRepeat(t *testing.T) {
	c := &talk{t: t, answer: func(protocol.ToolCallBlock) (string, bool) { return "a\n```\n# loud\n````\nb", true }}
	got := c.say("read x.md")
	if !strings.Contains(got, "`````markdown\na\n```\n# loud\n````\nb\n`````") {
		t.Errorf("%q", got)
	}
	c.answer = func(protocol.ToolCallBlock) (string, bool) { return strings.Repeat("🦀", 5000), true }
	if got := c.say("read x.md"); !strings.Contains(got, "the beginning") || strings.Contains(got, "�") {
		t.Errorf("a long result is not shortened well")
	}
}

func TestALoopNeverEndsByItself(t *testing.T) {
	c := &talk{t: t}
	if got := c.say("loop list src"); got != "(no end)" {
		t.Fatalf("ended with %q", got)
	}
	seen := make(map[string]bool)
	for _, m := range c.messages {
		for _, call := range m.Content.ToolCalls() {
			if seen[call.ID] {
				t.Fatalf("identifier %s was used twice", call.ID)
			}
			seen[call.ID] = true
		}
	}
}

func TestEqualRequestsMakeDifferentCalls(t *testing.T) {
	c := &talk{t: t}
	c.say("list src")
	c.say("list src")
	if len(c.turns) != 1 {
		t.Fatalf("the second request made the calls %v", c.turns)
	}
}

func TestANoteInBetweenDoesNotLoseSteps(t *testing.T) {
	c := &talk{t: t}
	c.messages = []protocol.Message{{ID: "1", Role: protocol.RoleUser, Content: protocol.Blocks{protocol.TextBlock{Text: "read a.md then read b.md"}}}}
	resp := c.turn()
	call := resp.Content.ToolCalls()[0]
	c.messages = append(c.messages, protocol.Message{Role: protocol.RoleAssistant, Content: resp.Content},
		protocol.Message{Role: protocol.RoleToolResult, ToolCallID: call.ID, Content: protocol.Blocks{protocol.TextBlock{Text: "x"}}},
		protocol.Message{Role: protocol.RoleUser, Origin: protocol.OriginSystem, Content: protocol.Blocks{protocol.TextBlock{Text: "The app was restarted."}}})
	next := c.turn().Content.ToolCalls()
	if len(next) != 1 || string(next[0].Arguments) != `{"path":"b.md"}` {
		t.Fatalf("went on with %v", next)
	}
}

func TestTheSameHistoryGivesTheSameAnswer(t *testing.T) {
	c := &talk{t: t}
	c.say("list src then read a.md and b.md together")
	a, b := c.turn(), c.turn()
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("%v\n%v", a, b)
	}
}

func TestAMissingToolIsSaid(t *testing.T) {
	p := practice.With(practice.Options{})
	req := model.Request{Tools: specs()[:2], Messages: []protocol.Message{{Role: protocol.RoleUser, Content: protocol.Blocks{protocol.TextBlock{Text: "list src then run date"}}}}}
	resp, err := p.Stream(context.Background(), req, func(model.Delta) {})
	if err != nil || len(resp.Content.ToolCalls()) > 0 || !strings.Contains(resp.Content.Text(), "no tool `exec`") {
		t.Errorf("%v %v", resp, err)
	}
}

func TestPretendedFailures(t *testing.T) {
	for said, kind := range map[string]protocol.ErrorKind{
		"pretend to be overloaded": protocol.ErrorOverloaded, "pretend to be rate limited": protocol.ErrorRateLimit,
		"pretend that the key is wrong": protocol.ErrorAuth, "pretend to be cut off": protocol.ErrorCut,
	} {
		p := practice.With(practice.Options{})
		req := model.Request{Messages: []protocol.Message{{Role: protocol.RoleUser, Content: protocol.Blocks{protocol.TextBlock{Text: said}}}}}
		_, err := p.Stream(context.Background(), req, func(model.Delta) {})
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != kind {
			t.Errorf("%q: %v", said, err)
		}
	}
}

func TestDelayAndStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := practice.With(practice.Options{Delay: time.Second})
		cause := errors.New("stopped by the owner")
		ctx, cancel := context.WithCancelCause(t.Context())
		req := model.Request{Messages: []protocol.Message{
			{Role: protocol.RoleAssistant, Content: protocol.Blocks{protocol.TextBlock{Text: "before"}}},
			{Role: protocol.RoleUser, Content: protocol.Blocks{protocol.TextBlock{Text: "count to 500"}}},
		}}
		start := time.Now()
		n := 0
		resp, err := p.Stream(ctx, req, func(model.Delta) {
			if n++; n == 3 {
				cancel(cause)
			}
		})
		if !errors.Is(err, cause) || resp.Content.Text() != "1 2 3 " {
			t.Errorf("%v, %q", err, resp.Content.Text())
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// TestReadingGrowsWithTheLengthOnly compares two lengths rather than holding one
// to a time: eight times the text may not take anywhere near 64 times as long.
func TestReadingGrowsWithTheLengthOnly(t *testing.T) {
	fastest := func(n int) time.Duration {
		body := strings.Repeat("It's \"quoted, then left\nand read on. Then `write more", n)
		best := time.Hour
		for range 3 {
			c := &talk{t: t}
			start := time.Now()
			c.say("write notes.md:\n" + body)
			best = min(best, time.Since(start))
			if len(c.turns) != 1 {
				t.Fatalf("turns: %d", len(c.turns))
			}
		}
		return best
	}
	if short, long := fastest(400), fastest(3200); long > 32*short {
		t.Errorf("%s for the short text, %s for eight times as much", short, long)
	}
}

func FuzzAnyRequestIsAnswered(f *testing.F) {
	for _, s := range []string{"list src then", "write a: b then read c", "run '", "`", "ask me", "then then then", "read a and b together at the same time", "loop loop list", "``` then list", "say \xff then list"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, said string) {
		p := practice.With(practice.Options{})
		req := model.Request{Tools: specs(), Messages: []protocol.Message{{Role: protocol.RoleUser, Content: protocol.Blocks{protocol.TextBlock{Text: said}}}}}
		resp, err := p.Stream(context.Background(), req, func(model.Delta) {})
		var failed *model.Error
		if err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		if err == nil && len(resp.Content) == 0 {
			t.Fatal("no answer")
		}
		for _, c := range resp.Content.ToolCalls() {
			if !json.Valid(c.Arguments) {
				t.Fatalf("arguments %s", c.Arguments)
			}
		}
	})
}

func TestContract(t *testing.T) {
	p, err := practice.New(model.Config{})
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Contract(t, p, modeltest.Ask("count to 50"))
	seen, emit := modeltest.Watch()
	resp, err := p.Stream(t.Context(), modeltest.Ask("list src and at the same time write a.md: x"), emit)
	modeltest.Check(t, seen, resp, err)
	if len(resp.Content.ToolCalls()) != 2 {
		t.Errorf("%v", resp.Content)
	}
}
