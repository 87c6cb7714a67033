package practice

import (
	"fmt"
	"strings"

	"countersign/backend/model"
	"countersign/backend/protocol"
)

const introduction = "I am the practice model: no AI, but a small program inside Countersign that follows plain requests. " +
	"Use me to see how asking, allowing and receipts work; nothing leaves this computer. For real conversation choose another model in Settings."

const examples = "- `list this folder`, `list src`\n" +
	"- `read notes.md`, `read lines 10 to 20 of notes.md`\n" +
	"- `search for TODO in src`\n" +
	"- `write notes.md: hello`\n" +
	"- `replace hello with good morning in notes.md`\n" +
	"- ``run ls -la``, ``run `git status` in src``\n" +
	"- `ask me whether to continue`, `ask me which colour: red, green or blue`\n" +
	"- several steps: `write notes.md: hello then read notes.md`\n" +
	"- at once: `read a.md and at the same time list src`"

const help = "This is what I follow:\n\n" + examples + "\n\n" +
	"Put text in quotes or a code block to keep words such as *then* inside it. " +
	"To try how things look: `count to 500`, `think about the sea`, `show markdown`, `loop list this folder`, " +
	"`pretend to be overloaded` (also: `rate limited`, `wrong key`, `cut off`, `empty`, `refuse`)."

const greeting = "Hello. Tell me what to do, or say `help` to see what I follow."

const markdown = `# A heading

Some *emphasis*, some **weight**, some ` + "`code`" + ` and a [link](https://example.com).

## A list

1. First
2. Second
   - with a part
   - and another
3. Third

- [x] done
- [ ] to do

## Code

` + "```go" + `
func main() {
	fmt.Println("你好 🦀, <b>not bold</b>")
}
` + "```" + `

## A table

| what | how many | share |
|:-----|---------:|:-----:|
| reads | 12 | 60 % |
| writes | 5 | 25 % |
| commands | 3 | 15 % |

> A quotation, over
> two lines.

---

A last line with <script>alert("inert")</script> in it.`

// speech is what an action that only talks says.
func (a action) speech() string {
	switch a.kind {
	case kindHelp:
		return help
	case kindIdentity:
		return introduction
	case kindGreeting:
		return greeting
	case kindMarkdown:
		return markdown
	case kindCount:
		return counted(a.count)
	}
	return a.text
}

func counted(to int) string {
	const most = 100_000
	to = min(max(to, 1), most)
	var b strings.Builder
	for n := 1; n <= to; n++ {
		switch {
		case n > 1 && n%20 == 1:
			b.WriteByte('\n')
		case n > 1:
			b.WriteByte(' ')
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}

func thoughts(about string) string {
	return "First, what is being asked: " + about + ".\n" +
		"Then, what is known of it. Nothing, for this is a practice model.\n" +
		"Last, how to say so. Plainly."
}

// pretended is the failure of a real provider that is asked for, so that what
// the window shows then can be seen; unknown ones are told as such.
func pretended(what string) *model.Error {
	what = strings.ToLower(what)
	e := &model.Error{Kind: protocol.ErrorUnknown, Sentence: "The practice model pretends to fail, as you asked. Your message is kept; nothing is wrong."}
	for _, p := range []struct {
		word      string
		kind      protocol.ErrorKind
		retryable bool
		sentence  string
	}{
		{"overload", protocol.ErrorOverloaded, true, "The practice model pretends to be overloaded, as you asked. Your message is kept; send another one."},
		{"rate", protocol.ErrorRateLimit, true, "The practice model pretends that you sent too many requests, as you asked. Your message is kept; send another one."},
		{"key", protocol.ErrorAuth, false, "The practice model pretends that its key is wrong, as you asked. A real model's key is set in Settings under Models."},
		{"cut", protocol.ErrorCut, true, "The practice model pretends that its answer was cut off, as you asked. What had arrived is kept."},
		{"empty", protocol.ErrorEmpty, true, "The practice model pretends to answer nothing, as you asked. Your message is kept; send another one."},
		{"refus", protocol.ErrorRefusal, false, "The practice model pretends to refuse, as you asked. Say it in another way."},
		{"time", protocol.ErrorTimeout, true, "The practice model pretends not to answer in time, as you asked. Your message is kept; send another one."},
	} {
		if strings.Contains(what, p.word) {
			e.Kind, e.Retryable, e.Sentence = p.kind, p.retryable, p.sentence
			break
		}
	}
	e.Provider = string(protocol.ProviderPractice)
	return e
}
