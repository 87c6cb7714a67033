import { main, message, run, text } from "@gallery/fixtures";
import { setWorld, type WorldParts } from "@gallery/world";
import { act, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import { putRuns } from "@/state/runs";
import { TooltipProvider } from "@/ui/Tooltip";
import { ChatPage } from "./ChatPage";
import { RunStrip } from "./RunStrip";

afterEach(() => vi.useRealTimers());

const unbegun = { runId: "run-3", state: "queued", startedAtMs: undefined, acceptedAtMs: Date.now() } as const;
const sent = {
  runId: "run-3",
  text: "and then the water bill",
  attachments: [],
  replaces: undefined,
  sentAtMs: Date.now(),
  state: "accepted",
  sentence: "",
} as const;
const asked = () => message("user", [text("a long task")], { runId: "run-2" });

function show(parts: WorldParts) {
  const host = setWorld(parts);
  render(
    <TooltipProvider>
      <ChatPage sessionKey={main} />
    </TooltipProvider>,
  );
  return host;
}

describe("a message behind another run", () => {
  it("says that it waits its turn and can be stopped, until its run begins", async () => {
    const host = show({
      runs: [run(), run(unbegun)],
      transcript: { messages: [asked()], outgoing: [sent] },
      answers: {
        "chat.abort": () => ({ ok: true, aborted: true, runIds: ["run-3"] }),
        "runs.get": () => run({ ...unbegun, state: "stopped", version: 2 }),
      },
    });
    const row = screen.getAllByRole("article").at(-1) as HTMLElement;
    expect(row).toHaveTextContent("and then the water bill");
    expect(row).toHaveTextContent("Waiting its turn");
    expect(screen.getByRole("region", { name: "What is running" })).toHaveTextContent("1 more waiting");
    await userEvent.click(within(row).getByRole("button", { name: "Stop this message before it begins" }));
    expect(host.calls[0]).toEqual({ method: "chat.abort", params: { sessionKey: main, runId: "run-3" } });
  });

  it("is an ordinary one once its run has begun, and when nothing is ahead of it", () => {
    show({ runs: [run(unbegun)], transcript: { messages: [asked()], outgoing: [sent] } });
    expect(screen.queryByText("Waiting its turn")).toBeNull();
    act(() => putRuns([run({ ...unbegun, state: "running", startedAtMs: Date.now(), version: 2 })]));
    expect(screen.queryByText("Waiting its turn")).toBeNull();
  });

  it("replaces nothing yet when it is an edit", () => {
    const first = asked();
    const edit = { ...sent, replaces: first.id };
    show({ runs: [run(), run(unbegun)], transcript: { messages: [first], outgoing: [edit] } });
    expect(screen.getByText("a long task")).toBeInTheDocument();
  });

  it("that was sent elsewhere says the same, and why while everything is paused", () => {
    const input = {
      id: "run-3",
      runId: "run-3",
      message: message("user", [text("from the phone")]),
      acceptedAt: 1,
      state: "queued",
    };
    show({ runs: [run(unbegun)], health: { paused: true }, transcript: { messages: [asked()], pending: [input] } });
    const row = screen.getAllByRole("article").at(-1) as HTMLElement;
    expect(row).toHaveTextContent("from the phone");
    expect(row).toHaveTextContent("Waits: Countersign is paused");
    expect(screen.queryByRole("region", { name: "What is running" })).toBeNull();
  });
});

describe("the run strip", () => {
  const strip = (over: Parameters<typeof run>[0]) =>
    render(
      <TooltipProvider>
        <RunStrip run={run(over)} live={undefined} stopping={false} waiting={0} />
      </TooltipProvider>,
    );

  it("counts working time while it goes on, and never past its limit", () => {
    vi.useFakeTimers({ now: 1_000_000 });
    strip({ wallAtMs: 995_000 });
    expect(screen.getByLabelText(/^Ceilings/)).toHaveAccessibleName(/working time: 47 s of 10 min/);
    act(() => vi.advanceTimersByTime(3000));
    expect(screen.getByRole("region", { name: "What is running" })).toHaveTextContent("50 s of 10 min");
    act(() => vi.advanceTimersByTime(3_600_000));
    expect(screen.getByLabelText(/^Ceilings/)).toHaveAccessibleName(/working time: 10 min of 10 min/);
  });

  it("counts no working time while it waits, and says for how long it has waited", () => {
    vi.useFakeTimers({ now: 1_000_000 });
    strip({ state: "parked", parkReason: "approval", parkedAtMs: 997_000, wallAtMs: 900_000 });
    const region = screen.getByRole("region", { name: "What is running" });
    expect(region).toHaveTextContent("Waits for your approval");
    expect(region).toHaveTextContent("for 3 s");
    expect(region).toHaveTextContent("42 s of 10 min");
  });
});
