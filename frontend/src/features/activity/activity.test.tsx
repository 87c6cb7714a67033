import { receipt } from "@gallery/fixtures";
import { setWorld } from "@gallery/world";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { Router } from "wouter";
import { memoryLocation } from "wouter/memory-location";
import { useReceipts } from "@/state/receipts";
import { TooltipProvider } from "@/ui/Tooltip";
import { ActivityPage } from "./ActivityPage";

function show(receiptId?: string) {
  return render(
    <TooltipProvider>
      <Router hook={memoryLocation({ path: "/activity" }).hook}>
        <ActivityPage receiptId={receiptId} />
      </Router>
    </TooltipProvider>,
  );
}

describe("Activity", () => {
  it("forgets what was searched for when it is left, and shows everything to who comes back", async () => {
    const host = setWorld();
    const visit = show();
    await userEvent.type(screen.getByRole("searchbox"), "git mv");
    expect(await screen.findByText(/1 receipt$/)).toBeInTheDocument();
    visit.unmount();
    show();
    expect(screen.getByRole("searchbox")).toHaveValue("");
    expect(await screen.findByText(/49 receipts$/)).toBeInTheDocument();
    expect(host.calls.at(-1)).toMatchObject({ method: "receipts.list", params: { limit: 100 } });
    expect(useReceipts.getState().filter.search).toBe("");
  });

  it("keeps what is there when it is left without a search", () => {
    const host = setWorld();
    show().unmount();
    show();
    expect(host.calls.filter((each) => each.method === "receipts.list")).toEqual([]);
  });

  it("says how a command ended with the same word in the list and in its receipt", () => {
    setWorld({
      receipts: [receipt(1, { evidence: { exitStatus: 1 }, sentence: "Ran grep x; it reported an error." })],
    });
    show("rcpt-1");
    expect(screen.getByRole("button", { name: /^Done, exit 1/ })).toBeInTheDocument();
    expect(screen.getAllByText("Done, exit 1")).toHaveLength(2);
  });
});
