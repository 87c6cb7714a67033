import { type EventFrame, isObject } from "@/gateway/frames";
import type * as p from "@/gateway/protocol.gen";

/** What an event is, with its payload. */
export type Incoming =
  | { kind: "chat"; event: p.ChatEvent }
  | { kind: "agent"; event: p.AgentEvent }
  | { kind: "message"; event: p.SessionMessageEvent }
  | { kind: "session"; event: p.SessionsChangedEvent }
  | { kind: "approval"; approval: p.Approval }
  | { kind: "question"; question: p.Question }
  | { kind: "run"; run: p.Run }
  | { kind: "receipt"; receipt: p.Receipt }
  | { kind: "settings"; settings: p.Settings }
  | { kind: "health"; health: p.Health }
  | { kind: "change"; event: p.ChangeEvent }
  | { kind: "shutdown"; event: p.ShutdownEvent }
  | { kind: "nothing" };

type Payload = Record<string, unknown>;

const nothing: Incoming = { kind: "nothing" };

function has(payload: Payload, ...names: string[]): boolean {
  return names.every((name) => typeof payload[name] === "string");
}

/**
 * Sorts a frame. Its payload is believed to be what the generated types say once the fields that decide where it goes
 * have been looked at; a frame without them is nothing, like one whose name is not known.
 */
export function classify(frame: EventFrame): Incoming {
  const payload = frame.payload;
  if (!isObject(payload)) return nothing;
  switch (frame.event) {
    case "chat":
      return has(payload, "runId", "sessionKey", "state")
        ? { kind: "chat", event: payload as unknown as p.ChatEvent }
        : nothing;
    case "agent":
      return has(payload, "runId", "stream") && isObject(payload.data)
        ? { kind: "agent", event: payload as unknown as p.AgentEvent }
        : nothing;
    case "session.message":
      return has(payload, "sessionKey") && isObject(payload.message)
        ? { kind: "message", event: payload as unknown as p.SessionMessageEvent }
        : nothing;
    case "sessions.changed":
      return has(payload, "sessionKey", "reason")
        ? { kind: "session", event: payload as unknown as p.SessionsChangedEvent }
        : nothing;
    case "exec.approval.requested":
    case "exec.approval.resolved":
      return approvalOf(payload);
    case "question.requested":
    case "question.resolved":
      return isObject(payload.question)
        ? { kind: "question", question: payload.question as unknown as p.Question }
        : nothing;
    case "run":
      return isObject(payload.run) ? { kind: "run", run: payload.run as unknown as p.Run } : nothing;
    case "receipt":
      return isObject(payload.receipt)
        ? { kind: "receipt", receipt: payload.receipt as unknown as p.Receipt }
        : nothing;
    case "settings":
      return isObject(payload.settings)
        ? { kind: "settings", settings: payload.settings as unknown as p.Settings }
        : nothing;
    case "health":
      return { kind: "health", health: payload as unknown as p.Health };
    case "change":
      return typeof payload.seq === "number" ? { kind: "change", event: payload as unknown as p.ChangeEvent } : nothing;
    case "shutdown":
      return { kind: "shutdown", event: payload as unknown as p.ShutdownEvent };
    default:
      return nothing;
  }
}

// A request carries the approval itself; a resolution carries it beside the fields that v4 clients read.
function approvalOf(payload: Payload): Incoming {
  const inside = isObject(payload.approval) ? payload.approval : payload;
  return has(inside, "id", "status") && isObject(inside.request)
    ? { kind: "approval", approval: inside as unknown as p.Approval }
    : nothing;
}
