import { setWorld } from "@gallery/world";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { FirstRun } from "./FirstRun";

const closed = { sentence: "No keychain is installed.", remedy: "" };

function show(state: string) {
  const host = setWorld({
    models: [],
    settings: { firstRunDone: false },
    health: { keychain: { ...closed, state } },
    answers: { "secrets.choose": () => ({ ...closed, state: "session" }) },
  });
  render(<FirstRun onDone={() => undefined} />);
  return host;
}

describe("the first run", () => {
  it.each([
    ["keychain", "The key is kept in the keychain of this computer."],
    ["locked", "The key is kept in the keychain of this computer, which is locked."],
    ["file", "The key is kept in a file under your passphrase."],
    ["none", "There is no keychain here, so you choose where the key is kept."],
  ])("says where a key would be kept: %s", (state, words) => {
    show(state);
    expect(screen.getByRole("region", { name: "A model with a key" })).toHaveTextContent(words);
  });

  it("lets the owner choose where keys are kept before one is written, where there is no keychain", async () => {
    const host = show("none");
    await userEvent.click(screen.getByRole("button", { name: "Add a key" }));
    expect(screen.getByLabelText("Key")).toHaveAccessibleDescription(/choose where keys are kept before you save/);
    await userEvent.click(screen.getByRole("button", { name: "Keep keys until Quit" }));
    expect(host.calls).toContainEqual({ method: "secrets.choose", params: { choice: "session" } });
  });
});
