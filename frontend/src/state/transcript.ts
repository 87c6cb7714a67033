import type { ChatHistory, Message, PendingInput, ToolData } from "@/gateway/protocol.gen";
import type { PickedFile } from "@/platform/files";
import { type Load, loaded, notLoaded } from "./load";

/** A reply while it grows. It is never stored; the stored message replaces it. */
export interface LiveReply {
  runId: string;
  text: string;
  thinking: string;
  /** What the run is doing, in words, when it says so. */
  status: string;
  retryAtMs: number | undefined;
}

/** A tool call as it was seen happening, with its output so far. */
export interface LiveTool {
  runId: string;
  callId: string;
  name: string;
  args: unknown;
  output: string;
  isError: boolean;
  finished: boolean;
  startedAtMs: number;
  receiptId: string | undefined;
  sentence: string | undefined;
}

/** A message on its way: not yet in the stored transcript. */
export interface Outgoing {
  runId: string;
  text: string;
  attachments: readonly PickedFile[];
  replaces: string | undefined;
  sentAtMs: number;
  state: "sending" | "accepted" | "refused";
  sentence: string;
}

export interface Transcript {
  load: Load;
  messages: readonly Message[];
  hasMore: boolean;
  loadingOlder: boolean;
  pending: readonly PendingInput[];
  live: LiveReply | undefined;
  tools: Readonly<Record<string, LiveTool>>;
  outgoing: readonly Outgoing[];
}

export const emptyTranscript: Transcript = {
  load: notLoaded,
  messages: [],
  hasMore: false,
  loadingOlder: false,
  pending: [],
  live: undefined,
  tools: {},
  outgoing: [],
};

// Enough to follow a command; the whole output is in the receipt and the stored result.
const liveOutputLimit = 200_000;

function merge(before: readonly Message[], incoming: readonly Message[]): readonly Message[] {
  if (incoming.length === 1 && before.length > 0) {
    const [message] = incoming;
    const last = before[before.length - 1];
    if (message && last && message.seq > last.seq) return [...before, message];
  }
  const bySeq = new Map(before.map((message) => [message.seq, message]));
  for (const message of incoming) bySeq.set(message.seq, message);
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
}

/** The newest page of a history, as fetched. What is being sent stays; what only streamed is replaced. */
export function withHistory(before: Transcript, history: ChatHistory): Transcript {
  const fresh = history.messages ?? [];
  const first = fresh[0]?.seq ?? Number.POSITIVE_INFINITY;
  // Older pages that were scrolled to stay, as long as they join what is fresh.
  const joins = before.messages.some((message) => message.seq >= first);
  const older = joins && history.hasMore ? before.messages.filter((message) => message.seq < first) : [];
  const inFlight = history.inFlightRun;
  const liveBefore = before.live && before.live.runId === inFlight?.runId ? before.live : undefined;
  const messages = [...older, ...fresh];
  return {
    ...before,
    load: loaded,
    messages,
    hasMore: older.length > 0 ? before.hasMore : history.hasMore,
    pending: history.pendingInputs?.items ?? [],
    live: inFlight
      ? {
          runId: inFlight.runId,
          text: inFlight.text,
          thinking: inFlight.thinking ?? "",
          status: liveBefore?.status ?? "",
          retryAtMs: liveBefore?.retryAtMs,
        }
      : undefined,
    tools: unstoredTools(before, messages),
    outgoing: before.outgoing.filter((sent) => !arrived(messages, history.pendingInputs?.items ?? [], sent.runId)),
  };
}

/** Reports whether the message that a run answers is held: stored, waiting, or on its way from here. */
export function holdsInput(transcript: Transcript, runId: string): boolean {
  return (
    transcript.outgoing.some((sent) => sent.runId === runId) || arrived(transcript.messages, transcript.pending, runId)
  );
}

function arrived(messages: readonly Message[], pending: readonly PendingInput[], runId: string): boolean {
  return (
    messages.some((message) => message.role === "user" && message.runId === runId) ||
    pending.some((input) => input.runId === runId)
  );
}

function withoutTools(tools: Transcript["tools"], gone: (tool: LiveTool) => boolean): Transcript["tools"] {
  const kept = Object.entries(tools).filter(([, tool]) => !gone(tool));
  return kept.length === Object.keys(tools).length ? tools : Object.fromEntries(kept);
}

// Calls whose end is not among the messages, of runs that are still part of the conversation.
function unstoredTools(before: Transcript, messages: readonly Message[]): Transcript["tools"] {
  const stored = new Set(messages.map((message) => message.toolCallId));
  const runs = new Set(messages.map((message) => message.runId));
  return withoutTools(before.tools, (tool) => stored.has(tool.callId) || !runs.has(tool.runId));
}

/** An older page, put before what is there. */
export function withOlder(before: Transcript, history: ChatHistory): Transcript {
  return {
    ...before,
    messages: merge(before.messages, history.messages ?? []),
    hasMore: history.hasMore,
    loadingOlder: false,
  };
}

/**
 * A stored message; prevSeq is the one before it in the conversation, where the host said so. What is held between the
 * two was taken back by an edit, here or in another window, and goes with the calls that belonged to it.
 */
export function withMessage(before: Transcript, message: Message, prevSeq?: number): Transcript {
  const cut = cutBetween(before, prevSeq, message.seq);
  const messages = merge(cut.messages, [message]);
  if (message.role === "user" && message.runId) {
    const { runId } = message;
    return {
      ...cut,
      messages,
      outgoing: before.outgoing.filter((sent) => sent.runId !== runId),
      pending: before.pending.filter((input) => input.runId !== runId),
    };
  }
  if (message.role === "toolResult") {
    // The stored result says all that the live card said, and its output may be large.
    return { ...cut, messages, tools: withoutTools(cut.tools, (tool) => tool.callId === message.toolCallId) };
  }
  if (message.role === "assistant" && before.live?.runId === message.runId && before.live) {
    return { ...cut, messages, live: withoutStored(before.live, message) };
  }
  return { ...cut, messages };
}

function cutBetween(before: Transcript, prevSeq: number | undefined, seq: number): Transcript {
  if (prevSeq === undefined) return before;
  const gone = before.messages.filter((message) => message.seq > prevSeq && message.seq < seq);
  if (gone.length === 0) return before;
  const messages = before.messages.filter((message) => message.seq <= prevSeq || message.seq >= seq);
  const kept = new Set(messages.map((message) => message.runId));
  const runs = new Set(gone.map((message) => message.runId).filter((runId) => !kept.has(runId)));
  return { ...before, messages, tools: withoutTools(before.tools, (tool) => runs.has(tool.runId)) };
}

// The stored answer takes its text out of what streamed. The next answer may have begun already: its words stay.
function withoutStored(live: LiveReply, message: Message): LiveReply {
  const stored = { text: "", thinking: "" };
  for (const block of message.content ?? []) {
    if (block.type === "text") stored.text += block.text;
    if (block.type === "thinking") stored.thinking += block.thinking;
  }
  const rest = (streamed: string, kept: string): string =>
    streamed.startsWith(kept) ? streamed.slice(kept.length) : "";
  return { ...live, text: rest(live.text, stored.text), thinking: rest(live.thinking, stored.thinking) };
}

const noReply = (runId: string): LiveReply => ({ runId, text: "", thinking: "", status: "", retryAtMs: undefined });

function liveOf(before: Transcript, runId: string): LiveReply {
  return before.live?.runId === runId ? before.live : noReply(runId);
}

/** More text of a growing reply. */
export function withDelta(before: Transcript, runId: string, delta: string, replace: boolean): Transcript {
  const live = liveOf(before, runId);
  return { ...before, live: { ...live, text: replace ? delta : live.text + delta, retryAtMs: undefined } };
}

/** More of the model's reasoning. */
export function withThinking(before: Transcript, runId: string, delta: string): Transcript {
  const live = liveOf(before, runId);
  return { ...before, live: { ...live, thinking: live.thinking + delta } };
}

/** What the run says it does, or when it tries again. */
export function withStatus(
  before: Transcript,
  runId: string,
  status: string,
  retryAtMs: number | undefined,
): Transcript {
  return { ...before, live: { ...liveOf(before, runId), status, retryAtMs } };
}

/** The run streams no more. */
export function withoutLive(before: Transcript, runId: string): Transcript {
  return before.live?.runId === runId ? { ...before, live: undefined } : before;
}

// A step that arrives after the result it belongs to was stored is among the newest messages, if anywhere.
const lookedBack = 100;

/** A step of a tool call, unless its result is stored already. */
export function withTool(before: Transcript, runId: string, data: ToolData, tsMs: number): Transcript {
  if (before.messages.slice(-lookedBack).some((message) => message.toolCallId === data.toolCallId)) return before;
  const known = before.tools[data.toolCallId];
  const output =
    data.phase === "update"
      ? ((known?.output ?? "") + (data.output ?? "")).slice(-liveOutputLimit)
      : (data.output ?? known?.output ?? "");
  const tool: LiveTool = {
    runId,
    callId: data.toolCallId,
    name: data.name,
    args: data.args ?? known?.args,
    output,
    isError: data.isError ?? false,
    finished: data.phase === "result",
    startedAtMs: known?.startedAtMs ?? tsMs,
    receiptId: data.receiptId ?? known?.receiptId,
    sentence: data.sentence ?? known?.sentence,
  };
  return { ...before, tools: { ...before.tools, [tool.callId]: tool } };
}

/** A message that is being sent, or what became of it. */
export function withOutgoing(before: Transcript, sent: Outgoing): Transcript {
  const rest = before.outgoing.filter((each) => each.runId !== sent.runId);
  return { ...before, outgoing: [...rest, sent] };
}

/** Takes a refused message out, to put it back into the composer. */
export function withoutOutgoing(before: Transcript, runId: string): Transcript {
  return { ...before, outgoing: before.outgoing.filter((each) => each.runId !== runId) };
}
