import { approval, call, main, message, question, receipt, result, run, session, text } from "@gallery/fixtures";
import { StandInHost } from "@gallery/host";
import { resetStores } from "@gallery/reset";
import { beforeEach, describe, expect, it } from "vitest";
import { CallError } from "@/gateway/calls";
import { offeredDecisions, useApprovals } from "./approvals";
import { openChat, sendMessage, useChats } from "./chats";
import { bindCaller } from "./link";
import { loaded } from "./load";
import { needsOf } from "./needs";
import { anyReceipt, loadReceipts, putReceipt, useReceipts } from "./receipts";
import { openRunOf, putRuns, resendStops, stopRun, useRuns, waitingCount, waitsBehind } from "./runs";
import { listedSessions, sessionTitle, withSession } from "./sessions";
import {
  emptyTranscript,
  type Transcript,
  withDelta,
  withHistory,
  withMessage,
  withOlder,
  withoutLive,
  withTool,
} from "./transcript";

beforeEach(resetStores);

const history = (over: object = {}) => ({
  sessionKey: main,
  sessionId: "s",
  messages: [],
  pendingInputs: { items: [], total: 0 },
  hasMore: false,
  totalMessages: 0,
  lastSeq: 0,
  ...over,
});

describe("a transcript", () => {
  it("grows by deltas, and the stored message takes the place of what streamed", () => {
    let state: Transcript = withDelta(withDelta(emptyTranscript, "r", "Hel", false), "r", "lo", false);
    expect(state.live?.text).toBe("Hello");
    state = withDelta(state, "r", "Hi", true);
    expect(state.live?.text).toBe("Hi");
    state = withMessage(state, message("assistant", [text("Hi")], { runId: "r" }));
    expect(state.live?.text).toBe("");
    expect(withoutLive(state, "r").live).toBeUndefined();
  });

  it("takes a message once, however often and in whatever order it comes", () => {
    const [a, b] = [message("user", [text("a")]), message("user", [text("b")])];
    const state = [b, a, a, b].reduce((before, each) => withMessage(before, each), emptyTranscript);
    expect(state.messages.map((each) => each.id)).toEqual([a.id, b.id]);
  });

  it("shows what is being sent until it is stored, and drops what an edit replaces", () => {
    const [first, reply] = [message("user", [text("one")]), message("assistant", [text("1")])];
    const state: Transcript = {
      ...emptyTranscript,
      messages: [first, reply],
      outgoing: [
        { runId: "r2", text: "uno", attachments: [], replaces: first.id, sentAtMs: 1, state: "accepted", sentence: "" },
      ],
    };
    const after = withMessage(state, message("user", [text("uno")], { runId: "r2" }), 0);
    expect(after.outgoing).toEqual([]);
    expect(after.messages.map((each) => each.content)).toEqual([[text("uno")]]);
  });

  it("is after an edit what a reload shows, also in a window that did not send it and with calls that were cut", () => {
    const kept = message("user", [text("hello")], { runId: "r0" });
    const asked = message("user", [text("run sleep 300")], { runId: "r1" });
    const called = message("assistant", [call("c", "exec", { argv: ["sleep", "300"] })], { runId: "r1" });
    let state: Transcript = { ...emptyTranscript, load: loaded, messages: [kept, asked, called] };
    state = withTool(state, "r1", { phase: "start", toolCallId: "c", name: "exec", args: {} }, 5);
    expect(Object.keys(state.tools)).toEqual(["c"]);
    const edited = message("user", [text("run sleep 1")], { runId: "r2" });
    state = withMessage(state, edited, kept.seq);
    const reloaded = withHistory(emptyTranscript, history({ messages: [kept, edited] }));
    expect(state).toEqual(reloaded);
    // The stored result of a call that was taken back may come late; it does not bring the call back.
    expect(withMessage(state, message("assistant", [text("ok")], { runId: "r2" }), edited.seq).tools).toEqual({});
  });

  it("keeps the calls of a run that is at work when a message that waited is stopped", () => {
    const asked = message("user", [text("run sleep 300")], { runId: "r1" });
    let state: Transcript = { ...emptyTranscript, messages: [asked] };
    state = withTool(state, "r1", { phase: "start", toolCallId: "c", name: "exec", args: {} }, 5);
    state = withMessage(state, message("user", [text("later")], { runId: "r2", stopReason: "aborted" }), asked.seq);
    expect(state.messages).toHaveLength(2);
    expect(Object.keys(state.tools)).toEqual(["c"]);
  });

  it("keeps older pages that join a fresh one, and no others", () => {
    const [a, b, c, d] = [0, 1, 2, 3].map(() => message("user", [text("x")]));
    if (!a || !b || !c || !d) throw new Error("fixtures");
    const paged = withOlder({ ...emptyTranscript, messages: [c], hasMore: true }, history({ messages: [a, b] }));
    expect(paged.messages).toEqual([a, b, c]);
    expect(withHistory(paged, history({ messages: [c, d], hasMore: true })).messages).toEqual([a, b, c, d]);
    expect(
      withHistory({ ...emptyTranscript, messages: [a] }, history({ messages: [c, d], hasMore: true })).messages,
    ).toEqual([c, d]);
  });

  it("resumes a reply from the text so far", () => {
    const state = withHistory(emptyTranscript, history({ inFlightRun: { runId: "r", text: "So far" } }));
    expect(withDelta(state, "r", " and on", false).live?.text).toBe("So far and on");
  });

  it("collects a tool's output and forgets it once its result is stored", () => {
    let state = withTool(
      emptyTranscript,
      "r",
      { phase: "start", toolCallId: "c", name: "exec", args: { argv: ["ls"] } },
      5,
    );
    state = withTool(state, "r", { phase: "update", toolCallId: "c", name: "exec", output: "a\n" }, 6);
    state = withTool(state, "r", { phase: "update", toolCallId: "c", name: "exec", output: "b\n" }, 7);
    expect(state.tools.c).toMatchObject({ output: "a\nb\n", finished: false, startedAtMs: 5, args: { argv: ["ls"] } });
    expect(
      withHistory(
        state,
        history({ messages: [message("assistant", [call("c", "exec", {})]), result("c", "exec", "a\nb\n")] }),
      ).tools,
    ).toEqual({});
    const stored = withMessage(state, result("c", "exec", "a\nb\n", { runId: "r" }));
    expect(stored.tools).toEqual({});
    expect(withTool(stored, "r", { phase: "result", toolCallId: "c", name: "exec", output: "a\nb\n" }, 9)).toBe(stored);
  });
});

describe("sending", () => {
  it("goes again under the same key when the connection drops, and shows a refusal", async () => {
    let tries = 0;
    const host = new StandInHost({
      "chat.send": ({ idempotencyKey }) => {
        tries += 1;
        if (tries < 3) throw new CallError("UNAVAILABLE", "lost", undefined, true);
        return { runId: idempotencyKey, status: "started" };
      },
    });
    bindCaller(host);
    await sendMessage(main, "hello", [], undefined);
    const keys = host.calls.map((each) => (each.params as { idempotencyKey: string }).idempotencyKey);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(useChats.getState().bySession[main]?.outgoing[0]?.state).toBe("accepted");

    bindCaller(
      new StandInHost({
        "chat.send": () => {
          throw new CallError("INVALID_REQUEST", "Too long.");
        },
      }),
    );
    await sendMessage(main, "again", [], undefined);
    expect(useChats.getState().bySession[main]?.outgoing[1]).toMatchObject({
      state: "refused",
      sentence: "Too long.",
      text: "again",
    });
  });

  it("says why a chat cannot be opened, and keeps what it had", async () => {
    bindCaller(new StandInHost());
    await openChat(main);
    expect(useChats.getState().bySession[main]?.load.is).toBe("failed");
    bindCaller(new StandInHost({ "chat.history": () => history({ messages: [message("user", [text("a")])] }) }));
    await openChat(main);
    bindCaller(new StandInHost());
    await openChat(main);
    expect(useChats.getState().bySession[main]).toMatchObject({ load: { is: "yes" } });
    expect(useChats.getState().bySession[main]?.messages).toHaveLength(1);
  });
});

describe("Stop", () => {
  it("stays pending while the connection is lost, goes again after, and ends when the run has", async () => {
    putRuns([run()]);
    bindCaller(
      new StandInHost({
        "chat.abort": () => {
          throw new CallError("UNAVAILABLE", "lost", undefined, true);
        },
      }),
    );
    await stopRun(run());
    expect(useRuns.getState().stopping).toEqual({ "run-2": main });
    const host = new StandInHost({
      "chat.abort": () => ({ ok: true, aborted: true, runIds: ["run-2"] }),
      "runs.get": () => run({ version: 2, stopping: true }),
    });
    bindCaller(host);
    await resendStops();
    expect(host.calls[0]).toEqual({ method: "chat.abort", params: { sessionKey: main, runId: "run-2" } });
    expect(useRuns.getState().stopping).toEqual({ "run-2": main });
    putRuns([run({ version: 3, state: "stopped" })]);
    expect(useRuns.getState().stopping).toEqual({});
  });

  it("is offered again when the host refuses it for good", async () => {
    bindCaller(
      new StandInHost({
        "chat.abort": () => {
          throw new CallError("FORBIDDEN", "No.");
        },
      }),
    );
    await expect(stopRun(run())).rejects.toThrow("No.");
    expect(useRuns.getState().stopping).toEqual({});
  });
});

describe("rows that come twice", () => {
  it("never go back to an older version", () => {
    putRuns([run({ version: 5, state: "done" }), run({ version: 4 })]);
    expect(useRuns.getState().rows["run-2"]?.state).toBe("done");
    const rows = withSession({ [main]: session({ version: 3, label: "new" }) }, session({ version: 2, label: "old" }));
    expect(rows[main]?.label).toBe("new");
  });

  it("show what works before what waits", () => {
    const rows = {
      a: run({ runId: "a", state: "queued" }),
      b: run({ runId: "b" }),
      c: run({ runId: "c", sessionKey: "other" }),
    };
    expect(openRunOf(rows, main)?.runId).toBe("b");
  });

  it("say which message waits behind another run of its chat", () => {
    const unbegun = { state: "queued", startedAtMs: undefined } as const;
    const rows = {
      first: run({ runId: "first", acceptedAtMs: 1 }),
      second: run({ runId: "second", acceptedAtMs: 2, ...unbegun }),
      third: run({ runId: "third", acceptedAtMs: 3, ...unbegun }),
      ended: run({ runId: "ended", acceptedAtMs: 0, state: "done" }),
    };
    expect(["first", "second", "third", "new"].filter((id) => waitsBehind(rows, main, id))).toEqual([
      "second",
      "third",
      "new",
    ]);
    expect(waitsBehind({ ended: rows.ended, second: rows.second }, main, "second")).toBe(false);
    expect(waitsBehind(rows, "agent:main:other", "new")).toBe(false);
    expect(waitingCount(rows, main)).toBe(2);
  });
});

describe("what needs the owner", () => {
  it("is one list, oldest first, each thing once", () => {
    const approvals = {
      ...useApprovals.getState(),
      approvals: { a: approval({ createdAtMs: 30 }), d: approval({ id: "d", status: "denied" }) },
      questions: { q: question({ createdAtMs: 10 }) },
    };
    const runs = {
      ...useRuns.getState(),
      rows: {
        p: run({ runId: "p", state: "parked", parkReason: "approval", parkedAtMs: 5 }),
        u: run({ runId: "u", state: "parked", parkReason: "unknown", parkedAtMs: 20 }),
      },
    };
    expect(needsOf(approvals, runs).map((need) => need.id)).toEqual(["q-1", "u", "a-1"]);
  });

  it("cannot be allowed when it is cut or decided", () => {
    expect(offeredDecisions(approval())).toEqual(["allow-once", "allow-session", "deny"]);
    expect(offeredDecisions(approval({}, { truncated: true }))).toEqual(["deny"]);
    expect(offeredDecisions(approval({ status: "allowed" }))).toEqual([]);
    expect(offeredDecisions(approval({}, { allowedDecisions: ["allow-always", "deny"] }))).toEqual(["deny"]);
  });
});

describe("receipts", () => {
  it("that arrive join the page only when they fit its filter", async () => {
    bindCaller(new StandInHost({ "receipts.list": () => ({ receipts: [receipt(1)], total: 1, hasMore: false }) }));
    await loadReceipts({ ...anyReceipt, tool: "write" });
    putReceipt(receipt(2));
    putReceipt(receipt(3, { tool: "exec" }));
    expect(useReceipts.getState().list.map((each) => each.seq)).toEqual([2, 1]);
    expect(useReceipts.getState().total).toBe(2);
  });

  it("an overtaken answer is dropped", async () => {
    let release: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    bindCaller(
      new StandInHost({
        "receipts.list": async ({ search }) => {
          if (search === "slow") await slow;
          return { receipts: [receipt(search === "slow" ? 1 : 2)], total: 1, hasMore: false };
        },
      }),
    );
    const first = loadReceipts({ ...anyReceipt, search: "slow" });
    await loadReceipts({ ...anyReceipt, search: "fast" });
    release();
    await first;
    expect(useReceipts.getState().list.map((each) => each.seq)).toEqual([2]);
  });

  it("in full are kept for the newest only, their heads for every transcript", () => {
    for (let at = 1; at <= 1500; at += 1) putReceipt(receipt(at));
    const { byId, heads } = useReceipts.getState();
    expect(Object.keys(byId).length).toBeLessThanOrEqual(1000);
    expect(byId["rcpt-1500"]).toBeDefined();
    expect(Object.keys(heads)).toHaveLength(1500);
  });
});

describe("sessions", () => {
  it("are listed pinned first, then newest, without the archived, found by their words", () => {
    const rows = {
      a: session({ key: "a", label: "Apples", updatedAt: 1, pinned: true }),
      b: session({ key: "b", label: "Bread", updatedAt: 9 }),
      c: session({ key: "c", label: "Cake", updatedAt: 10, archived: true }),
    };
    expect(listedSessions(rows, "", false).map((row) => row.key)).toEqual(["a", "b"]);
    expect(listedSessions(rows, "bre", false).map((row) => row.key)).toEqual(["b"]);
    expect(listedSessions(rows, "", true).map((row) => row.key)).toEqual(["c"]);
    expect(sessionTitle(undefined, main)).toBe("Main");
  });
});
