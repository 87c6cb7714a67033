import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CallError } from "./calls";
import { Client, type ClientEvents } from "./client";
import type { LineEvents } from "./transport";

/** A host at the other end of each line; what it is sent, it keeps. */
class Host {
  lines: { events: LineEvents; sent: Record<string, unknown>[]; closed: boolean }[] = [];

  dial = (events: LineEvents) => {
    const line = { events, sent: [] as Record<string, unknown>[], closed: false };
    this.lines.push(line);
    return {
      send: (frame: string) => void line.sent.push(JSON.parse(frame) as Record<string, unknown>),
      close: () => {
        line.closed = true;
      },
    };
  };

  get line() {
    const line = this.lines.at(-1);
    if (!line) throw new Error("no line");
    return line;
  }

  say(frame: object): void {
    this.line.events.onFrame(JSON.stringify(frame));
  }

  challenge(): void {
    this.say({ type: "event", event: "connect.challenge", payload: { nonce: "n", ts: 1, capabilities: [] } });
  }

  async welcome(lastSeq = 0): Promise<void> {
    this.challenge();
    const connect = this.line.sent.find((frame) => frame.method === "connect");
    this.say({
      type: "res",
      id: connect?.id,
      ok: true,
      payload: { type: "hello-ok", protocol: 4, changes: { lastSeq, complete: true } },
    });
    await vi.advanceTimersByTimeAsync(0);
  }
}

function setUp() {
  const host = new Host();
  const events: ClientEvents = { onReady: vi.fn(), onPhase: vi.fn(), onEvent: vi.fn(), onGap: vi.fn() };
  const client = new Client(host.dial, events);
  client.start();
  return { host, events, client };
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe("the handshake", () => {
  it("waits for the challenge, and then carries no credential", async () => {
    const { host } = setUp();
    expect(host.line.sent).toEqual([]);
    host.challenge();
    const connect = host.line.sent[0];
    expect(connect?.method).toBe("connect");
    expect(connect?.params).toMatchObject({
      minProtocol: 4,
      maxProtocol: 4,
      role: "operator",
      client: { id: "webchat-ui", mode: "ui" },
      caps: expect.arrayContaining(["tool-events", "countersign-changes"]),
    });
    expect(connect?.params).not.toHaveProperty("auth");
    expect(connect?.params).not.toHaveProperty("device");
  });

  it("asks a new line for what came after the last change", async () => {
    const { host, client } = setUp();
    await host.welcome(7);
    client.sawChange(9);
    host.line.events.onClose(1006, "");
    await vi.advanceTimersByTimeAsync(200);
    host.challenge();
    expect(host.line.sent[0]?.params).toMatchObject({ resume: { afterSeq: 9 } });
  });
});

describe("calls", () => {
  it("are paired with their answers, in any order", async () => {
    const { host, client } = setUp();
    await host.welcome();
    const first = client.call("runs.get", { runId: "a" });
    const second = client.call("runs.get", { runId: "b" });
    await vi.advanceTimersByTimeAsync(0);
    const [a, b] = host.line.sent.slice(-2);
    host.say({ type: "res", id: b?.id, ok: true, payload: { runId: "b" } });
    host.say({
      type: "res",
      id: a?.id,
      ok: false,
      error: { code: "INVALID_REQUEST", message: "No such run.", details: { code: "UNKNOWN_RUN" } },
    });
    await expect(second).resolves.toEqual({ runId: "b" });
    await expect(first).rejects.toMatchObject({
      message: "No such run.",
      details: { code: "UNKNOWN_RUN" },
      lost: false,
    });
  });

  it("made without a line wait for one", async () => {
    const { host, client } = setUp();
    const call = client.call("runs.get", { runId: "a" });
    await host.welcome();
    host.say({ type: "res", id: host.line.sent.at(-1)?.id, ok: true, payload: { runId: "a" } });
    await expect(call).resolves.toEqual({ runId: "a" });
  });

  it("say that nobody knows when the line ends before the answer", async () => {
    const { host, client } = setUp();
    await host.welcome();
    const call = client.call("runs.get", { runId: "a" });
    const ended = expect(call).rejects.toMatchObject({ lost: true });
    await vi.advanceTimersByTimeAsync(0);
    host.line.events.onClose(1006, "");
    await ended;
  });

  it("give up after the time that a person waits", async () => {
    const { client } = setUp();
    const ended = expect(client.call("runs.get", { runId: "a" })).rejects.toBeInstanceOf(CallError);
    await vi.advanceTimersByTimeAsync(15_000);
    await ended;
  });
});

describe("a lost line", () => {
  it("is tried again after 0.2 s, then longer, up to 5 s", async () => {
    const { host } = setUp();
    const waits: number[] = [];
    for (let attempt = 0; attempt < 7; attempt += 1) {
      const before = host.lines.length;
      host.line.events.onClose(1006, "");
      let waited = 0;
      while (host.lines.length === before) {
        await vi.advanceTimersByTimeAsync(100);
        waited += 100;
      }
      waits.push(waited);
    }
    expect(waits).toEqual([200, 400, 800, 1600, 3200, 5000, 5000]);
  });

  it("is noticed by silence, as after sleep", async () => {
    const { host, events } = setUp();
    await host.welcome();
    await vi.advanceTimersByTimeAsync(70_000);
    expect(events.onPhase).toHaveBeenLastCalledWith("lost", expect.any(String));
    expect(host.lines[0]?.closed).toBe(true);
  });
});

describe("events", () => {
  it("are handed on in order, and a gap is told once", async () => {
    const { host, events } = setUp();
    await host.welcome();
    for (const seq of [1, 2, 5, 6]) host.say({ type: "event", event: "tick", payload: { ts: 1 }, seq });
    expect(events.onEvent).toHaveBeenCalledTimes(4);
    expect(events.onGap).toHaveBeenCalledTimes(1);
  });

  it.each(["not json", "[]", "null", '{"type":"event"}', '{"type":"res","id":1,"ok":true}', '{"type":"other"}'])(
    "that are none are dropped: %s",
    async (text) => {
      const { host, events } = setUp();
      await host.welcome();
      host.line.events.onFrame(text);
      expect(events.onEvent).not.toHaveBeenCalled();
    },
  );
});
