import { afterEach, expect, test, vi } from "vitest";
import { watchAsked } from "./window";

afterEach(() => {
  window.go = undefined;
  window.runtime = undefined;
});

const page = {
  Open: async () => "c",
  Send: async () => {},
  Ack: async () => {},
  Close: async () => {},
  ChooseFolder: async () => "/home/sam/Documents",
  Heartbeat: async () => {},
};

const heard = new Map<string, (...data: unknown[]) => void>();
const runtime = {
  EventsOn(name: string, callback: (...data: unknown[]) => void) {
    heard.set(name, callback);
    return () => void heard.delete(name);
  },
  BrowserOpenURL() {},
};

test("a click in the tray is told to the page, until it stops listening", () => {
  window.go = { app: { Page: page } };
  window.runtime = runtime;
  const asked = vi.fn();
  const stop = watchAsked(asked);
  heard.get("show-approval")?.();
  expect(asked).toHaveBeenCalledOnce();
  stop();
  expect(heard.size).toBe(0);
});

test("in a browser there is nothing to listen to", () => {
  expect(() => watchAsked(() => {})()).not.toThrow();
});
