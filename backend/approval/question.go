package approval

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

// ErrAnswered reports a question that was answered or cancelled before; the
// question as it is tells which.
var ErrAnswered = errors.New("this question no longer waits for an answer")

// ErrNoAnswer reports an answer that names no option of the question and has no
// text, or text where none was asked for.
var ErrNoAnswer = errors.New("choose one of the offered answers, or write one where the question takes text")

// Answer is what a person said to a question.
type Answer struct {
	Options []string `json:"options,omitempty"`
	Text    string   `json:"text,omitempty"`
}

// AskQuestion stores a new open question for an effect.
func AskQuestion(tx *store.Tx, effect protocol.EffectID, q protocol.Question) error {
	raw, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("encode question: %w", err)
	}
	_, err = tx.Exec(`INSERT INTO questions (question_id, seq, run_id, tool_call_id, effect_id, question_json, state, created_at_ms)
		VALUES (?, (SELECT coalesce(max(seq), 0) + 1 FROM questions), ?, ?, ?, ?, 'pending', ?)`,
		string(q.ID), string(q.RunID), q.ToolCallID, string(effect), string(raw), q.CreatedAtMs)
	if err != nil {
		return fmt.Errorf("store question: %w", err)
	}
	tx.Emit(store.Change{Kind: ChangeQuestion, Key: string(q.ID), Version: 1, AtMs: q.CreatedAtMs})
	return nil
}

const questionColumns = `question_json, state, answer_json, resolver_json, resolved_at_ms, version`

func scanQuestion(row interface{ Scan(...any) error }) (protocol.Question, error) {
	var q protocol.Question
	var raw, state, answer, resolver string
	var resolvedAt, version int64
	if err := row.Scan(&raw, &state, &answer, &resolver, &resolvedAt, &version); err != nil {
		return q, err
	}
	if err := json.Unmarshal([]byte(raw), &q); err != nil {
		return q, fmt.Errorf("decode question: %w", err)
	}
	q.State, q.ResolvedAtMs, q.Version = state, resolvedAt, version
	if answer != "" {
		var a Answer
		if err := json.Unmarshal([]byte(answer), &a); err != nil {
			return q, fmt.Errorf("decode answer: %w", err)
		}
		q.Answers, q.AnswerText = a.Options, a.Text
	}
	r, err := decodeResolver(resolver)
	q.Resolver = r
	return q, err
}

// Questions reads the open questions, or with all the newest in any state,
// oldest first; an empty run selects all runs.
func Questions(q store.Querier, run protocol.RunID, all bool) ([]protocol.Question, error) {
	rows, err := q.Query(`SELECT `+questionColumns+` FROM (SELECT * FROM questions WHERE (?1 OR state = 'pending') AND (?2 = '' OR run_id = ?2)
		ORDER BY seq DESC LIMIT 500) ORDER BY seq`, all, string(run))
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	defer rows.Close()
	out := []protocol.Question{}
	for rows.Next() {
		question, err := scanQuestion(rows)
		if err != nil {
			return nil, fmt.Errorf("read questions: %w", err)
		}
		out = append(out, question)
	}
	return out, rows.Err()
}

// GetQuestion reads one question, or ErrNotFound.
func GetQuestion(q store.Querier, id protocol.QuestionID) (protocol.Question, error) {
	return oneQuestion(q, `question_id = ?`, string(id))
}

// QuestionOfEffect reads the question of an effect, or ErrNotFound.
func QuestionOfEffect(q store.Querier, id protocol.EffectID) (protocol.Question, error) {
	return oneQuestion(q, `effect_id = ?`, string(id))
}

func oneQuestion(q store.Querier, where, arg string) (protocol.Question, error) {
	question, err := scanQuestion(q.QueryRow(`SELECT `+questionColumns+` FROM questions WHERE `+where, arg))
	if errors.Is(err, sql.ErrNoRows) {
		return question, ErrNotFound
	}
	if err != nil {
		return question, fmt.Errorf("read question: %w", err)
	}
	return question, nil
}

// AnswerQuestion answers an open question once, or reports ErrAnswered with the
// question as it is, or ErrNoAnswer.
func AnswerQuestion(tx *store.Tx, id protocol.QuestionID, a Answer, by protocol.Resolver, nowMs int64) (protocol.Question, error) {
	q, err := GetQuestion(tx, id)
	if err != nil {
		return q, err
	}
	if q.State != "pending" {
		return q, ErrAnswered
	}
	a.Text = strings.TrimSpace(a.Text)
	if !fits(q, a) {
		return q, ErrNoAnswer
	}
	answer, err := json.Marshal(a)
	if err != nil {
		return q, fmt.Errorf("encode answer: %w", err)
	}
	resolver, err := json.Marshal(by)
	if err != nil {
		return q, fmt.Errorf("encode resolver: %w", err)
	}
	_, err = tx.Exec(`UPDATE questions SET state = 'answered', answer_json = ?, resolver_json = ?, resolved_at_ms = ?, version = version + 1
		WHERE question_id = ? AND state = 'pending'`, string(answer), string(resolver), nowMs, string(id))
	if err != nil {
		return q, fmt.Errorf("answer question: %w", err)
	}
	tx.Emit(store.Change{Kind: ChangeQuestion, Key: string(id), AtMs: nowMs})
	return GetQuestion(tx, id)
}

// fits says whether an answer names options of the question, each once, several
// only where several may be chosen, and has text only where text is taken. A
// question without options takes text.
func fits(q protocol.Question, a Answer) bool {
	if a.Text != "" && !q.FreeText && len(q.Options) > 0 {
		return false
	}
	if len(a.Options) > 1 && !q.Multiple {
		return false
	}
	for i, label := range a.Options {
		if slices.Contains(a.Options[:i], label) || !slices.ContainsFunc(q.Options, func(o protocol.QuestionOption) bool { return o.Label == label }) {
			return false
		}
	}
	return a.Text != "" || len(a.Options) > 0
}

func cancelQuestions(tx *store.Tx, run protocol.RunID, nowMs int64) error {
	open, err := Questions(tx, run, false)
	if err != nil {
		return err
	}
	for _, q := range open {
		if _, err := tx.Exec(`UPDATE questions SET state = 'cancelled', resolved_at_ms = ?, version = version + 1 WHERE question_id = ? AND state = 'pending'`,
			nowMs, string(q.ID)); err != nil {
			return fmt.Errorf("cancel question: %w", err)
		}
		tx.Emit(store.Change{Kind: ChangeQuestion, Key: string(q.ID), AtMs: nowMs})
	}
	return nil
}
