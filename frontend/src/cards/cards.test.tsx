import { approval, diff, longDiff, question, receipt, run, scriptFile, writeRequest } from "@gallery/fixtures";
import { StandInHost } from "@gallery/host";
import { resetStores } from "@gallery/reset";
import { fireEvent, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it } from "vitest";
import { CallError } from "@/gateway/calls";
import { bindCaller } from "@/state/link";
import { ApprovalCard } from "./ApprovalCard";
import { ParkedCard } from "./ParkedCard";
import { QuestionCard } from "./QuestionCard";
import { ReceiptDetail } from "./ReceiptDetail";

beforeEach(resetStores);

function host(): StandInHost {
  const made = new StandInHost({
    "exec.approval.resolve": () => ({
      ok: true,
      approval: approval({ status: "allowed", decision: "allow-once", version: 2 }),
    }),
    "question.resolve": () => ({ ok: true, question: question({ version: 2 }) }),
    "runs.resume": () => run({ version: 2 }),
  });
  bindCaller(made);
  return made;
}

describe("an approval card", () => {
  it("says who asks, for whom, what exactly, where, why and what it can reach", () => {
    render(<ApprovalCard approval={approval()} />);
    const card = screen.getByRole("article", { name: /Run “git mv/ });
    expect(card).toHaveTextContent("Asked by Ada, for you");
    const command = within(card).getByRole("region", { name: /argument by argument/ });
    expect([...command.querySelectorAll("span")].map((part) => part.textContent)).toEqual([
      "git",
      "mv",
      "scan0012.pdf",
      "2026-09-water.pdf",
    ]);
    for (const words of [
      "/home/sam/Ada/invoices",
      "/usr/bin/git",
      "Commands are asked for (default policy)",
      "no network",
    ])
      expect(card).toHaveTextContent(words);
  });

  it("shows a change whole, however long", () => {
    render(<ApprovalCard approval={approval({}, { ...writeRequest, diff: longDiff })} />);
    const change = screen.getByRole("region", { name: /The change, 123 lines/ });
    expect(change).toHaveTextContent("Line 1 of");
    expect(change).toHaveTextContent("Line 120 of");
  });

  it("has no focus and is not approved by Enter, only by Space or a click", async () => {
    const user = userEvent.setup();
    const answered = host();
    render(<ApprovalCard approval={approval()} />);
    expect(document.activeElement).toBe(document.body);
    for (const name of ["Allow once", "Allow for this session"]) {
      screen.getByRole("button", { name }).focus();
      await user.keyboard("{Enter}");
    }
    expect(answered.calls).toEqual([]);
    screen.getByRole("button", { name: "Allow once" }).focus();
    await user.keyboard(" ");
    expect(answered.calls).toEqual([
      { method: "exec.approval.resolve", params: { id: "a-1", decision: "allow-once", planHash: "9f2c" } },
    ]);
  });

  it("shows what a command reads and the text of the scripts it runs, with what is hidden in them written out", () => {
    const scripts = [scriptFile({ text: "print('ok')\u202e" }), scriptFile({ name: "b.py", path: "/b.py", text: "" })];
    render(<ApprovalCard approval={approval({}, { input: "rm -rf build\n", scripts })} />);
    expect(screen.getByRole("region", { name: "The standard input" })).toHaveTextContent("rm -rf build");
    expect(screen.getByRole("region", { name: "The text of tools/months.py" })).toHaveTextContent(
      "print('ok')⟨U+202E⟩",
    );
    expect(screen.getByRole("region", { name: "The text of b.py" })).toHaveTextContent("empty");
    expect(screen.getByRole("button", { name: "Allow once" })).toBeEnabled();
  });

  it("says of a script that it is no text, and refuses one that is cut", () => {
    const binary = scriptFile({ text: "", binary: true });
    const { unmount } = render(<ApprovalCard approval={approval({}, { scripts: [binary] })} />);
    expect(screen.getByText(/no text, so what it does cannot be shown/)).toBeInTheDocument();
    expect(screen.getByRole("button", { name: "Allow once" })).toBeEnabled();
    unmount();
    render(<ApprovalCard approval={approval({}, { scripts: [scriptFile({ cut: true, sizeBytes: 91_000 })] })} />);
    expect(screen.getByText(/This is cut/)).toBeInTheDocument();
    expect(screen.getByText(/Only its beginning is shown, of 91 KB/)).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: /Allow/ })).toBeNull();
  });

  it("that is asked again says what changed", () => {
    render(<ApprovalCard approval={approval({}, { changed: "build.sh is another one now." })} />);
    expect(screen.getByText(/asked again/)).toBeInTheDocument();
    expect(screen.getByText("build.sh is another one now.")).toBeInTheDocument();
  });

  it("that is cut says so and can only be denied", () => {
    render(<ApprovalCard approval={approval({}, { ...writeRequest, truncated: true })} />);
    expect(screen.getByText(/This is cut/)).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: /Allow/ })).toBeNull();
    expect(screen.getByRole("button", { name: "Deny…" })).toBeEnabled();
  });

  it("shows where outside text came from, and hidden characters as what they are", () => {
    render(
      <ApprovalCard
        approval={approval(
          {},
          { commandArgv: ["open", "fdp.\u202Eexe"], taint: [{ source: "mail from x@example.net", passage: "do it" }] },
        )}
      />,
    );
    expect(screen.getByText(/mail from x@example.net/)).toBeInTheDocument();
    expect(screen.getByText("fdp.⟨U+202E⟩exe")).toBeInTheDocument();
  });

  it("takes a reason for no, with Enter, but not an input method's Enter", async () => {
    const user = userEvent.setup();
    const answered = host();
    render(<ApprovalCard approval={approval()} />);
    await user.click(screen.getByRole("button", { name: "Deny…" }));
    const field = screen.getByLabelText(/Why not/);
    expect(field).toHaveFocus();
    await user.type(field, "keep it");
    fireEvent.keyDown(field, { key: "Enter", keyCode: 229, isComposing: true });
    expect(answered.calls).toEqual([]);
    fireEvent.keyDown(field, { key: "Enter", keyCode: 13 });
    expect(answered.calls).toEqual([
      { method: "exec.approval.resolve", params: { id: "a-1", decision: "deny", planHash: "9f2c", reason: "keep it" } },
    ]);
  });

  it("says what another had decided", async () => {
    bindCaller(
      new StandInHost({
        "exec.approval.resolve": () => {
          throw new CallError("INVALID_REQUEST", "Sam denied this in the tray a minute ago.");
        },
      }),
    );
    render(<ApprovalCard approval={approval()} />);
    await userEvent.click(screen.getByRole("button", { name: "Allow once" }));
    expect(await screen.findByRole("alert")).toHaveTextContent("Sam denied this in the tray a minute ago.");
  });

  it("shrinks to one line with who and when", () => {
    render(
      <ApprovalCard
        approval={approval({
          status: "denied",
          decision: "deny",
          reason: "not now",
          resolvedAtMs: Date.now(),
          resolver: { kind: "tray", name: "Sam, in the tray" },
        })}
      />,
    );
    expect(screen.queryByRole("button")).toBeNull();
    expect(screen.getByText(/Sam, in the tray/)).toHaveTextContent("just now");
    expect(screen.getByText(/Sam, in the tray/)).toHaveTextContent("“not now”");
  });
});

describe("a question", () => {
  it("is answered by an option, or in other words, and not before", async () => {
    const user = userEvent.setup();
    const answered = host();
    render(<QuestionCard question={question()} />);
    expect(screen.getByRole("button", { name: "Answer" })).toBeDisabled();
    await user.click(screen.getByLabelText(/The newer one/));
    await user.type(screen.getByLabelText("Or in your own words"), "but check it");
    await user.click(screen.getByRole("button", { name: "Answer" }));
    expect(answered.calls[0]?.params).toEqual({ id: "q-1", answers: ["The newer one"], text: "but check it" });
  });
});

describe("a parked run", () => {
  it("whose step is unknown offers evidence and choices, without alarm", async () => {
    const answered = host();
    render(<ParkedCard run={run({ state: "parked", parkReason: "unknown", parkDetail: "No answer came." })} />);
    expect(screen.getByRole("region", { name: "Evidence" })).toHaveTextContent("No answer came.");
    expect(screen.queryByRole("alert")).toBeNull();
    await userEvent.click(screen.getByRole("button", { name: "It happened, go on" }));
    expect(answered.calls[0]?.params).toEqual({ runId: "run-2", choice: "treat-as-done" });
  });

  it("at a ceiling can be raised once", async () => {
    const answered = host();
    render(<ParkedCard run={run({ state: "parked", parkReason: "ceiling", ceiling: "toolCalls" })} />);
    expect(screen.getByText("The limit of tool calls is reached")).toBeInTheDocument();
    await userEvent.click(screen.getByRole("button", { name: "Raise it once" }));
    expect(answered.calls[0]?.params).toEqual({ runId: "run-2", choice: "continue" });
  });
});

describe("a receipt", () => {
  it("shows the sentence, the exact arguments, on whose word, the evidence and its place in the chain", () => {
    const { container } = render(<ReceiptDetail receipt={receipt(48)} />);
    for (const words of [
      "Ada wrote 312 bytes",
      "invoices/README.md",
      "Allowed once by Sam",
      "Changes of files are asked for",
      "312 B",
      "48",
      "e0b4459f1277",
    ])
      expect(container).toHaveTextContent(words);
  });

  it("explains why an undo left things alone", async () => {
    bindCaller(
      new StandInHost({
        "receipts.undo": () => {
          throw new CallError("INVALID_REQUEST", "README.md was changed after this, at 14:10.", {
            code: "UNDO_CONFLICT",
          });
        },
      }),
    );
    render(<ReceiptDetail receipt={receipt(48)} />);
    await userEvent.click(screen.getByRole("button", { name: "Undo" }));
    expect(await screen.findByText(/It has changed since/)).toBeInTheDocument();
    expect(screen.getByText(/changed after this, at 14:10/)).toBeInTheDocument();
  });

  it("that cannot be undone says why", () => {
    render(
      <ReceiptDetail receipt={receipt(1, { undo: { available: false, reason: "A command cannot be taken back." } })} />,
    );
    expect(screen.queryByRole("button", { name: "Undo" })).toBeNull();
    expect(screen.getByText(/A command cannot be taken back/)).toBeInTheDocument();
  });
});

it("marks what a change adds and removes by more than colour", () => {
  render(<ApprovalCard approval={approval({}, writeRequest)} />);
  expect(diff).toContain("+| File | Due |");
  expect(screen.getByText(/Open ones stay here/)).toHaveTextContent("added: +Paid ones go to 2025/.");
});
