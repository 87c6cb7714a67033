import { create } from "zustand";
import { sentenceOf } from "@/gateway/calls";
import type { Approval, ApprovalRequest, Decision, Question } from "@/gateway/protocol.gen";
import { call } from "./link";
import { type Load, loaded, notLoaded, reloading } from "./load";

export interface ApprovalsState {
  approvals: Readonly<Record<string, Approval>>;
  questions: Readonly<Record<string, Question>>;
  load: Load;
}

/** Approvals and questions by id, pending and decided. */
export const useApprovals = create<ApprovalsState>(() => ({ approvals: {}, questions: {}, load: notLoaded }));

function newest<T extends { id: string; version: number }>(
  before: Readonly<Record<string, T>>,
  incoming: readonly T[],
) {
  const rows = { ...before };
  for (const row of incoming) {
    const known = rows[row.id];
    if (!known || known.version <= row.version) rows[row.id] = row;
  }
  return rows;
}

export function putApprovals(incoming: readonly Approval[]): void {
  useApprovals.setState((state) => ({ approvals: newest(state.approvals, incoming) }));
}

export function putQuestions(incoming: readonly Question[]): void {
  useApprovals.setState((state) => ({ questions: newest(state.questions, incoming) }));
}

/** Reports whether a question still waits for an answer. */
export function isOpenQuestion(question: Question): boolean {
  return question.state === "pending" || question.state === "open";
}

/** Pending approvals, oldest first. */
export function pendingApprovals(state: ApprovalsState): Approval[] {
  return Object.values(state.approvals)
    .filter((approval) => approval.status === "pending")
    .sort((a, b) => a.createdAtMs - b.createdAtMs);
}

/** Open questions, oldest first. */
export function openQuestions(state: ApprovalsState): Question[] {
  return Object.values(state.questions)
    .filter(isOpenQuestion)
    .sort((a, b) => a.createdAtMs - b.createdAtMs);
}

/** Reports whether a person does not see all of what would be done; nobody can allow what cannot be read whole. */
export function isCut(request: ApprovalRequest): boolean {
  return Boolean(request.truncated) || (request.scripts ?? []).some((script) => script.cut);
}

/** What a person may do with an approval: a cut plan, or one that was decided, cannot be allowed. */
export function offeredDecisions(approval: Approval): Decision[] {
  if (approval.status !== "pending") return [];
  const offered = approval.request.allowedDecisions ?? [];
  if (isCut(approval.request)) return ["deny"];
  return (["allow-once", "allow-session", "deny"] as const).filter(
    (decision) => decision === "deny" || offered.includes(decision),
  );
}

export async function loadApprovals(): Promise<void> {
  useApprovals.setState((state) => ({ load: reloading(state.load) }));
  try {
    const [approvals, questions] = await Promise.all([
      call("exec.approval.list", { all: true, limit: 500 }),
      call("question.list", { all: true }),
    ]);
    useApprovals.setState((state) => ({
      approvals: newest(state.approvals, approvals ?? []),
      questions: newest(state.questions, questions.questions ?? []),
      load: loaded,
    }));
  } catch (error) {
    useApprovals.setState((state) =>
      state.load.is === "yes" ? {} : { load: { is: "failed", sentence: sentenceOf(error) } },
    );
  }
}

/** Decides an approval, bound to the plan that was shown. */
export async function decide(approval: Approval, decision: Decision, reason: string): Promise<void> {
  const result = await call("exec.approval.resolve", {
    id: approval.id,
    decision,
    planHash: approval.request.planHash,
    ...(reason ? { reason } : {}),
  });
  putApprovals([result.approval]);
}

/** Answers a question by the labels of its options, by text, or both. */
export async function answer(question: Question, answers: readonly string[], text: string): Promise<void> {
  const result = await call("question.resolve", { id: question.id, answers: [...answers], ...(text ? { text } : {}) });
  putQuestions([result.question]);
}
