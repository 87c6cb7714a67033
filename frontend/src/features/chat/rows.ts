import { type Ending, endingOf } from "@/cards/words";
import type { Approval, Message, Question, ReceiptHead, Run } from "@/gateway/protocol.gen";
import { hasEnded } from "@/state/runs";
import type { LiveTool, Transcript } from "@/state/transcript";

/** One tool call as it is shown: what was asked, how far it is, what came out. */
export interface ToolView {
  callId: string;
  name: string;
  args: unknown;
  /** How far it is, or how it ended: by its receipt, as on every other screen. */
  ending: Ending;
  output: string;
  receiptId: string | undefined;
  sentence: string | undefined;
  startedAtMs: number | undefined;
}

export type Row =
  | { kind: "user"; id: string; message: Message }
  | { kind: "text"; id: string; text: string; message: Message }
  | { kind: "thinking"; id: string; text: string; live: boolean; redacted: boolean }
  | { kind: "tool"; id: string; tool: ToolView; approval: Approval | undefined; question: Question | undefined }
  | {
      kind: "ended";
      id: string;
      how: "failed" | "stopped";
      sentence: string;
      needsModel: boolean;
      retry: Message | undefined;
    }
  | { kind: "live"; id: string; text: string };

/** What rows are made of, besides the transcript. */
export interface Around {
  approvals: Readonly<Record<string, Approval>>;
  questions: Readonly<Record<string, Question>>;
  runs: Readonly<Record<string, Run>>;
  heads: Readonly<Record<string, ReceiptHead>>;
}

export function textOf(message: Message): string {
  return (message.content ?? []).map((block) => (block.type === "text" ? block.text : "")).join("");
}

function byCall<T extends { toolCallId: string }>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.toolCallId, item]));
}

/** The stored part of a conversation as rows, oldest first. What streams right now comes after it, from liveRows. */
export function storedRows(transcript: Pick<Transcript, "messages" | "tools">, around: Around): Row[] {
  const approvals = byCall(
    Object.values(around.approvals).map((approval) => ({ approval, toolCallId: approval.request.toolCallId })),
  );
  const questions = byCall(Object.values(around.questions));
  const results = new Map<string, Message>();
  for (const message of transcript.messages) if (message.toolCallId) results.set(message.toolCallId, message);

  const toolRow = (callId: string, name: string, args: unknown, runId: string | undefined): Row => {
    const approval = approvals.get(callId)?.approval;
    const question = questions.get(callId);
    const run = runId ? around.runs[runId] : undefined;
    const result = results.get(callId);
    const live = transcript.tools[callId];
    const head = around.heads[result?.receiptId ?? live?.receiptId ?? ""];
    const tool = toolView({ callId, name, args, result, live, head, approval, question, run });
    return { kind: "tool", id: `tool:${callId}`, tool, approval, question };
  };

  const rows: Row[] = [];
  const shown = new Set<string>();
  const { messages } = transcript;
  const { asked, last } = runsIn(messages);
  messages.forEach((message, at) => {
    if (message.role === "user") rows.push({ kind: "user", id: message.id, message });
    if (message.role === "assistant") {
      (message.content ?? []).forEach((block, part) => {
        const id = `${message.id}:${part}`;
        if (block.type === "text" && block.text.trim() !== "")
          rows.push({ kind: "text", id, text: block.text, message });
        if (block.type === "thinking") {
          rows.push({ kind: "thinking", id, text: block.thinking, live: false, redacted: block.redacted ?? false });
        }
        if (block.type === "toolCall") {
          shown.add(block.id);
          rows.push(toolRow(block.id, block.name, block.arguments, message.runId));
        }
      });
    }
    if (at === messages.length - 1) rows.push(...unstoredTools(transcript, shown, toolRow));
    const ofRun = runOf(message);
    if (last.get(ofRun) === at) {
      const ended = endedRow(message, message.runId ? around.runs[message.runId] : undefined, asked.get(ofRun));
      if (ended) rows.push(ended);
    }
  });
  if (messages.length === 0) rows.push(...unstoredTools(transcript, shown, toolRow));
  return rows;
}

// What a message belongs to; one without a run stands alone.
function runOf(message: Message): string {
  return message.runId ?? message.id;
}

// A message that waited and was stopped stands between those of the run that was at work, so a run's messages are not
// always in one piece.
function runsIn(messages: readonly Message[]): { asked: Map<string, Message>; last: Map<string, number> } {
  const asked = new Map<string, Message>();
  const last = new Map<string, number>();
  messages.forEach((message, at) => {
    if (message.role === "user") asked.set(runOf(message), message);
    last.set(runOf(message), at);
  });
  return { asked, last };
}

// Calls that were seen starting before the message that holds them was stored.
function unstoredTools(
  transcript: Pick<Transcript, "tools">,
  shown: ReadonlySet<string>,
  toolRow: (callId: string, name: string, args: unknown, runId: string) => Row,
): Row[] {
  return Object.values(transcript.tools)
    .filter((tool) => !shown.has(tool.callId))
    .map((tool) => toolRow(tool.callId, tool.name, tool.args, tool.runId));
}

interface ToolFacts {
  callId: string;
  name: string;
  args: unknown;
  result: Message | undefined;
  live: LiveTool | undefined;
  head: ReceiptHead | undefined;
  approval: Approval | undefined;
  question: Question | undefined;
  run: Run | undefined;
}

function toolView(facts: ToolFacts): ToolView {
  const { callId, name, args, result, live, head } = facts;
  return {
    callId,
    name,
    args: args ?? live?.args,
    ending: toolEnding(facts),
    output: result ? textOf(result) : (live?.output ?? ""),
    receiptId: result?.receiptId ?? head?.id,
    sentence: head?.sentence,
    startedAtMs: live?.startedAtMs,
  };
}

const standing = {
  denied: { kind: "denied", word: "Denied" },
  needs: { kind: "needs", word: "Needs you" },
  unknown: { kind: "unknown", word: "Unknown" },
  waiting: { kind: "waiting", word: "Waiting" },
  working: { kind: "working", word: "Working" },
  done: { kind: "done", word: "Done" },
  not: { kind: "stopped", word: "Not done" },
} as const satisfies Record<string, Ending>;

function toolEnding({ result, live, head, approval, question, run }: ToolFacts): Ending {
  if (head) return endingOf(head);
  if (approval?.status === "denied") return standing.denied;
  // What has no receipt was never begun: arguments that made no sense, or a run that ended before.
  if (result) return result.isError ? standing.not : standing.done;
  if (approval?.status === "pending" || (question && question.resolvedAtMs === undefined)) return standing.needs;
  if (run?.state === "parked" && run.parkReason === "unknown")
    return isUnknown(run, approval, live) ? standing.unknown : standing.waiting;
  if (run && hasEnded(run)) return standing.not;
  return live ? standing.working : standing.waiting;
}

// A call that was allowed says by its effect whether it is the one nobody knows about; one seen starting may be it too.
function isUnknown(run: Run, approval: Approval | undefined, live: LiveTool | undefined): boolean {
  const unknown = run.unknownEffectIds ?? [];
  if (approval)
    return unknown.length === 0 ? approval.status === "allowed" : unknown.includes(approval.request.effectId);
  return live !== undefined;
}

// Says how a run ended when it did not end well. Its own record knows best; the message alone must do without it.
function endedRow(last: Message, run: Run | undefined, asked: Message | undefined): Row | undefined {
  const id = `ended:${last.runId ?? last.id}`;
  const failed = run ? run.state === "failed" : last.stopReason === "error" || Boolean(last.errorMessage);
  if (failed) {
    const sentence = run?.errorMessage || last.errorMessage || "The model did not answer. Nothing was lost.";
    const needsModel = run?.errorKind === "auth" || run?.errorKind === "not_found";
    return { kind: "ended", id, how: "failed", sentence, needsModel, retry: asked };
  }
  const stopped = run ? run.state === "stopped" : last.stopReason === "aborted";
  const neverBegan = last.role === "user" && last.stopReason === "aborted";
  return stopped
    ? {
        kind: "ended",
        id,
        how: "stopped",
        sentence: neverBegan
          ? "You stopped this before it began. Nothing was done."
          : "You stopped this. What was done before stays done.",
        needsModel: false,
        retry: asked,
      }
    : undefined;
}

/** What streams right now: reasoning and text of the reply. */
export function liveRows(transcript: Pick<Transcript, "live">): Row[] {
  const { live } = transcript;
  if (!live) return [];
  const rows: Row[] = [];
  if (live.thinking)
    rows.push({
      kind: "thinking",
      id: `live-thinking:${live.runId}`,
      text: live.thinking,
      live: true,
      redacted: false,
    });
  if (live.text) rows.push({ kind: "live", id: `live:${live.runId}`, text: live.text });
  return rows;
}
