import { Square } from "lucide-react";
import { ceilingWords, gaugeWords, runStatus, runWords } from "@/cards/words";
import { sentenceOf } from "@/gateway/calls";
import type { Gauge, Run } from "@/gateway/protocol.gen";
import { stopRun } from "@/state/runs";
import type { LiveReply } from "@/state/transcript";
import { Button } from "@/ui/Button";
import { Status } from "@/ui/Status";
import { Elapsed } from "@/ui/Time";
import { toast } from "@/ui/Toasts";
import styles from "./strip.module.css";

const shortNames: Readonly<Record<Gauge["name"], string>> = { modelCalls: "calls", toolCalls: "tools", wallTime: "" };

function Meter({ gauge }: { gauge: Gauge }) {
  const share = gauge.limit > 0 ? Math.min(1, gauge.used / gauge.limit) : 0;
  return (
    <span className={styles.gauge} title={`${ceilingWords(gauge.name)}: ${gaugeWords(gauge)}`}>
      <span className={styles.bar} aria-hidden="true">
        <span className={styles.fill} style={{ width: `${Math.round(share * 100)}%` }} />
      </span>
      <span>
        {gaugeWords(gauge)} {shortNames[gauge.name]}
      </span>
    </span>
  );
}

function workWords(run: Run, live: LiveReply | undefined): string {
  if (live?.retryAtMs !== undefined) return live.status || "The model is busy; trying again soon";
  if (run.state === "running" && live?.status && !run.step) return live.status;
  return runWords(run);
}

/** What the run does right now, how much of each ceiling is used, and Stop. */
export function RunStrip({
  run,
  live,
  stopping,
  waiting,
}: {
  run: Run;
  live: LiveReply | undefined;
  stopping: boolean;
  waiting: number;
}) {
  const isStopping = stopping || Boolean(run.stopping);
  const since = run.state === "parked" ? run.parkedAtMs : (run.startedAtMs ?? run.acceptedAtMs);
  return (
    <section className={styles.strip} aria-label="What is running">
      <div className={styles.words}>
        <Status kind={isStopping ? "stopped" : runStatus(run)} word={isStopping ? "Stopping…" : workWords(run, live)} />
        {since ? (
          <span className={styles.since}>
            {run.state === "parked" ? "since " : ""}
            <Elapsed sinceMs={since} />
          </span>
        ) : null}
        {waiting > 0 ? <span className={styles.since}>{waiting} more waiting</span> : null}
      </div>
      <div className={styles.gauges}>
        {(run.gauges ?? []).map((gauge) => (
          <Meter key={gauge.name} gauge={gauge} />
        ))}
      </div>
      <Button
        icon={<Square />}
        disabled={isStopping}
        onClick={() => stopRun(run).catch((error: unknown) => toast(sentenceOf(error), { tone: "failed" }))}
      >
        {isStopping ? "Stopping…" : "Stop"}
      </Button>
    </section>
  );
}
