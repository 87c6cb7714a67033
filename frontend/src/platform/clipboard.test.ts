import { afterEach, describe, expect, it, vi } from "vitest";
import { copyText } from "./clipboard";

const exact = "\tif x {\r\n\t\treturn  \r\n}\r\n\r\n trailing \u00a0";

afterEach(() => vi.unstubAllGlobals());

/** A page whose old copy command hands the copy event its own clipboard, as a browser does. */
function oldCopy(works: boolean): { copied: () => string | undefined } {
  let copied: string | undefined;
  document.execCommand = vi.fn(() => {
    if (!works) return false;
    const event = new Event("copy", { bubbles: true, cancelable: true });
    Object.assign(event, {
      clipboardData: {
        setData: (_type: string, text: string) => {
          copied = text;
        },
      },
    });
    document.querySelector("textarea")?.dispatchEvent(event);
    return event.defaultPrevented;
  });
  return { copied: () => copied };
}

describe("copying", () => {
  it("hands over exactly these bytes, also five million of them", async () => {
    const writeText = vi.fn(async () => undefined);
    vi.stubGlobal("navigator", { clipboard: { writeText } });
    expect(await copyText(exact)).toBe(true);
    expect(writeText).toHaveBeenCalledWith(exact);
    const big = "x\r\n".repeat(1_700_000);
    await copyText(big);
    expect(writeText).toHaveBeenLastCalledWith(big);
  });

  it("falls back where the page has no clipboard, with line ends kept", async () => {
    vi.stubGlobal("navigator", {});
    const old = oldCopy(true);
    expect(await copyText(exact)).toBe(true);
    expect(old.copied()).toBe(exact);
    expect(document.querySelector("textarea")).toBeNull();
  });

  it("falls back when the clipboard refuses", async () => {
    vi.stubGlobal("navigator", { clipboard: { writeText: () => Promise.reject(new Error("not allowed")) } });
    const old = oldCopy(true);
    expect(await copyText(exact)).toBe(true);
    expect(old.copied()).toBe(exact);
  });

  it("says when neither way works", async () => {
    vi.stubGlobal("navigator", {});
    oldCopy(false);
    expect(await copyText("a")).toBe(false);
  });
});
