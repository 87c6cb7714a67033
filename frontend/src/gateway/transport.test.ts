import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { WailsPage, WailsRuntime } from "@/platform/window";
import { dialWindow, socketAddress, startHeartbeat } from "./transport";

function setUp() {
  const listeners: Record<string, ((...data: unknown[]) => void)[]> = {};
  let opened: (id: string) => void = () => undefined;
  const page = {
    Open: vi.fn(
      () =>
        new Promise<string>((resolve) => {
          opened = resolve;
        }),
    ),
    Send: vi.fn(async () => undefined),
    Ack: vi.fn(async () => undefined),
    Close: vi.fn(async () => undefined),
    ChooseFolder: vi.fn(async () => ""),
    Heartbeat: vi.fn(async () => undefined),
  } satisfies WailsPage;
  const runtime: WailsRuntime = {
    EventsOn: (name, callback) => {
      const list = listeners[name] ?? [];
      list.push(callback);
      listeners[name] = list;
      return () => list.splice(list.indexOf(callback), 1);
    },
    // biome-ignore lint/correctness/noComponentHookFactories: the name is the window's own; it is no component.
    BrowserOpenURL: () => undefined,
  };
  const frames: string[] = [];
  const onClose = vi.fn();
  const line = dialWindow(page, runtime)({ onFrame: (text) => frames.push(text), onClose });
  const emit = (name: string, ...data: unknown[]): void => {
    for (const listener of [...(listeners[name] ?? [])]) listener(...data);
  };
  const open = async (id = "c1"): Promise<void> => {
    opened(id);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { page, line, frames, onClose, emit, open, listeners };
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe("the window's line", () => {
  it("numbers what it sends from 1, also what was sent before it was open", async () => {
    const { page, line, open } = setUp();
    line.send("a");
    await open();
    line.send("b");
    expect(page.Send.mock.calls).toEqual([
      ["c1", 1, "a"],
      ["c1", 2, "b"],
    ]);
  });

  it("hands frames on in their order, also those that came early, and none of another line", async () => {
    const { frames, emit, open } = setUp();
    emit("frame", "c1", 1, "one");
    emit("frame", "c0", 1, "old");
    await open();
    emit("frame", "c1", 3, "three");
    expect(frames).toEqual(["one"]);
    emit("frame", "c1", 2, "two");
    expect(frames).toEqual(["one", "two", "three"]);
  });

  it("acknowledges every 32 frames, and the rest within 100 ms", async () => {
    const { page, emit, open } = setUp();
    await open();
    for (let n = 1; n <= 40; n += 1) emit("frame", "c1", n, String(n));
    expect(page.Ack.mock.calls).toEqual([["c1", 32]]);
    await vi.advanceTimersByTimeAsync(100);
    expect(page.Ack.mock.calls).toEqual([
      ["c1", 32],
      ["c1", 40],
    ]);
  });

  it("ends once, and listens no more", async () => {
    const { emit, open, onClose, frames, listeners } = setUp();
    await open();
    emit("closed", "c1", 1012, "restart");
    emit("closed", "c1", 1012, "restart");
    emit("frame", "c1", 1, "late");
    expect(onClose).toHaveBeenCalledTimes(1);
    expect(onClose).toHaveBeenCalledWith(1012, "restart");
    expect(frames).toEqual([]);
    expect(listeners.frame).toEqual([]);
  });

  it("closed before it is open, is closed when it opens", async () => {
    const { page, line, open, onClose } = setUp();
    line.close();
    await open();
    expect(page.Close).toHaveBeenCalledWith("c1");
    expect(onClose).not.toHaveBeenCalled();
  });

  it("tells the window every five seconds that the page lives", async () => {
    const { page } = setUp();
    const stop = startHeartbeat(page);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(page.Heartbeat).toHaveBeenCalledTimes(3);
    stop();
  });
});

describe("the socket's address", () => {
  it("is the page's own host", () => {
    expect(socketAddress({ protocol: "http:", host: "127.0.0.1:8123" })).toBe("ws://127.0.0.1:8123/ws");
    expect(socketAddress({ protocol: "https:", host: "mini.local" })).toBe("wss://mini.local/ws");
  });
});
