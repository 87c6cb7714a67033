package ask_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/tool"
	"countersign/backend/tool/ask"
	"countersign/backend/tool/tooltest"
)

func TestSuite(t *testing.T) {
	tooltest.Run(t, tooltest.Subject{
		New: func() tool.Tool { return ask.New() },
		Cases: []tooltest.Case{
			{Name: "free", Args: `{"question":"Which\nname?"}`},
			{Name: "options", Args: `{"question":"Which?","options":[{"label":"A","description":"first"},{"label":"B"}],"multiple":true}`},
		},
	})
}

func TestQuestion(t *testing.T) {
	for _, c := range []struct {
		args             string
		options          int
		multiple, freely bool
	}{
		{`{"question":" Which? "}`, 0, false, true},
		{`{"question":"Which?","multiple":true,"options":[]}`, 0, false, true},
		{`{"question":"Which?","options":[{"label":"A"},{"label":"B","description":"b"}]}`, 2, false, false},
		{`{"question":"Which?","options":[{"label":"A"},{"label":"B"}],"multiple":true,"freeText":true}`, 2, true, true},
		{`{"question":"Which?","options":[{"label":"A"}],"freeText":true}`, 1, false, true},
	} {
		p, err := ask.New().Plan(context.Background(), tool.Env{}, json.RawMessage(c.args))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		q, err := ask.New().Question(p)
		if err != nil || q.Text != "Which?" || len(q.Options) != c.options || q.Multiple != c.multiple || q.FreeText != c.freely {
			t.Errorf("%s: %+v %v", c.args, q, err)
		}
		if p.Card.Sentence != "Ask you: Which?" {
			t.Errorf("sentence %q", p.Card.Sentence)
		}
	}
}

func TestQuestionsThatCannotBeAnswered(t *testing.T) {
	seven := strings.TrimSuffix(strings.Repeat(`{"label":"x%d"},`, 7), ",")
	for _, args := range []string{
		`{"question":"  "}`, `{"question":"` + strings.Repeat("x", 2001) + `"}`, `{"question":"?","options":[{"label":"A"}]}`,
		`{"question":"?","options":[{"label":"A"},{"label":" a "}]}`, `{"question":"?","options":[{"label":" "},{"label":"b"}]}`,
		fmt.Sprintf(`{"question":"?","options":[`+seven+`]}`, 1, 2, 3, 4, 5, 6, 7),
	} {
		_, err := ask.New().Plan(context.Background(), tool.Env{}, json.RawMessage(args))
		var argument *tool.ArgumentError
		if !errors.As(err, &argument) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestAnUnaskedQuestionIsNoAnswer(t *testing.T) {
	r, err := ask.New().Do(context.Background(), tool.Env{}, tool.Plan{}, nil)
	if err != nil || r.Outcome != protocol.OutcomeFailed || !r.IsError {
		t.Errorf("%+v %v", r, err)
	}
}
