import { settings } from "@gallery/fixtures";
import { setWorld } from "@gallery/world";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Settings } from "@/gateway/protocol.gen";
import { Folders } from "./Folders";
import { Keychain } from "./Keychain";
import { Startup } from "./Startup";

const runtime = {
  EventsOn() {
    return () => undefined;
  },
  BrowserOpenURL() {},
};

afterEach(() => {
  window.go = undefined;
  window.runtime = undefined;
});

describe("starting again after a crash", () => {
  const show = (startup: Settings["startup"]) => {
    setWorld({ settings: { startup } });
    render(<Startup />);
    return screen.getByRole("switch", { name: "Start again after a crash" });
  };

  it("is off, and says why, while nothing starts by itself", () => {
    const restart = show({ openAtLogin: false, serveAtLogin: false, restartAfterCrash: true });
    expect(restart).not.toBeChecked();
    expect(restart).toBeDisabled();
    expect(restart).toHaveAccessibleDescription(/switch one of the two above on first/);
  });

  it.each([
    [{ openAtLogin: true, serveAtLogin: false, restartAfterCrash: true }],
    [{ openAtLogin: false, serveAtLogin: true, restartAfterCrash: true }],
  ])("is as it was set while something does", (startup) => {
    const restart = show(startup);
    expect(restart).toBeChecked();
    expect(restart).toBeEnabled();
  });

  it("changes only itself", async () => {
    const host = setWorld({
      settings: { startup: { openAtLogin: true, serveAtLogin: false, restartAfterCrash: false } },
      answers: { "settings.patch": () => settings },
    });
    render(<Startup />);
    await userEvent.click(screen.getByRole("switch", { name: "Start again after a crash" }));
    expect(host.calls.at(-1)?.params).toEqual({
      startup: { openAtLogin: true, serveAtLogin: false, restartAfterCrash: true },
    });
  });
});

describe("the page about keys", () => {
  const keychain = (state: string) => ({ keychain: { state, sentence: `It is ${state}.`, remedy: "" } });

  it.each([
    ["none", true, "Needs you"],
    ["none", false, "Note"],
    ["locked", true, "Needs you"],
    ["locked", false, "Note"],
    ["file-locked", true, "Needs you"],
    ["keychain", true, "Note"],
    ["file", true, "Note"],
    ["session", true, "Note"],
  ])("where they are in %s, and with keys %s, is marked “%s”", (state, hasKey, mark) => {
    setWorld({ health: keychain(state), ...(hasKey ? {} : { models: [] }) });
    render(<Keychain />);
    expect(screen.getByText(`It is ${state}.`)).toBeInTheDocument();
    expect(screen.getByRole("img", { name: mark })).toBeInTheDocument();
  });
});

describe("a folder", () => {
  it("is chosen with the system's own chooser in the native window, and left alone when none is chosen", async () => {
    const choose = vi.fn(async () => "/home/sam/Documents");
    window.go = { app: { Page: { ChooseFolder: choose } as never } };
    window.runtime = runtime;
    setWorld();
    render(<Folders />);
    await userEvent.click(screen.getByRole("button", { name: "Choose…" }));
    expect(await screen.findByDisplayValue("/home/sam/Documents")).toBe(screen.getByLabelText("Folder"));
    choose.mockResolvedValueOnce("");
    await userEvent.click(screen.getByRole("button", { name: "Choose…" }));
    expect(screen.getByLabelText("Folder")).toHaveValue("/home/sam/Documents");
  });

  it("is written in a browser", () => {
    setWorld();
    render(<Folders />);
    expect(screen.queryByRole("button", { name: "Choose…" })).toBeNull();
    expect(screen.getByLabelText("Folder")).toBeInTheDocument();
  });
});
