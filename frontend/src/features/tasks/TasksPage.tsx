import { ListChecks } from "lucide-react";
import { useMemo } from "react";
import { useLocation } from "wouter";
import { runStatus, runWords } from "@/cards/words";
import { sentenceOf } from "@/gateway/calls";
import type { Run } from "@/gateway/protocol.gen";
import { setPaused, useConnection } from "@/state/connection";
import { hasEnded, loadRuns, stopRun, useRuns } from "@/state/runs";
import { sessionTitle, useSessions } from "@/state/sessions";
import { Button } from "@/ui/Button";
import { Empty, Loading } from "@/ui/Empty";
import { Notice } from "@/ui/Notice";
import { Card, Page, Row, Section } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Time } from "@/ui/Time";
import { toast } from "@/ui/Toasts";

const shownEnded = 20;

function complain(error: unknown): void {
  toast(sentenceOf(error), { tone: "failed" });
}

/** What works, what waits, and what ended lately. */
export function TasksPage() {
  const { rows, load, stopping } = useRuns();
  const paused = useConnection((state) => state.health?.paused ?? false);
  const [, go] = useLocation();
  const { open, ended } = useMemo(() => {
    const all = Object.values(rows).sort((a, b) => b.acceptedAtMs - a.acceptedAtMs);
    return { open: all.filter((run) => !hasEnded(run)), ended: all.filter(hasEnded).slice(0, shownEnded) };
  }, [rows]);
  return (
    <Page
      title="Tasks"
      lead="What your agent works on, what waits, and what ended lately."
      actions={<Button onClick={() => setPaused(!paused).catch(complain)}>{paused ? "Resume" : "Pause"}</Button>}
    >
      {paused ? (
        <Notice title="Paused" actions={<Button onClick={() => setPaused(false).catch(complain)}>Resume</Button>}>
          No new calls and no new sends. What runs may finish its step; what waits is kept.
        </Notice>
      ) : null}
      {load.is === "failed" ? (
        <Notice
          tone="failed"
          title="Tasks cannot be loaded right now"
          actions={<Button onClick={() => loadRuns()}>Try again</Button>}
        >
          {load.sentence}
        </Notice>
      ) : null}
      {load.is === "loading" ? <Loading what="tasks" /> : null}
      {load.is === "yes" && open.length + ended.length === 0 ? (
        <Empty
          icon={<ListChecks />}
          title="Nothing to do"
          action={<Button onClick={() => go("/chat")}>Open chat</Button>}
        >
          What you ask for in a chat shows here while it works or waits.
        </Empty>
      ) : null}
      {open.length > 0 ? (
        <Section title="Working and waiting">
          <Card label="Working and waiting">
            {open.map((run) => (
              <RunRow key={run.runId} run={run} stopping={run.runId in stopping} />
            ))}
          </Card>
        </Section>
      ) : null}
      {ended.length > 0 ? (
        <Section title="Ended lately">
          <Card label="Ended lately">
            {ended.map((run) => (
              <RunRow key={run.runId} run={run} stopping={false} />
            ))}
          </Card>
        </Section>
      ) : null}
    </Page>
  );
}

function RunRow({ run, stopping }: { run: Run; stopping: boolean }) {
  const title = useSessions((state) => sessionTitle(state.rows[run.sessionKey], run.sessionKey));
  const isStopping = stopping || Boolean(run.stopping);
  return (
    <Row
      mark={<Status kind={runStatus(run)} word={runWords(run)} quiet />}
      title={run.title || title}
      note={
        <>
          {isStopping ? "Stopping…" : run.errorMessage || runWords(run)} · {title} ·{" "}
          <Time atMs={run.endedAtMs ?? run.parkedAtMs ?? run.acceptedAtMs} />
        </>
      }
    >
      {hasEnded(run) ? null : (
        <Button disabled={isStopping} onClick={() => stopRun(run).catch(complain)}>
          {isStopping ? "Stopping…" : "Stop"}
        </Button>
      )}
      <a href={`#/chat/${encodeURIComponent(run.sessionKey)}`}>Open</a>
    </Row>
  );
}
