import type * as p from "@/gateway/protocol.gen";
import type { Incoming } from "./classify";

/** One thing to do to the stores. Data only, so that what an event means can be tested without any of them. */
export type Step =
  | { do: "putMessage"; session: string; message: p.Message; prevSeq: number | undefined }
  | { do: "delta"; session: string; runId: string; text: string; replace: boolean }
  | { do: "thinking"; session: string; runId: string; text: string }
  | { do: "status"; session: string; runId: string; text: string; retryAtMs: number | undefined }
  | { do: "endLive"; session: string; runId: string }
  | { do: "tool"; session: string; runId: string; data: p.ToolData; tsMs: number }
  | { do: "putSession"; row: p.SessionRow }
  | { do: "dropSession"; session: string }
  | { do: "reopen"; session: string }
  | { do: "putApproval"; approval: p.Approval }
  | { do: "putQuestion"; question: p.Question }
  | { do: "putRun"; run: p.Run }
  | { do: "putReceipt"; receipt: p.Receipt }
  | { do: "putSettings"; settings: p.Settings }
  | { do: "reloadSetup" }
  | { do: "putHealth"; health: p.Health }
  | { do: "sawChange"; seq: number }
  | { do: "shutdown"; reason: string }
  | { do: "announce"; text: string; final: boolean };

/** What the decision may look at. */
export interface World {
  /** The session that is on screen, if any. */
  openSession: string | undefined;
  /** The transcript each session had when it was last heard of. */
  transcripts: Readonly<Record<string, string>>;
  /** Whether the transcript of this run's session is held here without the message that the run answers. */
  isUnseen: (run: p.Run) => boolean;
}

const phaseWords: Readonly<Record<string, string>> = {
  preparing_workspace: "Preparing the workspace",
  preparing_context: "Gathering what was said",
  starting_model: "Asking the model",
  running_setup: "Setting up",
};

/** Says what an event means. Pure: the same event and world give the same steps. */
export function decide(incoming: Incoming, world: World): Step[] {
  switch (incoming.kind) {
    case "chat":
      return chatSteps(incoming.event, world);
    case "agent":
      return agentSteps(incoming.event);
    case "message":
      return [
        {
          do: "putMessage",
          session: incoming.event.sessionKey,
          message: incoming.event.message,
          prevSeq: incoming.event.prevSeq,
        },
      ];
    case "session":
      return sessionSteps(incoming.event, world);
    case "approval":
      return approvalSteps(incoming.approval);
    case "question":
      return [
        { do: "putQuestion", question: incoming.question },
        ...(incoming.question.resolvedAtMs ? [] : [say(`Needs you: ${incoming.question.text}`, true)]),
      ];
    case "run":
      return runSteps(incoming.run, world);
    case "receipt":
      return [{ do: "putReceipt", receipt: incoming.receipt }];
    case "settings":
      return [{ do: "putSettings", settings: incoming.settings }, { do: "reloadSetup" }];
    case "health":
      return [{ do: "putHealth", health: incoming.health }];
    case "change":
      return [{ do: "sawChange", seq: incoming.event.seq }];
    case "shutdown":
      return [{ do: "shutdown", reason: incoming.event.reason }];
    case "nothing":
      return [];
  }
}

function say(text: string, final: boolean): Step {
  return { do: "announce", text, final };
}

function chatSteps(event: p.ChatEvent, world: World): Step[] {
  const at = { session: event.sessionKey, runId: event.runId };
  const here = event.sessionKey === world.openSession;
  const message: Step[] = event.message
    ? [{ do: "putMessage", session: event.sessionKey, message: event.message, prevSeq: undefined }]
    : [];
  switch (event.state) {
    case "status":
      return [{ do: "status", ...at, text: phaseWords[event.phase ?? ""] ?? "", retryAtMs: undefined }];
    case "delta":
      return [
        { do: "delta", ...at, text: event.deltaText ?? "", replace: event.replace ?? false },
        ...(here ? [say("The reply is being written.", false)] : []),
      ];
    case "final":
      return [...message, { do: "endLive", ...at }, ...(here ? [say(finalWords(event), true)] : [])];
    case "aborted":
      return [...message, { do: "endLive", ...at }, ...(here ? [say("Stopped.", true)] : [])];
    case "error":
      return [
        ...message,
        { do: "endLive", ...at },
        ...(here ? [say(event.errorMessage ?? "The run failed.", true)] : []),
      ];
  }
}

function finalWords(event: p.ChatEvent): string {
  const text = (event.message?.content ?? [])
    .map((block) => (block.type === "text" ? block.text : ""))
    .join(" ")
    .trim();
  return text === "" ? "Done." : `Reply: ${text.slice(0, 400)}`;
}

function agentSteps(event: p.AgentEvent): Step[] {
  const session = event.sessionKey;
  if (!session) return [];
  const at = { session, runId: event.runId };
  switch (event.stream) {
    case "thinking":
      return [{ do: "thinking", ...at, text: event.data.delta }];
    case "tool":
      return [{ do: "tool", ...at, data: event.data, tsMs: event.ts }];
    case "run_status":
      return [
        {
          do: "status",
          ...at,
          text: event.data.text ?? phaseWords[event.data.phase] ?? "",
          retryAtMs: event.data.retryAtMs,
        },
      ];
    // The same text comes as chat deltas, and the run's own record tells its life.
    case "assistant":
    case "lifecycle":
      return [];
  }
}

function sessionSteps(event: p.SessionsChangedEvent, world: World): Step[] {
  if (event.reason === "delete") return [{ do: "dropSession", session: event.sessionKey }];
  const steps: Step[] = event.row ? [{ do: "putSession", row: event.row }] : [];
  // After a reset the transcript under the same key is another one.
  const before = world.transcripts[event.sessionKey];
  if (event.row && before !== undefined && before !== event.row.sessionId) {
    steps.push({ do: "reopen", session: event.sessionKey });
  }
  return steps;
}

function approvalSteps(approval: p.Approval): Step[] {
  const steps: Step[] = [{ do: "putApproval", approval }];
  if (approval.status === "pending") steps.push(say(`Needs you: ${approval.request.sentence}`, true));
  return steps;
}

function runSteps(run: p.Run, world: World): Step[] {
  const steps: Step[] = [{ do: "putRun", run }];
  // A message that was sent elsewhere waits its turn: its words come with the history only.
  if (run.state === "queued" && !run.startedAtMs && world.isUnseen(run)) {
    steps.push({ do: "reopen", session: run.sessionKey });
  }
  if (run.state === "done" || run.state === "failed" || run.state === "stopped" || run.state === "parked") {
    steps.push({ do: "endLive", session: run.sessionKey, runId: run.runId });
  }
  return steps;
}
