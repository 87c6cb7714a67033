import { CircleHelp, Gauge as GaugeIcon, RotateCcw } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { sentenceOf } from "@/gateway/calls";
import type { Run, RunChoice } from "@/gateway/protocol.gen";
import { reveal } from "@/markdown/reveal";
import { resumeRun } from "@/state/runs";
import { Button } from "@/ui/Button";
import { Notice } from "@/ui/Notice";
import { Time } from "@/ui/Time";
import { CardFoot } from "./CardFoot";
import styles from "./cards.module.css";
import { Scrolled } from "./Scrolled";
import { ceilingWords } from "./words";

interface Choice {
  choice: RunChoice;
  label: string;
  note: string;
}

interface Words {
  icon: ReactNode;
  title: string;
  text: string;
  choices: readonly Choice[];
}

const giveUp: Choice = { choice: "give-up", label: "Give up", note: "The run ends here. What was done stays done." };

function wordsFor(run: Run): Words | undefined {
  switch (run.parkReason) {
    case "unknown":
      return {
        icon: <CircleHelp />,
        title: "Nobody knows whether one step happened",
        text: "Countersign ended while the step was under way. It will not be repeated unless you ask for it. Look at the evidence, then choose.",
        choices: [
          giveUp,
          { choice: "treat-as-done", label: "It happened, go on", note: "The agent is told that the step is done." },
          {
            choice: "continue",
            label: "Go on, unsure",
            note: "The agent is told that nobody knows, and decides what to check.",
          },
        ],
      };
    case "ceiling":
      return {
        icon: <GaugeIcon />,
        title: `The limit of ${ceilingWords(run.ceiling)} is reached`,
        text: "The run waits here. Nothing is lost. Raising the limit lets it go on once, as far again.",
        choices: [
          giveUp,
          { choice: "continue", label: "Raise it once", note: "The run goes on until the raised limit." },
        ],
      };
    case "recovery":
      return {
        icon: <RotateCcw />,
        title: "This run was interrupted too often",
        text: "It was taken up again after each interruption and is now held, in case it is the cause. What it did so far is kept.",
        choices: [giveUp, { choice: "continue", label: "Try again", note: "The run goes on from its last step." }],
      };
    default:
      return undefined;
  }
}

/** A run that waits for a decision other than an approval: an unknown step, a ceiling, too many interruptions. */
export function ParkedCard({ run, showSession }: { run: Run; showSession?: string | undefined }) {
  const titleId = useId();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const words = wordsFor(run);
  if (run.state !== "parked" || !words) return null;

  const choose = async (choice: RunChoice): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await resumeRun(run.runId, choice, "");
    } catch (error) {
      setProblem(sentenceOf(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <article className={styles.card} aria-labelledby={titleId}>
      <header className={styles.head}>
        <span className={styles.hand} aria-hidden="true">
          {words.icon}
        </span>
        <div>
          <h2 id={titleId}>{words.title}</h2>
          <p className={styles.by}>
            {reveal(run.title)} · <Time atMs={run.parkedAtMs ?? run.acceptedAtMs} />
            {showSession ? ` · ${showSession}` : null}
          </p>
        </div>
      </header>
      <div className={styles.middle}>
        <p>{words.text}</p>
        {run.parkDetail ? (
          <Scrolled label="Evidence">
            <pre>{reveal(run.parkDetail)}</pre>
          </Scrolled>
        ) : null}
        {problem ? <Notice tone="failed" role="alert" title={problem} /> : null}
      </div>
      <CardFoot>
        <p className={styles.hint} />
        {words.choices.map((option) => (
          <Button key={option.choice} title={option.note} disabled={busy} onClick={() => choose(option.choice)}>
            {option.label}
          </Button>
        ))}
      </CardFoot>
    </article>
  );
}
