import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Announcer } from "./announcer";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe("announcing a reply that streams", () => {
  it("speaks at most once in three seconds, and the end at once", () => {
    const said: { text: string; at: number }[] = [];
    const start = Date.now();
    const announcer = new Announcer((text) => said.push({ text, at: Date.now() - start }));
    for (let token = 0; token < 2000; token += 1) {
      announcer.progress(`so far ${token}`);
      vi.advanceTimersByTime(10);
    }
    announcer.final("the end");
    const streaming = said.slice(0, -1);
    for (const [at, entry] of streaming.entries()) {
      const before = streaming[at - 1];
      if (before) expect(entry.at - before.at).toBeGreaterThanOrEqual(3000);
    }
    expect(streaming.length).toBe(7);
    expect(said.at(-1)).toEqual({ text: "the end", at: 20_000 });
    vi.advanceTimersByTime(10_000);
    expect(said.at(-1)?.text).toBe("the end");
  });
});
