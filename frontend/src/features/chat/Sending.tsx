import { sentenceOf } from "@/gateway/calls";
import type { PendingInput } from "@/gateway/protocol.gen";
import { discardMessage, resendMessage } from "@/state/chats";
import { useConnection } from "@/state/connection";
import { keepDraft } from "@/state/place";
import { isUnbegun, stopRun, useRuns, waitsBehind } from "@/state/runs";
import type { Outgoing } from "@/state/transcript";
import { Button } from "@/ui/Button";
import { Notice } from "@/ui/Notice";
import { Status } from "@/ui/Status";
import { useNow } from "@/ui/Time";
import { toast } from "@/ui/Toasts";
import styles from "./row.module.css";
import { textOf } from "./rows";

/** A message on its way: outlined until it is read, with what it waits for; refused, it says why and keeps what was written. */
export function SendingRow({ sessionKey, sent }: { sessionKey: string; sent: Outgoing }) {
  const waits = useWaits(sessionKey, sent);
  return (
    <div className={styles.user}>
      <div className={styles.bubble} data-sending={sent.state === "sending" || waits}>
        <h2 className="visually-hidden">You</h2>
        <p className={styles.said}>{sent.text}</p>
        {sent.attachments.map((file) => (
          <p key={file.fileName} className={styles.file}>
            {file.fileName}
          </p>
        ))}
      </div>
      {sent.state === "sending" ? (
        <p className={styles.when} role="status">
          Sending…
        </p>
      ) : null}
      {waits ? <Waiting sessionKey={sessionKey} runId={sent.runId} /> : null}
      {sent.state === "refused" ? (
        <div className={styles.refused}>
          <Notice
            tone="failed"
            role="alert"
            title="Not sent"
            actions={
              <>
                <Button
                  onClick={() => {
                    keepDraft(sessionKey, sent.text);
                    discardMessage(sessionKey, sent.runId);
                  }}
                >
                  Edit
                </Button>
                <Button onClick={() => resendMessage(sessionKey, sent)}>Send again</Button>
              </>
            }
          >
            {sent.sentence} Your words are kept.
          </Notice>
        </div>
      ) : null}
    </div>
  );
}

/** A message that is stored and waits for its turn, sent from another window or before this one was opened. */
export function QueuedRow({ sessionKey, input }: { sessionKey: string; input: PendingInput }) {
  return (
    <div className={styles.user}>
      <div className={styles.bubble} data-sending="true">
        <h2 className="visually-hidden">You</h2>
        <p className={styles.said}>{textOf(input.message)}</p>
      </div>
      <Waiting sessionKey={sessionKey} runId={input.runId ?? input.id} />
    </div>
  );
}

const patienceMs = 1000;

/** Whether an accepted message waits, so that a person must be told. One whose turn comes at once is not remarked upon. */
function useWaits(sessionKey: string, sent: Outgoing): boolean {
  const behind = useRuns((state) => waitsBehind(state.rows, sessionKey, sent.runId));
  const unbegun = useRuns((state) => {
    const run = state.rows[sent.runId];
    return !run || isUnbegun(run);
  });
  const now = useNow();
  return sent.state === "accepted" && (behind || (unbegun && now - sent.sentAtMs > patienceMs));
}

function Waiting({ sessionKey, runId }: { sessionKey: string; runId: string }) {
  const paused = useConnection((state) => state.health?.paused ?? false);
  const stopping = useRuns((state) => runId in state.stopping);
  return (
    <p className={styles.waiting}>
      <Status kind="waiting" word={paused ? "Waits: Countersign is paused" : "Waiting its turn"} />
      <Button
        kind="quiet"
        aria-label="Stop this message before it begins"
        disabled={stopping}
        onClick={() =>
          stopRun({ runId, sessionKey }).catch((error: unknown) => toast(sentenceOf(error), { tone: "failed" }))
        }
      >
        {stopping ? "Stopping…" : "Stop"}
      </Button>
    </p>
  );
}
