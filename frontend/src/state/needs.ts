import type { Approval, Question, Run } from "@/gateway/protocol.gen";
import { type ApprovalsState, openQuestions, pendingApprovals, useApprovals } from "./approvals";
import { type RunsState, useRuns } from "./runs";

/** One thing that waits for the owner. */
export type Need =
  | { kind: "approval"; id: string; atMs: number; approval: Approval }
  | { kind: "question"; id: string; atMs: number; question: Question }
  | { kind: "run"; id: string; atMs: number; run: Run };

/** Everything that waits for the owner, oldest first. A run that waits for a card already listed is not listed twice. */
export function needsOf(approvals: ApprovalsState, runs: RunsState): Need[] {
  const needs: Need[] = [
    ...pendingApprovals(approvals).map((approval) => ({
      kind: "approval" as const,
      id: approval.id,
      atMs: approval.createdAtMs,
      approval,
    })),
    ...openQuestions(approvals).map((question) => ({
      kind: "question" as const,
      id: question.id,
      atMs: question.createdAtMs,
      question,
    })),
    ...Object.values(runs.rows)
      .filter((run) => run.state === "parked" && waitsForOwner(run))
      .map((run) => ({ kind: "run" as const, id: run.runId, atMs: run.parkedAtMs ?? run.acceptedAtMs, run })),
  ];
  return needs.sort((a, b) => a.atMs - b.atMs);
}

/** Reports whether a parked run waits for a decision that has no card of its own but the run's. */
export function waitsForOwner(run: Run): boolean {
  return run.parkReason === "unknown" || run.parkReason === "ceiling" || run.parkReason === "recovery";
}

/** How many things wait for the owner. */
export function useNeedsCount(): number {
  const approvals = useApprovals();
  const runs = useRuns();
  return needsOf(approvals, runs).length;
}
