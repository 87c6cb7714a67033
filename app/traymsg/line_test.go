package traymsg_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"countersign/app/traymsg"
)

func TestLinesComeBackAsTheyWereWritten(t *testing.T) {
	lines := []traymsg.Line{
		{State: &traymsg.State{State: traymsg.NeedsYou, Count: 2, Title: "two wait\nfor you"}},
		{Menu: &traymsg.Menu{
			Waiting: []traymsg.Waiting{{ID: "a1", Nonce: "n", What: "write “x”", Where: "~/w", HighRisk: true}},
			Running: []traymsg.Running{{ID: "r", Title: "tidy"}}, Paused: true,
		}},
		{Ready: &traymsg.Ready{Watcher: true}},
		{Click: &traymsg.Click{Kind: traymsg.Allow, ID: "a1", Nonce: "n"}},
	}
	var wire bytes.Buffer
	w := traymsg.NewWriter(&wire)
	for _, l := range lines {
		if err := w.Write(l); err != nil {
			t.Fatal(err)
		}
	}
	if got := bytes.Count(wire.Bytes(), []byte("\n")); got != len(lines) {
		t.Errorf("%d line feeds for %d lines", got, len(lines))
	}
	r := traymsg.NewReader(&wire)
	for i, want := range lines {
		got, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("line %d is %+v, want %+v", i, got, want)
		}
	}
	if _, err := r.Read(); err != io.EOF {
		t.Errorf("after the end: %v, want io.EOF", err)
	}
}

func TestReaderRefusesWhatIsNotOneLine(t *testing.T) {
	for name, in := range map[string]string{
		"no JSON":        "hello\n",
		"nothing set":    "{}\n",
		"two set":        `{"ready":{"watcher":true},"click":{"kind":"quit"}}` + "\n",
		"too long":       `{"state":{"title":"` + strings.Repeat("x", traymsg.MaxLine) + `"}}` + "\n",
		"cut in the mid": `{"ready":{"watch`,
	} {
		if _, err := traymsg.NewReader(strings.NewReader(in)).Read(); !errors.Is(err, traymsg.ErrMalformed) {
			t.Errorf("%s: %v, want ErrMalformed", name, err)
		}
	}
}

func TestWriterRefusesWhatThePeerWould(t *testing.T) {
	w := traymsg.NewWriter(io.Discard)
	long := traymsg.Line{State: &traymsg.State{Title: strings.Repeat("x", traymsg.MaxLine)}}
	for name, l := range map[string]traymsg.Line{"empty": {}, "long": long} {
		if err := w.Write(l); !errors.Is(err, traymsg.ErrMalformed) {
			t.Errorf("%s: %v, want ErrMalformed", name, err)
		}
	}
}
