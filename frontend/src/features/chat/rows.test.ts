import { approval, call, conversation, message, result, run, text } from "@gallery/fixtures";
import { describe, expect, it } from "vitest";
import { liveRows, type Row, storedRows } from "./rows";

const nothing = { approvals: {}, questions: {}, runs: {} };
const tool = (rows: Row[], callId: string) => rows.find((row) => row.kind === "tool" && row.tool.callId === callId);

describe("rows", () => {
  it("are user, thinking, text and one tool card for each call with its result", () => {
    const rows = storedRows({ messages: conversation().slice(0, 5), tools: {} }, nothing);
    expect(rows.map((row) => row.kind)).toEqual(["user", "thinking", "text", "tool", "tool", "text"]);
    expect(tool(rows, "c1")).toMatchObject({ tool: { state: "done", receiptId: "r-c1" } });
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
    expect(tool(rows, "c3")).toMatchObject({ tool: { state } });
  });

  it("say of a result whether it failed", () => {
    const messages = [
      message("user", [text("x")]),
      message("assistant", [call("z", "exec", { argv: ["false"] })]),
      result("z", "exec", "status 1", { isError: true }),
    ];
    expect(tool(storedRows({ messages, tools: {} }, nothing), "z")).toMatchObject({
      tool: { state: "failed", output: "status 1" },
    });
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
    ).toMatchObject({ tool: { state: "working" } });
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
