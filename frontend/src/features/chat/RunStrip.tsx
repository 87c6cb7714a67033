import { Square } from "lucide-react";
import { ceilingWords, gaugeWords, runStatus, runWords } from "@/cards/words";
import { sentenceOf } from "@/gateway/calls";
import type { Gauge, Run } from "@/gateway/protocol.gen";
import { stopRun } from "@/state/runs";
import type { LiveReply } from "@/state/transcript";
import { Button } from "@/ui/Button";
import { Status } from "@/ui/Status";
import { Elapsed, useNow } from "@/ui/Time";
import { toast } from "@/ui/Toasts";
import { Tooltip } from "@/ui/Tooltip";
import styles from "./strip.module.css";

const shortNames: Readonly<Record<Gauge["name"], string>> = { modelCalls: "calls", toolCalls: "tools", wallTime: "" };

/** The ceilings with their use of this moment: working time goes on from when it was last counted. */
function useGauges(run: Run): Gauge[] {
  const now = useNow();
  const counts = run.state === "running" && run.wallAtMs !== undefined ? Math.max(0, now - run.wallAtMs) : 0;
  return (run.gauges ?? []).map((gauge) =>
    gauge.name === "wallTime" ? { ...gauge, used: Math.min(gauge.limit, gauge.used + counts) } : gauge,
  );
}

function Bar({ gauge }: { gauge: Gauge }) {
  const share = gauge.limit > 0 ? Math.min(1, gauge.used / gauge.limit) : 0;
  return (
    <span className={styles.bar} aria-hidden="true">
      <span className={styles.fill} style={{ width: `${Math.round(share * 100)}%` }} />
    </span>
  );
}

function whole(gauge: Gauge): string {
  return `${ceilingWords(gauge.name)}: ${gaugeWords(gauge)}`;
}

/** Each ceiling with its figures; where there is no room, a bar for each, with its figures on hover and focus. */
function Gauges({ run }: { run: Run }) {
  const gauges = useGauges(run);
  const time = gauges.find((gauge) => gauge.name === "wallTime");
  return (
    <>
      <div className={styles.gauges}>
        {gauges.map((gauge) => (
          <span key={gauge.name} className={styles.gauge} title={whole(gauge)}>
            {gaugeWords(gauge)} {shortNames[gauge.name]}
          </span>
        ))}
      </div>
      <Tooltip text={gauges.map(whole).join(" · ")}>
        <button type="button" className={styles.compact} aria-label={`Ceilings. ${gauges.map(whole).join(", ")}`}>
          <span className={styles.stack}>
            {gauges.map((gauge) => (
              <Bar key={gauge.name} gauge={gauge} />
            ))}
          </span>
          {time ? gaugeWords(time) : null}
        </button>
      </Tooltip>
    </>
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
  const since = run.state === "parked" ? run.parkedAtMs : run.state === "queued" ? run.acceptedAtMs : undefined;
  const words = isStopping ? "Stopping…" : workWords(run, live);
  return (
    <section className={styles.strip} aria-label="What is running">
      <div className={styles.words}>
        <span className={styles.state} title={words}>
          <Status kind={isStopping ? "stopped" : runStatus(run)} word={words} />
        </span>
        {since ? (
          <span className={styles.since}>
            for <Elapsed sinceMs={since} />
          </span>
        ) : null}
        {waiting > 0 ? <span className={styles.since}>{waiting} more waiting</span> : null}
      </div>
      <Gauges run={run} />
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
