import { useMemo } from "react";
import type { PendingInput } from "@/gateway/protocol.gen";
import { useApprovals } from "@/state/approvals";
import { useRuns } from "@/state/runs";
import type { Outgoing, Transcript } from "@/state/transcript";
import { liveRows, type Row, storedRows } from "./rows";

export type Item =
  | Row
  | { kind: "outgoing"; id: string; sent: Outgoing }
  | { kind: "queued"; id: string; input: PendingInput };

/** Everything the conversation shows, in order. What is stored is worked out only when it changes, not with each word. */
export function useItems(transcript: Transcript): Item[] {
  const approvals = useApprovals((state) => state.approvals);
  const questions = useApprovals((state) => state.questions);
  const runs = useRuns((state) => state.rows);
  const { tools, outgoing, pending } = transcript;
  const messages = useMemo(() => kept(transcript.messages, outgoing), [transcript.messages, outgoing]);
  const stored = useMemo(
    () => storedRows({ messages, tools }, { approvals, questions, runs }),
    [messages, tools, approvals, questions, runs],
  );
  return useMemo(() => {
    const sending = outgoing.map((sent): Item => ({ kind: "outgoing", id: `out:${sent.runId}`, sent }));
    const queued = pending.map((input): Item => ({ kind: "queued", id: `queued:${input.id}`, input }));
    return [...stored, ...sending, ...liveRows(transcript), ...queued];
  }, [stored, outgoing, pending, transcript]);
}

// While an edited message is on its way, the one it replaces and what followed are not shown any more.
function kept(messages: Transcript["messages"], outgoing: readonly Outgoing[]): Transcript["messages"] {
  const replaced = outgoing.find((sent) => sent.replaces && sent.state !== "refused")?.replaces;
  const from = replaced ? messages.findIndex((message) => message.id === replaced) : -1;
  return from < 0 ? messages : messages.slice(0, from);
}
