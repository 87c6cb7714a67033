import { MessageCircleQuestion } from "lucide-react";
import { useId, useState } from "react";
import { sentenceOf } from "@/gateway/calls";
import type { Question } from "@/gateway/protocol.gen";
import { answer, isOpenQuestion } from "@/state/approvals";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import fieldStyles from "@/ui/Field.module.css";
import { Notice } from "@/ui/Notice";
import { Status } from "@/ui/Status";
import { Time } from "@/ui/Time";
import { CardFoot } from "./CardFoot";
import styles from "./cards.module.css";

/** A question of the agent, with its options and room for other words. Answered, it is one line. */
export function QuestionCard({ question, showSession }: { question: Question; showSession?: string | undefined }) {
  const titleId = useId();
  const groupName = useId();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const options = question.options ?? [];

  if (!isOpenQuestion(question)) return <AnsweredLine question={question} />;

  const toggle = (label: string): void => {
    if (!question.multiple) setChosen([label]);
    else setChosen(chosen.includes(label) ? chosen.filter((each) => each !== label) : [...chosen, label]);
  };
  const submit = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await answer(question, chosen, text.trim());
    } catch (error) {
      setProblem(sentenceOf(error));
      setBusy(false);
    }
  };

  return (
    <article className={styles.card} aria-labelledby={titleId}>
      <header className={styles.head}>
        <span className={styles.hand} aria-hidden="true">
          <MessageCircleQuestion />
        </span>
        <div>
          <h2 id={titleId}>{question.text}</h2>
          <p className={styles.by}>
            Your agent asks · <Time atMs={question.createdAtMs} />
            {showSession ? ` · ${showSession}` : null}
          </p>
        </div>
      </header>
      <div className={styles.middle}>
        {options.length > 0 ? (
          <fieldset className={styles.options}>
            <legend className="visually-hidden">{question.multiple ? "Choose any" : "Choose one"}</legend>
            {options.map((option) => (
              <label key={option.label} className={styles.option} data-checked={chosen.includes(option.label)}>
                <input
                  type={question.multiple ? "checkbox" : "radio"}
                  name={groupName}
                  checked={chosen.includes(option.label)}
                  onChange={() => toggle(option.label)}
                />
                <span>
                  {option.label}
                  {option.description ? <span className={styles.optionNote}>{option.description}</span> : null}
                </span>
              </label>
            ))}
          </fieldset>
        ) : null}
        {question.freeText || options.length === 0 ? (
          <Field label={options.length > 0 ? "Or in your own words" : "Your answer"}>
            {({ id }) => (
              <textarea
                id={id}
                rows={2}
                className={fieldStyles.input}
                value={text}
                onChange={(event) => setText(event.target.value)}
              />
            )}
          </Field>
        ) : null}
        {problem ? <Notice tone="failed" role="alert" title={problem} /> : null}
      </div>
      <CardFoot>
        <p className={styles.hint} />
        <Button kind="primary" disabled={busy || (chosen.length === 0 && text.trim() === "")} onClick={submit}>
          Answer
        </Button>
      </CardFoot>
    </article>
  );
}

function AnsweredLine({ question }: { question: Question }) {
  const said = [...(question.answers ?? []), ...(question.answerText ? [question.answerText] : [])].join(", ");
  return (
    <p className={styles.decided}>
      <Status kind={said ? "done" : "stopped"} word={said ? "Answered" : "Not answered"} />
      <span className={styles.decidedWords}>
        {question.text}
        {said ? ` — “${said}”` : null}
        {question.resolver ? ` — ${question.resolver.name}` : null}
        {question.resolvedAtMs ? (
          <>
            {", "}
            <Time atMs={question.resolvedAtMs} />
          </>
        ) : null}
      </span>
    </p>
  );
}
