package modelstub_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"countersign/backend/testkit/modelstub"
)

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, "cut after " + string(raw)
	}
	return res.StatusCode, string(raw)
}

const think = `{"type":"thinking","thinking":"hm","signature":%q}`

// TestStrictModeFindsWhatIsWrong plants each fault in an otherwise good request.
func TestStrictModeFindsWhatIsWrong(t *testing.T) {
	s := modelstub.New(t)
	use := `{"type":"tool_use","id":"a","name":"list","input":{}}`
	done := `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"}]}`
	msg := func(role string, blocks ...string) string {
		return fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, strings.Join(blocks, ","))
	}
	text := `{"type":"text","text":"x"}`
	for fault, messages := range map[string]string{
		"":                    msg("user", text) + "," + msg("assistant", fmt.Sprintf(think, modelstub.Sign("hm")), use) + "," + msg("user", done, text),
		"must be the user's":  msg("assistant", text),
		"alternate":           msg("user", text) + "," + msg("user", text),
		"end with a user":     msg("user", text) + "," + msg("assistant", text),
		"not be empty":        msg("user"),
		"non-whitespace":      msg("user", `{"type":"text","text":" "}`),
		"invalid signature":   msg("user", text) + "," + msg("assistant", fmt.Sprintf(think, modelstub.Sign("hm, ")), text) + "," + msg("user", text),
		"immediately after":   msg("user", text) + "," + msg("assistant", use) + "," + msg("user", text),
		"unexpected tool_use": msg("user", text, done),
		"must be unique":      msg("user", text) + "," + msg("assistant", use) + "," + msg("user", done) + "," + msg("assistant", use) + "," + msg("user", done),
		"is not valid":        msg("user", text) + "," + msg("assistant", strings.Replace(use, "{}", `"x"`, 1)) + "," + msg("user", done),
		"not supported":       msg("user", `{"type":"image","source":{"type":"base64","media_type":"image/svg","data":"eA=="}}`),
		"valid base64":        msg("user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"?"}}`),
		"not known":           msg("user", `{"type":"video"}`),
	} {
		status, answer := post(t, s.URL+"/v1/messages", `{"model":"m","max_tokens":5,"stream":true,"messages":[`+messages+`]}`)
		if fault == "" && status != 200 || fault != "" && (status != 400 || !strings.Contains(answer, fault)) {
			t.Errorf("%q: %d %s", fault, status, answer)
		}
	}
	calls := `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"list","arguments":"{}"}}]}`
	result := `{"role":"tool","tool_call_id":"a","content":"x"}`
	hello := `{"role":"user","content":"x"}`
	for fault, messages := range map[string]string{
		"":                               hello + "," + calls + "," + result,
		"must be followed":               hello + "," + calls + "," + hello,
		"must be a response":             hello + "," + result,
		"did not have response":          hello + "," + calls,
		"must come first":                hello + `,{"role":"system","content":"x"}`,
		"must not be empty":              `{"role":"user","content":""}`,
		"not a JSON object":              hello + "," + strings.Replace(calls, `"{}"`, `"[1]"`, 1) + "," + result,
		"unique":                         hello + "," + calls + "," + result + "," + calls + "," + result,
		"must not end with an assistant": hello + `,{"role":"assistant","content":"x"}`,
		"not a data URL":                 `{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x"}}]}`,
		"role owner is not known":        `{"role":"owner","content":"x"}`,
	} {
		status, answer := post(t, s.URL+"/v1/chat/completions", `{"model":"m","stream":true,"messages":[`+messages+`]}`)
		if fault == "" && status != 200 || fault != "" && (status != 400 || !strings.Contains(answer, fault)) {
			t.Errorf("%q: %d %s", fault, status, answer)
		}
	}
}

func TestTheScriptIsPlayedInOrderAndItsEndRepeated(t *testing.T) {
	s := modelstub.New(t, modelstub.Text("one"), modelstub.Refusal(503, "x", "later", "4"), modelstub.Text("two"))
	s.Lenient()
	for i, want := range []string{"one", "later", "two", "two"} {
		_, answer := post(t, s.URL+"/v1/chat/completions", "{}")
		if !strings.Contains(answer, want) {
			t.Errorf("answer %d: %s", i, answer)
		}
	}
	if n := len(s.Requests()); n != 4 {
		t.Errorf("%d requests kept", n)
	}
}

func TestCutsAreAtTheByte(t *testing.T) {
	reply := modelstub.Text("some text")
	reply.Chunk = 1
	s := modelstub.New(t)
	s.Lenient()
	for at := 1; at < s.Size(reply, modelstub.Anthropic); at += 37 {
		reply.Cut = at
		s.Script(reply)
		_, answer := post(t, s.URL+"/v1/messages", "{}")
		if got := len(strings.TrimPrefix(answer, "cut after ")); got != at || !strings.HasPrefix(answer, "cut after ") {
			t.Fatalf("%d bytes came of %d: %s", got, at, answer)
		}
	}
}

func TestAGateLetsEventsThroughOneByOne(t *testing.T) {
	gate, begun := make(chan struct{}), make(chan struct{})
	s := modelstub.New(t, modelstub.Reply{Blocks: []modelstub.Block{{Text: "abc"}}, Piece: 1, Gate: gate, Begun: begun})
	s.Lenient()
	lines := make(chan string, 100)
	go func() { // ends with the response
		defer close(lines)
		res, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader("{}"))
		if err != nil {
			return
		}
		defer func() { _ = res.Body.Close() }()
		for scan := bufio.NewScanner(res.Body); scan.Scan(); {
			lines <- scan.Text()
		}
	}()
	<-begun
	gate <- struct{}{}
	if got := <-lines; got != "event: message_start" {
		t.Error(got)
	}
	close(gate)
	n := 0
	for range lines {
		n++
	}
	if n == 0 {
		t.Error("nothing came after the gate was opened")
	}
}

func TestScriptsComeOverTheWire(t *testing.T) {
	s := modelstub.New(t)
	s.Lenient()
	if status, answer := post(t, s.URL+"/_script", `[{"blocks":[{"text":"from outside"}]}]`); status != 204 {
		t.Fatal(status, answer)
	}
	if _, answer := post(t, s.URL+"/v1/messages", "{}"); !strings.Contains(answer, "from") {
		t.Error(answer)
	}
}
