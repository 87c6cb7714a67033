import { Hand } from "lucide-react";
import { type KeyboardEvent, useId, useState } from "react";
import { CallError, sentenceOf } from "@/gateway/calls";
import type { Approval, Decision } from "@/gateway/protocol.gen";
import { reveal } from "@/markdown/reveal";
import { decide, isCut, offeredDecisions } from "@/state/approvals";
import { Button } from "@/ui/Button";
import { Facts } from "@/ui/Facts";
import { Notice } from "@/ui/Notice";
import { Time } from "@/ui/Time";
import { CardFoot } from "./CardFoot";
import styles from "./cards.module.css";
import { DecidedLine } from "./DecidedLine";
import { Plan } from "./Plan";
import { ReasonForm } from "./ReasonForm";

// Enter never approves: the key that sends a message must not, half a second later, allow what a card asks.
function refuseEnter(event: KeyboardEvent): void {
  if (event.key === "Enter") event.preventDefault();
}

/** A question bound to one exact plan. Once decided it shrinks to one line. */
export function ApprovalCard({ approval, showSession }: { approval: Approval; showSession?: string | undefined }) {
  const titleId = useId();
  const [denying, setDenying] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const { request } = approval;
  const offered = offeredDecisions(approval);

  if (approval.status !== "pending") return <DecidedLine approval={approval} />;

  const choose = async (decision: Decision, reason: string): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await decide(approval, decision, reason);
    } catch (error) {
      const lost = error instanceof CallError && error.lost;
      setProblem(
        lost
          ? "The connection was lost before this was confirmed. The card shows what holds once it is back."
          : sentenceOf(error),
      );
    } finally {
      setBusy(false);
    }
  };

  return (
    <article className={styles.card} aria-labelledby={titleId}>
      <header className={styles.head}>
        <span className={styles.hand} aria-hidden="true">
          <Hand />
        </span>
        <div>
          <h2 id={titleId}>{reveal(request.sentence)}</h2>
          <p className={styles.by}>
            Asked by {request.agentName}, for {request.forWhom || "you"} · <Time atMs={approval.createdAtMs} />
            {showSession ? ` · ${showSession}` : null}
            {request.highRisk ? <strong className={styles.risk}> · High risk</strong> : null}
          </p>
        </div>
      </header>
      <div className={styles.middle}>
        {request.changed ? (
          <Notice tone="needs" title="This is asked again, for something is different now.">
            {reveal(request.changed)}
          </Notice>
        ) : null}
        {isCut(request) ? (
          <Notice tone="needs" title="This is cut: you do not see all of it.">
            What you cannot read whole cannot be allowed. Deny it and ask for smaller steps.
          </Notice>
        ) : null}
        {request.warningText ? <Notice tone="needs" title={request.warningText} /> : null}
        {request.taint?.map((source) => (
          <Notice
            key={`${source.source}${source.passage ?? ""}`}
            tone="needs"
            title={`Text from outside is involved: ${reveal(source.source)}`}
          >
            {source.passage ? <q>{reveal(source.passage)}</q> : null}
          </Notice>
        ))}
        <Plan request={request} />
        <Facts
          facts={[
            [
              "Where",
              request.cwd || request.target ? (
                <code key="where">{reveal(request.cwd || request.target || "")}</code>
              ) : (
                ""
              ),
            ],
            ["Program", request.resolvedPath ? <code key="program">{reveal(request.resolvedPath)}</code> : ""],
            ["Why asked", request.clause],
            ["Can reach", request.reach?.length ? <Lines key="reach" lines={request.reach} /> : ""],
            ["Environment", (request.envKeys ?? []).join(", ")],
          ]}
        />
        {problem ? <Notice tone="failed" role="alert" title={problem} /> : null}
      </div>
      <CardFoot>
        {denying ? (
          <ReasonForm
            verb="Deny"
            label="Why not? (the agent reads this)"
            busy={busy}
            onSubmit={(reason) => choose("deny", reason)}
            onCancel={() => setDenying(false)}
          />
        ) : (
          <>
            <p className={styles.hint}>{offered.length > 1 ? "With the keyboard: Tab to a button, then Space." : ""}</p>
            <Button disabled={busy} onClick={() => setDenying(true)}>
              Deny…
            </Button>
            {offered.includes("allow-session") ? (
              <Button
                disabled={busy}
                title="This same command in this folder, for this chat only"
                onKeyDown={refuseEnter}
                onClick={() => choose("allow-session", "")}
              >
                Allow for this session
              </Button>
            ) : null}
            {offered.includes("allow-once") ? (
              <Button kind="primary" disabled={busy} onKeyDown={refuseEnter} onClick={() => choose("allow-once", "")}>
                Allow once
              </Button>
            ) : null}
          </>
        )}
      </CardFoot>
    </article>
  );
}

function Lines({ lines }: { lines: readonly string[] }) {
  return (
    <ul>
      {lines.map((line) => (
        <li key={line}>{reveal(line)}</li>
      ))}
    </ul>
  );
}
