import { useMemo } from "react";
import type { PendingInput } from "@/gateway/protocol.gen";
import { useApprovals } from "@/state/approvals";
import { useReceipts } from "@/state/receipts";
import { useRuns, waitsBehind } from "@/state/runs";
import type { Outgoing, Transcript } from "@/state/transcript";
import { liveRows, type Row, storedRows } from "./rows";

export type Item =
  | Row
  | { kind: "outgoing"; id: string; sent: Outgoing }
  | { kind: "queued"; id: string; input: PendingInput };

/** Everything the conversation shows, in order. What is stored is worked out only when it changes, not with each word. */
export function useItems(sessionKey: string, transcript: Transcript): Item[] {
  const approvals = useApprovals((state) => state.approvals);
  const questions = useApprovals((state) => state.questions);
  const runs = useRuns((state) => state.rows);
  const heads = useReceipts((state) => state.heads);
  const { tools, outgoing, pending } = transcript;
  const messages = useMemo(
    () =>
      kept(
        transcript.messages,
        outgoing.filter((sent) => !waitsBehind(runs, sessionKey, sent.runId)),
      ),
    [transcript.messages, outgoing, runs, sessionKey],
  );
  const stored = useMemo(
    () => storedRows({ messages, tools }, { approvals, questions, runs, heads }),
    [messages, tools, approvals, questions, runs, heads],
  );
  return useMemo(() => {
    const sending = (which: readonly Outgoing[]): Item[] =>
      which.map((sent) => ({ kind: "outgoing", id: `out:${sent.runId}`, sent }));
    const queued = pending.map((input): Item => ({ kind: "queued", id: `queued:${input.id}`, input }));
    // A reply may begin to stream before its own message has come back; it never stands above it.
    const answered = outgoing.filter((sent) => sent.runId === transcript.live?.runId);
    const others = outgoing.filter((sent) => sent.runId !== transcript.live?.runId);
    return [...stored, ...sending(answered), ...liveRows(transcript), ...queued, ...sending(others)];
  }, [stored, outgoing, pending, transcript]);
}

// While an edited message is on its way, the one it replaces and what followed are not shown any more. One that waits
// behind another run has replaced nothing yet.
function kept(messages: Transcript["messages"], outgoing: readonly Outgoing[]): Transcript["messages"] {
  const replaced = outgoing.find((sent) => sent.replaces && sent.state !== "refused")?.replaces;
  const from = replaced ? messages.findIndex((message) => message.id === replaced) : -1;
  return from < 0 ? messages : messages.slice(0, from);
}
