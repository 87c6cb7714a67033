import { approval, call, conversation, message, result, run, text } from "@gallery/fixtures";
import { describe, expect, it } from "vitest";
import type { ReceiptHead } from "@/gateway/protocol.gen";
import { liveRows, type Row, storedRows } from "./rows";

const nothing = { approvals: {}, questions: {}, runs: {}, heads: {} };
const head = (id: string, over: Partial<ReceiptHead> = {}): ReceiptHead => ({
  id,
  outcome: "done",
  sentence: "Did it.",
  ...over,
});
const tool = (rows: Row[], callId: string) => rows.find((row) => row.kind === "tool" && row.tool.callId === callId);

describe("rows", () => {
  it("are user, thinking, text and one tool card for each call with its result", () => {
    const rows = storedRows({ messages: conversation().slice(0, 5), tools: {} }, nothing);
    expect(rows.map((row) => row.kind)).toEqual(["user", "thinking", "text", "tool", "tool", "text"]);
    expect(tool(rows, "c1")).toMatchObject({ tool: { ending: { kind: "done", word: "Done" }, receiptId: "r-c1" } });
  });

  it.each([
    ["waits for the owner", { approvals: { a: approval() } }, "needs"],
    ["was denied", { approvals: { a: approval({ status: "denied" }) } }, "denied"],
    ["was stopped with its run", { runs: { "run-2": run({ state: "stopped" }) } }, "stopped"],
    [
      "is unknown",
      {
        approvals: { a: approval({ status: "allowed" }) },
        runs: { "run-2": run({ state: "parked", parkReason: "unknown", unknownEffectIds: ["e3"] }) },
      },
      "unknown",
    ],
    [
      "has its turn to come",
      {
        approvals: { a: approval({ status: "allowed" }) },
        runs: { "run-2": run({ state: "parked", parkReason: "unknown", unknownEffectIds: ["other"] }) },
      },
      "waiting",
    ],
  ] as const)("say of a call that it %s", (_words, around, state) => {
    const rows = storedRows({ messages: conversation(), tools: {} }, { ...nothing, ...around });
    expect(tool(rows, "c3")).toMatchObject({ tool: { ending: { kind: state } } });
  });

  it.each([
    ["was done", {}, false, "done", "Done"],
    ["reported an error", { exitStatus: 1 }, true, "ended", "Done, exit 1"],
    ["was ended by a signal", { signal: "SIGSEGV" }, true, "ended", "Done, SIGSEGV"],
    ["was stopped", { outcome: "stopped" }, true, "stopped", "Stopped"],
    ["failed", { outcome: "failed" }, true, "failed", "Failed"],
    ["was refused", { outcome: "denied" }, true, "denied", "Denied"],
    ["is unknown", { outcome: "unknown" }, true, "unknown", "Unknown"],
    ["was taken back", { undoneBy: "u" }, false, "undone", "Undone"],
  ] as const)("say of a call that %s what its receipt says", (_words, over, isError, kind, word) => {
    const messages = [
      message("user", [text("x")]),
      message("assistant", [call("z", "exec", { argv: ["false"] })]),
      result("z", "exec", "out", { isError }),
    ];
    const around = { ...nothing, heads: { "r-z": head("r-z", over) } };
    expect(tool(storedRows({ messages, tools: {} }, around), "z")).toMatchObject({
      tool: { ending: { kind, word }, sentence: "Did it.", output: "out" },
    });
  });

  it("say of a call without a receipt that it was not done", () => {
    const messages = [
      message("assistant", [call("z", "nonsense", {})]),
      message("toolResult", [text("There is no such tool.")], { toolCallId: "z", isError: true }),
    ];
    expect(tool(storedRows({ messages, tools: {} }, nothing), "z")).toMatchObject({
      tool: { ending: { kind: "stopped", word: "Not done" } },
    });
  });

  it("wait with a word for how a call ended until its receipt is here", () => {
    const live = {
      runId: "r",
      callId: "c",
      name: "exec",
      args: {},
      output: "",
      isError: true,
      finished: true,
      startedAtMs: 1,
      receiptId: "r-c",
      sentence: undefined,
    };
    const at = (heads: Record<string, ReceiptHead>) =>
      tool(storedRows({ messages: [message("user", [text("x")])], tools: { c: live } }, { ...nothing, heads }), "c");
    expect(at({})).toMatchObject({ tool: { ending: { kind: "working" } } });
    expect(at({ "r-c": head("r-c", { exitStatus: 2 }) })).toMatchObject({ tool: { ending: { word: "Done, exit 2" } } });
  });

  it("say once how a run ended whose messages another one stands between, and what to try again", () => {
    const asked = message("user", [text("long")], { runId: "r1" });
    const later = message("user", [text("later")], { runId: "r2", stopReason: "aborted" });
    const rows = storedRows(
      {
        messages: [
          asked,
          message("assistant", [call("c", "exec", {})], { runId: "r1" }),
          later,
          result("c", "exec", "stopped", { runId: "r1", isError: true }),
        ],
        tools: {},
      },
      {
        ...nothing,
        runs: { r1: run({ runId: "r1", state: "stopped" }), r2: run({ runId: "r2", state: "stopped" }) },
      },
    );
    expect(rows.map((row) => row.kind)).toEqual(["user", "tool", "user", "ended", "ended"]);
    expect(rows[3]).toMatchObject({
      id: "ended:r2",
      retry: later,
      sentence: expect.stringContaining("before it began"),
    });
    expect(rows[4]).toMatchObject({ id: "ended:r1", retry: asked });
  });

  it("say once how a run ended badly, with the message to try again", () => {
    const asked = message("user", [text("x")], { runId: "r9" });
    const rows = storedRows(
      { messages: [asked, message("assistant", [text("half")], { runId: "r9", errorMessage: "cut" })], tools: {} },
      {
        ...nothing,
        runs: { r9: run({ runId: "r9", state: "failed", errorMessage: "The stream was cut.", errorKind: "auth" }) },
      },
    );
    expect(rows.filter((row) => row.kind === "ended")).toEqual([
      { kind: "ended", id: "ended:r9", how: "failed", sentence: "The stream was cut.", needsModel: true, retry: asked },
    ]);
  });

  it("have identities that do not repeat", () => {
    const ids = storedRows({ messages: conversation(), tools: {} }, nothing).map((row) => row.id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("show a call that runs before its message is stored", () => {
    const live = {
      runId: "r",
      callId: "new",
      name: "exec",
      args: {},
      output: "",
      isError: false,
      finished: false,
      startedAtMs: 1,
      receiptId: undefined,
      sentence: undefined,
    };
    expect(
      tool(storedRows({ messages: [message("user", [text("x")])], tools: { new: live } }, nothing), "new"),
    ).toMatchObject({ tool: { ending: { kind: "working" } } });
  });

  it("end with what streams", () => {
    expect(
      liveRows({ live: { runId: "r", text: "Hel", thinking: "hm", status: "", retryAtMs: undefined } }).map(
        (row) => row.kind,
      ),
    ).toEqual(["thinking", "live"]);
    expect(liveRows({ live: undefined })).toEqual([]);
  });
});
