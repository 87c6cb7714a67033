import { isObject } from "@/gateway/frames";
import type { CeilingName, EffectClass, Gauge, Outcome, ReceiptHead, Run } from "@/gateway/protocol.gen";
import { formatCount, formatDuration } from "@/ui/format";
import type { StatusKind } from "@/ui/Status";

/** What a ceiling limits, in words. */
export function ceilingWords(name: CeilingName | undefined): string {
  switch (name) {
    case "modelCalls":
      return "model calls";
    case "toolCalls":
      return "tool calls";
    case "wallTime":
      return "working time";
    default:
      return "one of its ceilings";
  }
}

/** How much of a ceiling is used: "3 of 40", "12 s of 10 min". */
export function gaugeWords(gauge: Gauge): string {
  if (gauge.name === "wallTime") {
    const used = gauge.used < 1000 ? "0 s" : formatDuration(gauge.used);
    return `${used} of ${formatDuration(gauge.limit)}`;
  }
  return `${formatCount(gauge.used)} of ${formatCount(gauge.limit)}`;
}

/** A run's state in words a person would use. */
export function runWords(run: Run): string {
  switch (run.state) {
    case "queued":
      return "Waiting its turn";
    case "running":
      return run.step || "Working";
    case "parked":
      return parkWords(run);
    case "done":
      return "Done";
    case "failed":
      return "Failed";
    case "stopped":
      return "Stopped";
  }
}

function parkWords(run: Run): string {
  switch (run.parkReason) {
    case "approval":
      return "Waits for your approval";
    case "question":
      return "Waits for your answer";
    case "child":
      return "Waits for another agent";
    case "unknown":
      return "Waits: one step is unknown";
    case "ceiling":
      return `Waits: the limit of ${ceilingWords(run.ceiling)} is reached`;
    case "recovery":
      return "Waits: interrupted too often";
    default:
      return "Waits";
  }
}

/** The mark that goes with a run's state. */
export function runStatus(run: Run): StatusKind {
  switch (run.state) {
    case "queued":
      return "waiting";
    case "running":
      return "working";
    case "parked":
      return run.parkReason === "unknown" ? "unknown" : run.parkReason === "child" ? "waiting" : "needs";
    case "done":
      return "done";
    case "failed":
      return "failed";
    case "stopped":
      return "stopped";
  }
}

export const outcomeWords: Readonly<Record<Outcome, { kind: StatusKind; word: string }>> = {
  done: { kind: "done", word: "Done" },
  failed: { kind: "failed", word: "Failed" },
  unknown: { kind: "unknown", word: "Unknown" },
  denied: { kind: "denied", word: "Denied" },
  stopped: { kind: "stopped", word: "Stopped" },
};

/** The mark and the word for how something ended; the same wherever it is shown. */
export interface Ending {
  kind: StatusKind;
  word: string;
}

/**
 * How an effect ended, from its receipt. A command that ran to its end and reported an error was done, but neither green
 * nor red would be true of it: many programs say "no match" or "there are differences" with their exit status.
 */
export function endingOf(head: Pick<ReceiptHead, "outcome" | "exitStatus" | "signal" | "undoneBy">): Ending {
  if (head.undoneBy) return { kind: "undone", word: "Undone" };
  if (head.outcome === "done" && head.signal) return { kind: "ended", word: `Done, ${head.signal}` };
  if (head.outcome === "done" && head.exitStatus) return { kind: "ended", word: `Done, exit ${head.exitStatus}` };
  return outcomeWords[head.outcome];
}

export const classWords: Readonly<Record<EffectClass, string>> = {
  read: "Read",
  write: "Changed a file",
  command: "Ran a command",
  ask: "Asked you",
  undo: "Took something back",
  send: "Sent something",
};

/** Where keys are kept, in words that go on from "in"; nothing while there is no place for them. */
export function keyPlace(state: string | undefined): string | undefined {
  switch (state) {
    case "keychain":
      return "the keychain of this computer";
    case "locked":
      return "the keychain of this computer, which is locked";
    case "file":
      return "a file under your passphrase";
    case "file-locked":
      return "a file under your passphrase, which is locked";
    case "session":
      return "memory, until you quit";
    default:
      return undefined;
  }
}

function textIn(args: unknown, ...names: string[]): string {
  if (!isObject(args)) return "";
  for (const name of names) {
    const value = args[name];
    if (typeof value === "string" && value !== "") return value;
    if (Array.isArray(value) && value.length > 0) return value.join(" ");
  }
  return "";
}

/** What a tool call is for, in one line, from its name and arguments. */
export function toolLine(name: string, args: unknown): { verb: string; object: string } {
  switch (name) {
    case "read":
      return { verb: "Read", object: textIn(args, "path") };
    case "list":
      return { verb: "List", object: textIn(args, "path") || "the workspace" };
    case "search":
      return { verb: "Search for", object: textIn(args, "pattern", "query", "text") };
    case "write":
      return { verb: "Write", object: textIn(args, "path") };
    case "edit":
      return { verb: "Edit", object: textIn(args, "path") };
    case "exec":
      return { verb: "Run", object: textIn(args, "argv", "command", "cmd") };
    case "ask":
      return { verb: "Ask you", object: textIn(args, "question", "text") };
    default:
      return { verb: name, object: textIn(args, "path", "query", "url", "name") };
  }
}
