import type { Approval } from "@/gateway/protocol.gen";
import { reveal } from "@/markdown/reveal";
import { Status, type StatusKind } from "@/ui/Status";
import { Time } from "@/ui/Time";
import styles from "./cards.module.css";

function outcome(approval: Approval): { kind: StatusKind; word: string } {
  switch (approval.status) {
    case "allowed":
      return {
        kind: "done",
        word: approval.decision === "allow-session" ? "Allowed for this session" : "Allowed once",
      };
    case "denied":
      return { kind: "denied", word: "Denied" };
    case "expired":
      return { kind: "stopped", word: "Expired, not allowed" };
    case "cancelled":
      return { kind: "stopped", word: "Withdrawn, not allowed" };
    case "pending":
      return { kind: "needs", word: "Waiting" };
  }
}

/** What became of an approval, in one line: what, by whom, when, and why not. */
export function DecidedLine({ approval }: { approval: Approval }) {
  const { kind, word } = outcome(approval);
  return (
    <p className={styles.decided}>
      <Status kind={kind} word={word} />
      <span className={styles.decidedWords}>
        {reveal(approval.request.sentence)}
        {approval.resolver ? ` — ${approval.resolver.name}` : null}
        {approval.resolvedAtMs ? (
          <>
            {", "}
            <Time atMs={approval.resolvedAtMs} />
          </>
        ) : null}
        {approval.reason ? ` — “${approval.reason}”` : null}
      </span>
    </p>
  );
}
