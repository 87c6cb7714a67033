import { ChartColumn } from "lucide-react";
import { useMemo } from "react";
import { useLocation } from "wouter";
import type { Gauge, Run } from "@/gateway/protocol.gen";
import { loadRuns, useRuns } from "@/state/runs";
import { Button } from "@/ui/Button";
import { Empty, Loading } from "@/ui/Empty";
import { formatCount, formatDuration } from "@/ui/format";
import { Notice } from "@/ui/Notice";
import { Page, Section } from "@/ui/Page";
import { Time } from "@/ui/Time";
import styles from "./usage.module.css";

function used(run: Run, name: Gauge["name"]): number {
  return (run.gauges ?? []).find((gauge) => gauge.name === name)?.used ?? 0;
}

function total(runs: readonly Run[], of: (run: Run) => number): number {
  return runs.reduce((sum, run) => sum + of(run), 0);
}

const shownRuns = 50;

/** What the last runs used, as far as the host knows. */
export function UsagePage() {
  const { rows, load } = useRuns();
  const [, go] = useLocation();
  const runs = useMemo(
    () =>
      Object.values(rows)
        .filter((run) => used(run, "modelCalls") > 0 || run.inputTokens)
        .sort((a, b) => b.acceptedAtMs - a.acceptedAtMs),
    [rows],
  );
  const figures: readonly (readonly [string, string])[] = [
    ["Runs", formatCount(runs.length)],
    ["Model calls", formatCount(total(runs, (run) => used(run, "modelCalls")))],
    ["Tool calls", formatCount(total(runs, (run) => used(run, "toolCalls")))],
    ["Tokens in", formatCount(total(runs, (run) => run.inputTokens ?? 0))],
    ["Tokens out", formatCount(total(runs, (run) => run.outputTokens ?? 0))],
  ];
  return (
    <Page
      title="Usage"
      lead="What the last 100 runs used. Money is not counted yet; your provider's own page has the bill."
    >
      {load.is === "failed" ? (
        <Notice
          tone="failed"
          title="Usage cannot be loaded right now"
          actions={<Button onClick={() => loadRuns()}>Try again</Button>}
        >
          {load.sentence}
        </Notice>
      ) : null}
      {load.is === "loading" ? <Loading what="usage" /> : null}
      {load.is === "yes" && runs.length === 0 ? (
        <Empty
          icon={<ChartColumn />}
          title="Nothing was used yet"
          action={<Button onClick={() => go("/chat")}>Open chat</Button>}
        >
          Calls, tokens and working time of each run will be listed here.
        </Empty>
      ) : null}
      {runs.length > 0 ? (
        <>
          <dl className={styles.figures}>
            {figures.map(([name, value]) => (
              <div key={name} className={styles.figure}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
          <Section title="Run by run">
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
            <section className={styles.scroll} tabIndex={0} aria-label="Usage, run by run">
              <table className={styles.table}>
                <thead>
                  <tr>
                    <th scope="col">Run</th>
                    <th scope="col">Model</th>
                    <th scope="col">Calls</th>
                    <th scope="col">Tools</th>
                    <th scope="col">In</th>
                    <th scope="col">Out</th>
                    <th scope="col">Worked</th>
                    <th scope="col">When</th>
                  </tr>
                </thead>
                <tbody>
                  {runs.slice(0, shownRuns).map((run) => (
                    <tr key={run.runId}>
                      <th scope="row" title={run.title}>
                        {run.title}
                      </th>
                      <td>{run.model ?? ""}</td>
                      <td>{formatCount(used(run, "modelCalls"))}</td>
                      <td>{formatCount(used(run, "toolCalls"))}</td>
                      <td>{formatCount(run.inputTokens ?? 0)}</td>
                      <td>{formatCount(run.outputTokens ?? 0)}</td>
                      <td>{formatDuration(used(run, "wallTime"))}</td>
                      <td>
                        <Time atMs={run.acceptedAtMs} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
          </Section>
        </>
      ) : null}
    </Page>
  );
}
