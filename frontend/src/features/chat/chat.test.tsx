import { longConversation, main, message, run, text } from "@gallery/fixtures";
import { setWorld } from "@gallery/world";
import { fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { TooltipProvider } from "@/ui/Tooltip";
import { refusal } from "./attachments";
import { ChatPage } from "./ChatPage";

function show() {
  return render(
    <TooltipProvider>
      <ChatPage sessionKey={main} />
    </TooltipProvider>,
  );
}

const history = {
  sessionKey: main,
  sessionId: "s",
  messages: [],
  pendingInputs: { items: [], total: 0 },
  hasMore: false,
  totalMessages: 0,
  lastSeq: 0,
};
const answers = {
  "chat.send": ({ idempotencyKey }: { idempotencyKey: string }) => ({
    runId: idempotencyKey,
    status: "started" as const,
  }),
  "chat.history": () => history,
};

describe("a long chat", () => {
  it("of 5,000 messages keeps the page small", () => {
    const messages = longConversation(2500);
    expect(messages).toHaveLength(5000);
    setWorld({ transcript: { messages } });
    const { container } = show();
    expect(screen.getAllByRole("article").length).toBeGreaterThan(0);
    expect(screen.getAllByRole("article").length).toBeLessThan(60);
    expect(container.querySelectorAll("*").length).toBeLessThan(2500);
  });
});

describe("writing", () => {
  it("sends with Enter, makes a line with Shift and Enter, and never with an input method's Enter", async () => {
    const user = userEvent.setup();
    const host = setWorld({ answers });
    show();
    const area = screen.getByLabelText("Message to Ada");
    expect(area).toHaveFocus();
    await user.type(area, "one{Shift>}{Enter}{/Shift}two");
    fireEvent.compositionStart(area);
    fireEvent.keyDown(area, { key: "Enter", keyCode: 229, isComposing: true });
    fireEvent.compositionEnd(area);
    expect(host.calls.filter((each) => each.method === "chat.send")).toEqual([]);
    await user.type(area, "{Enter}");
    expect(host.calls.find((each) => each.method === "chat.send")?.params).toMatchObject({
      sessionKey: main,
      message: "one\ntwo",
    });
    expect(area).toHaveValue("");
    expect(screen.getByText("one two", { normalizer: (words) => words.replace(/\s+/g, " ") })).toBeInTheDocument();
  });

  it("keeps the draft of each session", async () => {
    setWorld({ answers });
    const first = show();
    await userEvent.type(screen.getByLabelText("Message to Ada"), "half a thought");
    first.unmount();
    show();
    expect(screen.getByLabelText("Message to Ada")).toHaveValue("half a thought");
    expect(localStorage.getItem("countersign.drafts")).toContain("half a thought");
  });

  it("edits an earlier message and says what that means", async () => {
    const user = userEvent.setup();
    const asked = message("user", [text("list invoices")]);
    const host = setWorld({ answers, transcript: { messages: [asked, message("assistant", [text("Here.")])] } });
    show();
    await user.click(screen.getByRole("button", { name: "Edit and send again" }));
    expect(screen.getByText(/leaves the conversation/)).toBeInTheDocument();
    const area = screen.getByLabelText("Message to Ada");
    expect(area).toHaveValue("list invoices");
    await user.type(area, " of 2026{Enter}");
    expect(host.calls.find((each) => each.method === "chat.send")?.params).toMatchObject({
      message: "list invoices of 2026",
      replaceMessageId: asked.id,
    });
    expect(screen.queryByText("Here.")).toBeNull();
  });

  it("attaches pasted and chosen files as base64", async () => {
    const user = userEvent.setup();
    const host = setWorld({ answers });
    show();
    await user.upload(screen.getByLabelText("Files to attach"), new File(["hé\0"], "a.txt", { type: "text/plain" }));
    expect(await screen.findByText("a.txt")).toBeInTheDocument();
    await user.type(screen.getByLabelText("Message to Ada"), "look{Enter}");
    expect(host.calls.find((each) => each.method === "chat.send")?.params).toMatchObject({
      attachments: [{ fileName: "a.txt", mimeType: "text/plain", content: "aMOpAA==" }],
    });
  });

  it("refuses files that are empty or too large, in words", () => {
    expect(refusal({ name: "a", type: "text/plain", size: 0 })).toBe("a is empty.");
    expect(refusal({ name: "a.png", type: "image/png", size: 7_000_000 })).toContain("at most");
    expect(refusal({ name: "a", type: "text/plain", size: 7_000_000 })).toBeUndefined();
  });
});

describe("Stop", () => {
  it("says that it is stopping until the host confirms", async () => {
    setWorld({
      runs: [run()],
      answers: { "chat.abort": () => new Promise(vi.fn()) },
      transcript: { messages: [message("user", [text("x")], { runId: "run-2" })] },
    });
    show();
    await userEvent.click(screen.getByRole("button", { name: "Stop" }));
    expect(screen.getByRole("button", { name: "Stopping…" })).toBeDisabled();
  });
});
