import { approval, main, message, question, receipt, run, session, text } from "@gallery/fixtures";
import { describe, expect, it } from "vitest";
import { EVENT_NAMES } from "@/gateway/protocol.gen";
import { classify } from "./classify";
import { decide, type Step } from "./decide";

const world = { openSession: main, transcripts: { [main]: "s-main" }, isUnseen: () => false };

function steps(event: string, payload: unknown, over: Partial<typeof world> = {}): Step[] {
  return decide(classify({ type: "event", event, payload }), { ...world, ...over });
}

describe("classifying", () => {
  it.each(["plugin.x", "terminal.data", ...EVENT_NAMES])("makes nothing of %s without what it needs", (event) => {
    for (const payload of [undefined, null, 1, "x", []])
      expect(classify({ type: "event", event, payload })).toEqual({ kind: "nothing" });
  });

  it("finds the approval in a request and in a resolution", () => {
    const asked = approval();
    expect(classify({ type: "event", event: "exec.approval.requested", payload: asked })).toMatchObject({
      kind: "approval",
      approval: { id: "a-1" },
    });
    expect(
      classify({ type: "event", event: "exec.approval.resolved", payload: { id: "a-1", ts: 1, approval: asked } }),
    ).toMatchObject({ kind: "approval", approval: { id: "a-1" } });
  });
});

describe("deciding", () => {
  it("is pure: the same event gives equal steps", () => {
    const payload = { runId: "r", sessionKey: main, seq: 1, state: "delta", deltaText: "hi" };
    expect(steps("chat", payload)).toEqual(steps("chat", payload));
  });

  it("appends a delta, or replaces the text", () => {
    expect(steps("chat", { runId: "r", sessionKey: main, seq: 1, state: "delta", deltaText: "hi" })[0]).toEqual({
      do: "delta",
      session: main,
      runId: "r",
      text: "hi",
      replace: false,
    });
    expect(
      steps("chat", { runId: "r", sessionKey: main, seq: 1, state: "delta", deltaText: "hi", replace: true })[0],
    ).toMatchObject({ replace: true });
  });

  it("ends the live text on final, aborted and error, and says so", () => {
    const reply = message("assistant", [text("Done it.")]);
    expect(steps("chat", { runId: "r", sessionKey: main, seq: 1, state: "final", message: reply })).toEqual([
      { do: "putMessage", session: main, message: reply },
      { do: "endLive", session: main, runId: "r" },
      { do: "announce", text: "Reply: Done it.", final: true },
    ]);
    expect(steps("chat", { runId: "r", sessionKey: main, seq: 1, state: "aborted" })).toContainEqual({
      do: "endLive",
      session: main,
      runId: "r",
    });
    expect(
      steps("chat", { runId: "r", sessionKey: main, seq: 1, state: "error", errorMessage: "No key." }),
    ).toContainEqual({ do: "announce", text: "No key.", final: true });
  });

  it("announces nothing of a chat that is not on screen", () => {
    const payload = { runId: "r", sessionKey: "agent:main:other", seq: 1, state: "delta", deltaText: "hi" };
    expect(steps("chat", payload).map((step) => step.do)).toEqual(["delta"]);
  });

  it("announces what needs the owner wherever it is", () => {
    expect(steps("exec.approval.requested", approval()).map((step) => step.do)).toEqual(["putApproval", "announce"]);
    expect(steps("question.requested", { question: question() }).map((step) => step.do)).toEqual([
      "putQuestion",
      "announce",
    ]);
  });

  it("drops a deleted session and reopens a reset one", () => {
    expect(steps("sessions.changed", { sessionKey: main, reason: "delete", ts: 1 })).toEqual([
      { do: "dropSession", session: main },
    ]);
    expect(
      steps("sessions.changed", { sessionKey: main, reason: "patch", ts: 1, row: session({ sessionId: "s-2" }) }).map(
        (step) => step.do,
      ),
    ).toEqual(["putSession", "reopen"]);
  });

  it("ends the live text when a run ends or parks", () => {
    expect(steps("run", { run: run({ state: "parked" }) }).map((step) => step.do)).toEqual(["putRun", "endLive"]);
    expect(steps("run", { run: run() }).map((step) => step.do)).toEqual(["putRun"]);
  });

  it("fetches the words of a message that was sent elsewhere and waits its turn", () => {
    const waiting = run({ state: "queued", startedAtMs: undefined });
    const unseen = { isUnseen: () => true };
    expect(steps("run", { run: waiting }, unseen)).toContainEqual({ do: "reopen", session: main });
    expect(steps("run", { run: waiting }).map((step) => step.do)).toEqual(["putRun"]);
    // One that goes on after a decision has its message in the transcript.
    expect(steps("run", { run: run({ state: "queued" }) }, unseen).map((step) => step.do)).toEqual(["putRun"]);
  });

  it("hands on which message stands before a new one", () => {
    const asked = message("user", [text("uno")]);
    expect(steps("session.message", { sessionKey: main, message: asked, messageSeq: asked.seq, prevSeq: 2 })).toEqual([
      { do: "putMessage", session: main, message: asked, prevSeq: 2 },
    ]);
  });

  it("keeps receipts, settings, health, changes and goodbyes", () => {
    expect(steps("receipt", { receipt: receipt(1) })[0]?.do).toBe("putReceipt");
    expect(steps("change", { seq: 4, kind: "run", key: "r", version: 1, atMs: 1 })).toEqual([
      { do: "sawChange", seq: 4 },
    ]);
    expect(steps("shutdown", { reason: "quit" })).toEqual([{ do: "shutdown", reason: "quit" }]);
    expect(steps("tick", { ts: 1 })).toEqual([]);
  });
});
