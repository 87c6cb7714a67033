import { Undo2 } from "lucide-react";
import { useState } from "react";
import { CallError, sentenceOf } from "@/gateway/calls";
import type { Authority, Evidence, Receipt } from "@/gateway/protocol.gen";
import { reveal } from "@/markdown/reveal";
import { headOf, undo } from "@/state/receipts";
import { Button } from "@/ui/Button";
import { Exact, Facts } from "@/ui/Facts";
import { formatBytes, formatDuration, formatExact } from "@/ui/format";
import { Notice } from "@/ui/Notice";
import { Status } from "@/ui/Status";
import { Time } from "@/ui/Time";
import styles from "./receipt.module.css";
import { classWords, endingOf } from "./words";

function short(hash: string | undefined): string {
  return hash ? `${hash.slice(0, 12)}…` : "";
}

function authorityWords(authority: Authority): string {
  const who = authority.by ? ` by ${authority.by}` : "";
  const when = authority.atMs ? `, ${formatExact(authority.atMs)}` : "";
  switch (authority.decision) {
    case "allow-once":
      return `Allowed once${who}${when}`;
    case "allow-session":
      return `Allowed for the session${who}${when}`;
    case "allow-always":
      return `Allowed always${who}${when}`;
    case "deny":
      return `Denied${who}${when}${authority.reason ? `: “${authority.reason}”` : ""}`;
    default:
      return "By a rule, without asking";
  }
}

function evidenceFacts(evidence: Evidence): [string, string][] {
  const existed = evidence.existedBefore;
  return [
    ["Exit status", evidence.exitStatus === undefined ? "" : String(evidence.exitStatus)],
    ["Signal", evidence.signal ?? ""],
    ["Took", evidence.durationMs === undefined ? "" : formatDuration(evidence.durationMs)],
    ["Read", evidence.bytesRead ? formatBytes(evidence.bytesRead) : ""],
    ["Written", evidence.bytesWritten ? formatBytes(evidence.bytesWritten) : ""],
    ["Before", existed === false ? "The file did not exist" : short(evidence.hashBefore)],
    ["After", short(evidence.hashAfter)],
    ["Ran in", evidence.sandbox ?? ""],
    ["Note", evidence.note ?? ""],
    ["Error", evidence.error ?? ""],
  ];
}

/** Everything a receipt holds: one sentence, then the exact record behind it. */
export function ReceiptDetail({ receipt, onOpen }: { receipt: Receipt; onOpen?: ((id: string) => void) | undefined }) {
  const ending = endingOf(headOf(receipt));
  const { origin, evidence } = receipt;
  return (
    <div className={styles.detail}>
      <div>
        <Status {...ending} />
        <p className={styles.sentence}>{reveal(receipt.sentence)}</p>
        <p className={styles.quiet}>
          {classWords[receipt.class]} · <Time atMs={receipt.endedAtMs} />
        </p>
      </div>
      <Undoing receipt={receipt} onOpen={onOpen} />
      <section aria-label="What exactly" className={styles.part}>
        <h3>What exactly</h3>
        <Facts
          facts={[
            ["Tool", receipt.tool],
            ["Target", receipt.target ? <code key="target">{reveal(receipt.target)}</code> : ""],
          ]}
        />
        <Exact label="Arguments" text={reveal(JSON.stringify(receipt.args, null, 2) ?? "")} />
      </section>
      <section aria-label="On whose word" className={styles.part}>
        <h3>On whose word</h3>
        <Facts
          facts={[
            ["For", receipt.represents],
            ["Agent", origin.agentName],
            ["Asked by", [origin.sender, origin.channel].filter(Boolean).join(" · ")],
            ["Allowed", authorityWords(receipt.authority)],
            ["Clause", receipt.authority.clause],
            ["Session", <code key="session">{reveal(origin.sessionKey)}</code>],
            ["Outside text", (receipt.taint ?? []).map((source) => reveal(source.source)).join(", ")],
          ]}
        />
      </section>
      <section aria-label="Evidence" className={styles.part}>
        <h3>Evidence</h3>
        <Facts facts={evidenceFacts(evidence)} />
        {evidence.output ? <Exact label="Output" text={reveal(evidence.output)} /> : null}
        {evidence.outputCut ? (
          <p className={styles.quiet}>{formatBytes(evidence.outputCut)} of output were not kept.</p>
        ) : null}
      </section>
      <section aria-label="In the chain" className={styles.part}>
        <h3>In the chain</h3>
        <Facts
          facts={[
            ["Number", String(receipt.seq)],
            ["Ended", formatExact(receipt.endedAtMs)],
            [
              "Hash",
              <code key="hash" title={receipt.chain.hash}>
                {short(receipt.chain.hash)}
              </code>,
            ],
            [
              "Before it",
              <code key="prev" title={receipt.chain.prev}>
                {short(receipt.chain.prev)}
              </code>,
            ],
            ["Receipt", <code key="id">{receipt.id}</code>],
          ]}
        />
      </section>
    </div>
  );
}

function Undoing({ receipt, onOpen }: { receipt: Receipt; onOpen?: ((id: string) => void) | undefined }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<{ conflict: boolean; sentence: string }>();
  const { undoneBy, undoes, available, reason } = receipt.undo;
  const takeBack = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await undo(receipt);
    } catch (error) {
      const conflict = error instanceof CallError && error.details?.code === "UNDO_CONFLICT";
      setProblem({ conflict, sentence: sentenceOf(error) });
    } finally {
      setBusy(false);
    }
  };
  const link = undoneBy ?? undoes;
  if (link) {
    return (
      <Notice
        title={undoneBy ? "This was undone." : "This took something back."}
        actions={
          onOpen ? (
            <Button onClick={() => onOpen(link)}>{undoneBy ? "See the undoing" : "See what it undid"}</Button>
          ) : null
        }
      />
    );
  }
  if (problem) {
    return (
      <Notice
        tone={problem.conflict ? "plain" : "failed"}
        role="alert"
        title={problem.conflict ? "It has changed since, so it was left alone." : "It was not undone."}
      >
        {problem.sentence}
      </Notice>
    );
  }
  if (!available) return reason ? <p className={styles.quiet}>Cannot be undone: {reason}</p> : null;
  return (
    <Button className={styles.undo} icon={<Undo2 />} disabled={busy} onClick={takeBack}>
      {busy ? "Undoing…" : "Undo"}
    </Button>
  );
}
