import type { PendingInput } from "@/gateway/protocol.gen";
import { discardMessage, resendMessage } from "@/state/chats";
import { keepDraft } from "@/state/place";
import type { Outgoing } from "@/state/transcript";
import { Button } from "@/ui/Button";
import { Notice } from "@/ui/Notice";
import styles from "./row.module.css";
import { textOf } from "./rows";

/** A message on its way: dim until it is stored; refused, it says why and keeps what was written. */
export function SendingRow({ sessionKey, sent }: { sessionKey: string; sent: Outgoing }) {
  return (
    <div className={styles.user}>
      <div className={styles.bubble} data-sending={sent.state === "sending"}>
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

/** A message that is stored and waits for the run before it. */
export function QueuedRow({ input }: { input: PendingInput }) {
  return (
    <div className={styles.user}>
      <div className={styles.bubble} data-sending="true">
        <h2 className="visually-hidden">You</h2>
        <p className={styles.said}>{textOf(input.message)}</p>
      </div>
      <p className={styles.when}>Waiting for the run before it</p>
    </div>
  );
}
