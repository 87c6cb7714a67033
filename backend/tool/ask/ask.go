// Package ask is the tool by which an agent puts a structured question to its
// owner.
//
// It does nothing on the machine: the run parks on the question that Question
// returns, and the owner's answer is the call's result. Do is only reached by a
// caller that passed this by, and answers that nobody has been asked.
package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"countersign/backend/protocol"
	"countersign/backend/tool"
)

// Bounds of a question, in characters where they are of text.
const (
	maxOptions     = 6
	maxQuestion    = 2000
	maxLabel       = 120
	maxDescription = 500
)

// Tool is the ask tool. It holds no state and is safe for concurrent use.
type Tool struct{}

// New returns the tool.
func New() Tool { return Tool{} }

type args struct {
	Question string   `json:"question"`
	Options  []option `json:"options"`
	Multiple bool     `json:"multiple"`
	FreeText bool     `json:"freeText"`
}

type option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Spec describes the tool.
func (Tool) Spec() tool.Spec {
	return tool.Spec{
		Name:        "ask",
		Group:       "ask",
		Description: "Ask the owner a question and wait for the answer. Offer options where there are clear ones; allow free text where there may be others.",
		Effect:      protocol.ClassAsk,
		Class:       tool.Class{Repeat: tool.RepeatLocal},
		Schema: json.RawMessage(`{
  "type": "object", "additionalProperties": false, "required": ["question"],
  "properties": {
    "question": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "One question in plain words"},
    "options": {"type": "array", "maxItems": 6, "description": "Up to six answers to choose from", "items": {
      "type": "object", "additionalProperties": false, "required": ["label"],
      "properties": {
        "label": {"type": "string", "minLength": 1, "maxLength": 120, "description": "The answer in a few words"},
        "description": {"type": "string", "maxLength": 500, "description": "What choosing it means"}
      }
    }},
    "multiple": {"type": "boolean", "description": "More than one option may be chosen"},
    "freeText": {"type": "boolean", "description": "The owner may also answer in own words; always so without options"}
  }
}`),
	}
}

// Plan checks the question; see tool.Tool.
func (Tool) Plan(_ context.Context, _ tool.Env, raw json.RawMessage) (tool.Plan, error) {
	var a args
	if err := tool.Decode(raw, &a); err != nil {
		return tool.Plan{}, err
	}
	if err := a.complete(); err != nil {
		return tool.Plan{}, err
	}
	checked, err := tool.Encode(a)
	if err != nil {
		return tool.Plan{}, err
	}
	return tool.Plan{
		Tool: "ask", Args: checked, Target: shorten(a.Question),
		Card: tool.Card{Sentence: "Ask you: " + shorten(a.Question), Reach: []string{"Asks you and does nothing else."}},
	}, nil
}

// complete trims what was written and fills in what it means.
func (a *args) complete() error {
	a.Question = strings.TrimSpace(a.Question)
	if a.Question == "" || utf8.RuneCountInString(a.Question) > maxQuestion {
		return argument("The question must have 1 to %d characters.", maxQuestion)
	}
	if len(a.Options) > maxOptions {
		return argument("There are %d options; at most %d can be offered.", len(a.Options), maxOptions)
	}
	if a.Options == nil {
		a.Options = []option{}
	}
	seen := map[string]bool{}
	for i := range a.Options {
		o := &a.Options[i]
		o.Label, o.Description = strings.TrimSpace(o.Label), strings.TrimSpace(o.Description)
		switch {
		case o.Label == "" || utf8.RuneCountInString(o.Label) > maxLabel || utf8.RuneCountInString(o.Description) > maxDescription:
			return argument("Option %d needs a label of 1 to %d characters, and a description of at most %d.", i+1, maxLabel, maxDescription)
		case seen[strings.ToLower(o.Label)]:
			// An answer comes back as its label, so two alike could not be told apart.
			return argument("Two options have the label %q.", o.Label)
		}
		seen[strings.ToLower(o.Label)] = true
	}
	switch {
	case len(a.Options) == 0:
		a.FreeText, a.Multiple = true, false
	case len(a.Options) == 1 && !a.FreeText:
		return argument("With a single option there is nothing to choose; offer another one or free text.")
	}
	return nil
}

// Question is what the owner is asked. The caller fills in whose question it is.
func (Tool) Question(plan tool.Plan) (protocol.Question, error) {
	var a args
	if err := tool.Decode(plan.Args, &a); err != nil {
		return protocol.Question{}, err
	}
	q := protocol.Question{Text: a.Question, Options: []protocol.QuestionOption{}, Multiple: a.Multiple, FreeText: a.FreeText}
	for _, o := range a.Options {
		q.Options = append(q.Options, protocol.QuestionOption(o))
	}
	return q, nil
}

// Do answers that nobody was asked; see the package comment.
func (Tool) Do(context.Context, tool.Env, tool.Plan, tool.Progress) (tool.Result, error) {
	const sentence = "The question was not put to anyone."
	return tool.Result{
		Content: sentence, IsError: true, Outcome: protocol.OutcomeFailed, Evidence: protocol.Evidence{Error: sentence},
	}, nil
}

func shorten(s string) string {
	const most = 120
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

func argument(format string, a ...any) error {
	return &tool.ArgumentError{Sentence: fmt.Sprintf(format, a...)}
}
