import { create } from "zustand";
import { CallError } from "@/gateway/calls";
import type { Run, RunChoice } from "@/gateway/protocol.gen";
import { call } from "./link";
import { type Load, loaded, notLoaded, reloading } from "./load";

export interface RunsState {
  rows: Readonly<Record<string, Run>>;
  load: Load;
  /** Runs whose Stop was pressed and not yet confirmed, with their session. Sent again after a reconnect. */
  stopping: Readonly<Record<string, string>>;
}

/** Runs by id, as far as this window has heard of them. */
export const useRuns = create<RunsState>(() => ({ rows: {}, load: notLoaded, stopping: {} }));

/** Reports whether a run is over. */
export function hasEnded(run: Run): boolean {
  return run.state === "done" || run.state === "failed" || run.state === "stopped";
}

/** Adds or replaces runs, unless what is there is newer; an ended run needs no Stop any more. */
export function withRuns(before: RunsState, incoming: readonly Run[]): Pick<RunsState, "rows" | "stopping"> {
  const rows = { ...before.rows };
  const stopping = { ...before.stopping };
  for (const run of incoming) {
    const known = rows[run.runId];
    if (known && known.version > run.version) continue;
    rows[run.runId] = run;
    if (hasEnded(run)) delete stopping[run.runId];
  }
  return { rows, stopping };
}

export function putRuns(runs: readonly Run[]): void {
  useRuns.setState((state) => withRuns(state, runs));
}

/** The run that is under way in a session: what works or waits, else nothing. */
export function openRunOf(rows: RunsState["rows"], sessionKey: string): Run | undefined {
  const open = Object.values(rows).filter((run) => run.sessionKey === sessionKey && !hasEnded(run));
  const rank: Record<string, number> = { running: 0, parked: 1, queued: 2 };
  return open.sort((a, b) => (rank[a.state] ?? 3) - (rank[b.state] ?? 3) || a.acceptedAtMs - b.acceptedAtMs)[0];
}

/** Reports whether a run is accepted and has not begun: its message is not read by anyone yet. */
export function isUnbegun(run: Run): boolean {
  return run.state === "queued" && !run.startedAtMs;
}

/** Reports whether a message waits behind a run of its session; its own run may not be known here yet. */
export function waitsBehind(rows: RunsState["rows"], sessionKey: string, runId: string): boolean {
  const own = rows[runId];
  if (own && !isUnbegun(own)) return false;
  return Object.values(rows).some(
    (run) =>
      run.sessionKey === sessionKey &&
      run.runId !== runId &&
      !hasEnded(run) &&
      (!own || run.acceptedAtMs <= own.acceptedAtMs),
  );
}

/** How many messages of a session wait for their turn. */
export function waitingCount(rows: RunsState["rows"], sessionKey: string): number {
  return Object.values(rows).filter((run) => run.sessionKey === sessionKey && isUnbegun(run)).length;
}

/** The newest run of a session. */
export function lastRunOf(rows: RunsState["rows"], sessionKey: string): Run | undefined {
  return Object.values(rows)
    .filter((run) => run.sessionKey === sessionKey)
    .sort((a, b) => b.acceptedAtMs - a.acceptedAtMs)[0];
}

export async function loadRuns(): Promise<void> {
  useRuns.setState((state) => ({ load: reloading(state.load) }));
  try {
    const [open, recent] = await Promise.all([
      call("runs.list", { open: true, limit: 500 }),
      call("runs.list", { limit: 100 }),
    ]);
    useRuns.setState((state) => ({ ...withRuns(state, [...(recent.runs ?? []), ...(open.runs ?? [])]), load: loaded }));
  } catch (error) {
    const sentence = error instanceof Error ? error.message : "";
    useRuns.setState((state) => (state.load.is === "yes" ? {} : { load: { is: "failed", sentence } }));
  }
}

/** Asks the host to stop a run. The window says "stopping" until the host confirms, also across a lost connection. */
export async function stopRun(run: Pick<Run, "runId" | "sessionKey">): Promise<void> {
  useRuns.setState((state) => ({ stopping: { ...state.stopping, [run.runId]: run.sessionKey } }));
  await sendStop(run.runId, run.sessionKey);
}

/** Sends every unconfirmed Stop again. Called when the connection is back. */
export async function resendStops(): Promise<void> {
  const waiting = Object.entries(useRuns.getState().stopping);
  await Promise.all(waiting.map(([runId, sessionKey]) => sendStop(runId, sessionKey)));
}

async function sendStop(runId: string, sessionKey: string): Promise<void> {
  try {
    await call("chat.abort", { sessionKey, runId });
    // The run's own record says how it ended; it is asked for, since its event may have been lost.
    putRuns([await call("runs.get", { runId })]);
  } catch (error) {
    if (error instanceof CallError && error.lost) return;
    // Refused for good: the run is no longer being stopped, and the strip offers Stop again.
    useRuns.setState((state) => {
      const { [runId]: _gone, ...stopping } = state.stopping;
      return { stopping };
    });
    throw error;
  }
}

/** Decides about a parked run. */
export async function resumeRun(runId: string, choice: RunChoice, note: string): Promise<void> {
  putRuns([await call("runs.resume", { runId, choice, ...(note ? { note } : {}) })]);
}
