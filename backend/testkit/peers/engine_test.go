//go:build peers

package peers_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/backend/client"
	"countersign/backend/protocol"
)

// The short text of the weights, and one long enough to be stopped in the middle.
const shortScript = "Hello from a real engine, this text is in the weights."

func longScript() string {
	var b strings.Builder
	for n := range 200 {
		fmt.Fprintf(&b, "%d bottles ", 1000+n)
	}
	return strings.TrimSpace(b.String())
}

// engine is llama.cpp with our scripted model, behind an OpenAI-compatible route.
type engine struct {
	url   string
	lines *bufio.Scanner
}

// spent is what the engine says of an answer, in its own tokens.
type spent struct {
	Prompt, Completion int64
	Stopped            bool
	Error              string
}

func startEngine(t *testing.T) *engine {
	t.Helper()
	weights, err := scripted(map[string]string{"<|say|>": shortScript, "<|long|>": longScript()}, "<|say|>", "<|long|>")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "scripted.gguf")
	if err := os.WriteFile(file, weights, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node(t), filepath.Join("testdata", "engine.mjs"), peer(t, "llama"), file)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has no other end
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the engine said: %s", errs.String())
		}
	})
	timer := time.AfterFunc(patience, func() { _ = out.Close() })
	defer timer.Stop()
	e := &engine{lines: bufio.NewScanner(out)}
	var first struct{ Port int }
	if err := e.line(&first); err != nil || first.Port == 0 {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("the engine did not start: %v\n%s", err, errs.String())
	}
	e.url = fmt.Sprintf("http://127.0.0.1:%d/v1", first.Port)
	return e
}

func (e *engine) line(into any) error {
	for e.lines.Scan() {
		if raw := e.lines.Bytes(); len(raw) > 0 && raw[0] == '{' {
			return json.Unmarshal(raw, into)
		}
	}
	if err := e.lines.Err(); err != nil {
		return fmt.Errorf("read engine: %w", err)
	}
	return io.ErrUnexpectedEOF
}

func (e *engine) spent(t *testing.T) spent {
	t.Helper()
	var s spent
	if err := e.line(&s); err != nil || s.Error != "" {
		t.Fatalf("the engine failed: %v %s", err, s.Error)
	}
	return s
}

func TestARealEngineAnswersStreamsStopsAndCounts(t *testing.T) {
	e := startEngine(t)
	h := newHost(t)
	h.must("model", "add", "--name", "engine", "--provider", "openai", "--base-url", e.url, "--model", "scripted", "--no-key", "--default")
	h.start()
	s := openSession(t, h, client.Options{Token: token})

	s.say("short", "Say something.")
	var streamed strings.Builder
	parts := 0
	var final protocol.ChatEvent
	for final.State != protocol.ChatStateFinal {
		final = decode[protocol.ChatEvent](t, string(s.until(protocol.EventChat, `"runId":"short"`)))
		switch final.State {
		case protocol.ChatStateDelta:
			streamed.WriteString(final.DeltaText)
			parts++
		case protocol.ChatStateError:
			t.Fatalf("the run failed: %s", final.ErrorMessage)
		}
	}
	said := e.spent(t)
	if streamed.String() != shortScript || final.Message.Content.Text() != shortScript || parts == 0 {
		t.Errorf("streamed in %d parts %q, in the end %q", parts, streamed.String(), final.Message.Content.Text())
	}
	if u := final.Message.Usage; u == nil || u.Estimated || u.Input != said.Prompt || u.Output != said.Completion || u.Output < 10 {
		t.Errorf("the usage is %+v, the engine counted %+v", u, said)
	}

	s.say("long", "Now count.")
	s.until(protocol.EventChat, `"state":"delta"`)
	began := time.Now()
	s.call(protocol.MethodChatAbort, protocol.ChatAbortParams{SessionKey: "s", RunID: "long"}, "")
	s.until(protocol.EventChat, `"state":"aborted"`)
	took := time.Since(began)
	stopped := e.spent(t)
	if whole := int64(len(longScript()) / 10); !stopped.Stopped || stopped.Completion == 0 || stopped.Completion >= whole {
		t.Errorf("the engine went on: %+v of at least %d tokens", stopped, whole)
	}
	if took > 2*time.Second {
		t.Errorf("stopping took %v", took)
	}
	history := decode[protocol.ChatHistory](t, string(s.call(protocol.MethodChatHistory, protocol.ChatHistoryParams{SessionKey: "s"}, "")))
	last := history.Messages[len(history.Messages)-1]
	if got := last.Content.Text(); !last.Incomplete || got == "" || !strings.HasPrefix(longScript(), got) {
		t.Errorf("what had come is kept as %+v", last)
	}
}
