import { ApprovalCard } from "@/cards/ApprovalCard";
import { ParkedCard } from "@/cards/ParkedCard";
import { QuestionCard } from "@/cards/QuestionCard";
import { openQuestions, pendingApprovals, useApprovals } from "@/state/approvals";
import { waitsForOwner } from "@/state/needs";
import { isUnbegun, openRunOf, useRuns, waitingCount } from "@/state/runs";
import type { Transcript } from "@/state/transcript";
import styles from "./chat.module.css";
import { RunStrip } from "./RunStrip";

/** What is pinned above the composer: cards that wait for the owner, oldest first, and the run strip. */
export function Dock({ sessionKey, transcript }: { sessionKey: string; transcript: Transcript }) {
  const approvals = useApprovals();
  const rows = useRuns((state) => state.rows);
  const stopping = useRuns((state) => state.stopping);
  const waiting = pendingApprovals(approvals).filter((approval) => approval.request.sessionKey === sessionKey);
  const questions = openQuestions(approvals).filter((question) => question.sessionKey === sessionKey);
  const run = openRunOf(rows, sessionKey);
  const behind = waitingCount(rows, sessionKey);
  const isParked = run?.state === "parked" && waitsForOwner(run);
  const cards = waiting.length + questions.length;
  return (
    <>
      {cards > 0 || isParked ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
        <section className={styles.cards} aria-label="Needs you" tabIndex={0}>
          {cards > 1 ? <p className={styles.more}>{cards} things need you here, oldest first</p> : null}
          {waiting.map((approval) => (
            <ApprovalCard key={approval.id} approval={approval} />
          ))}
          {questions.map((question) => (
            <QuestionCard key={question.id} question={question} />
          ))}
          {run ? <ParkedCard run={run} /> : null}
        </section>
      ) : null}
      {/* A message that only waits its turn says so itself. */}
      {run && !isUnbegun(run) ? (
        <RunStrip run={run} live={transcript.live} stopping={run.runId in stopping} waiting={behind} />
      ) : null}
    </>
  );
}
