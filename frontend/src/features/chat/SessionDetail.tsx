import { useEffect, useMemo } from "react";
import { ceilingWords, endingOf, gaugeWords, runStatus, runWords } from "@/cards/words";
import type { SessionRow } from "@/gateway/protocol.gen";
import { agentName, useMainAgent } from "@/state/agents";
import { headOf, loadSessionReceipts, useReceipts } from "@/state/receipts";
import { lastRunOf, useRuns } from "@/state/runs";
import { Facts } from "@/ui/Facts";
import { plural } from "@/ui/format";
import { Status } from "@/ui/Status";
import { Time } from "@/ui/Time";
import styles from "./chat.module.css";

/** What belongs to this chat: its agent, its last run, and what was done in it. */
export function SessionDetail({
  sessionKey,
  row,
  onOpenReceipt,
}: {
  sessionKey: string;
  row: SessionRow | undefined;
  onOpenReceipt: (id: string) => void;
}) {
  const agent = useMainAgent();
  const run = useRuns((state) => lastRunOf(state.rows, sessionKey));
  const byId = useReceipts((state) => state.byId);
  useEffect(() => {
    // What cannot be loaded is said on the Activity page; here the list is only a shortcut to it.
    loadSessionReceipts(sessionKey).catch(() => undefined);
  }, [sessionKey]);
  const receipts = useMemo(
    () =>
      Object.values(byId)
        .filter((receipt) => receipt.origin.sessionKey === sessionKey)
        .sort((a, b) => b.seq - a.seq)
        .slice(0, 30),
    [byId, sessionKey],
  );
  return (
    <div className={styles.detail}>
      <Facts
        facts={[
          ["Agent", agentName(agent)],
          ["Workspace", agent?.workspace ? <code key="workspace">{agent.workspace}</code> : ""],
          ["Messages", row ? plural(row.messageCount, "message") : ""],
          ["Begun", row ? <Time key="begun" atMs={row.createdAt} /> : ""],
        ]}
      />
      {run ? (
        <section aria-label="Last run" className={styles.detailPart}>
          <h3>Last run</h3>
          <Status kind={runStatus(run)} word={runWords(run)} />
          <Facts
            facts={(run.gauges ?? []).map((gauge) => [sentence(ceilingWords(gauge.name)), gaugeWords(gauge)] as const)}
          />
        </section>
      ) : null}
      <section aria-label="Done in this chat" className={styles.detailPart}>
        <h3>Done in this chat</h3>
        {receipts.length === 0 ? (
          <p className={styles.quiet}>Everything your agent does here leaves a receipt in this list.</p>
        ) : (
          <ul>
            {receipts.map((receipt) => (
              <li key={receipt.id}>
                <button type="button" className={styles.receipt} onClick={() => onOpenReceipt(receipt.id)}>
                  <Status {...endingOf(headOf(receipt))} quiet />
                  <span>{receipt.sentence}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </section>
    </div>
  );
}

function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
