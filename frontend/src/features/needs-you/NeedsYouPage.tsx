import { Hand } from "lucide-react";
import { useMemo } from "react";
import { ApprovalCard } from "@/cards/ApprovalCard";
import { ParkedCard } from "@/cards/ParkedCard";
import { QuestionCard } from "@/cards/QuestionCard";
import { loadApprovals, useApprovals } from "@/state/approvals";
import { type Need, needsOf } from "@/state/needs";
import { useRuns } from "@/state/runs";
import { sessionTitle, useSessions } from "@/state/sessions";
import { Button } from "@/ui/Button";
import { Empty, Loading } from "@/ui/Empty";
import { plural } from "@/ui/format";
import { Notice } from "@/ui/Notice";
import { Page } from "@/ui/Page";
import styles from "./needs.module.css";

function sessionOf(need: Need): string {
  switch (need.kind) {
    case "approval":
      return need.approval.request.sessionKey;
    case "question":
      return need.question.sessionKey;
    case "run":
      return need.run.sessionKey;
  }
}

function NeedCard({ need, session }: { need: Need; session: string }) {
  switch (need.kind) {
    case "approval":
      return <ApprovalCard approval={need.approval} showSession={session} />;
    case "question":
      return <QuestionCard question={need.question} showSession={session} />;
    case "run":
      return <ParkedCard run={need.run} showSession={session} />;
  }
}

/** Everything that waits for the owner, in one list, oldest first. */
export function NeedsYouPage() {
  const approvals = useApprovals();
  const runs = useRuns();
  const sessions = useSessions((state) => state.rows);
  const needs = useMemo(() => needsOf(approvals, runs), [approvals, runs]);
  return (
    <Page
      title="Needs you"
      lead={
        needs.length > 0
          ? `${plural(needs.length, "thing")} wait${needs.length === 1 ? "s" : ""} for you, oldest first.`
          : undefined
      }
    >
      {approvals.load.is === "failed" ? (
        <Notice
          tone="failed"
          title="What waits for you cannot be loaded"
          actions={<Button onClick={() => loadApprovals()}>Try again</Button>}
        >
          {approvals.load.sentence} Nothing is decided without you.
        </Notice>
      ) : null}
      {approvals.load.is === "loading" ? <Loading what="what needs you" /> : null}
      {approvals.load.is === "yes" && needs.length === 0 ? (
        <Empty icon={<Hand />} title="Nothing needs you">
          When your agent wants to change something, or has a question, it waits here until you decide.
        </Empty>
      ) : null}
      <ol className={styles.list}>
        {needs.map((need) => {
          const key = sessionOf(need);
          return (
            <li key={`${need.kind}:${need.id}`} className={styles.item}>
              <NeedCard need={need} session={sessionTitle(sessions[key], key)} />
              <a className={styles.open} href={`#/chat/${encodeURIComponent(key)}`}>
                Open the chat
              </a>
            </li>
          );
        })}
      </ol>
    </Page>
  );
}
