import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { Menu } from "./Menu";

it("keeps what cannot be chosen within reach, says why, and does nothing", async () => {
  const user = userEvent.setup();
  const [archive, rename] = [vi.fn(), vi.fn()];
  render(
    <Menu
      label="Actions"
      items={[
        { label: "Archive", unavailable: "The main chat always stays.", onSelect: archive },
        { label: "Rename", onSelect: rename },
      ]}
    >
      <button type="button">Open</button>
    </Menu>,
  );
  await user.click(screen.getByRole("button", { name: "Open" }));
  const item = screen.getByRole("menuitem", { name: "Archive" });
  expect(item).toHaveAttribute("aria-disabled", "true");
  expect(item).toHaveAccessibleDescription("The main chat always stays.");
  await user.keyboard("{ArrowDown}");
  expect(item).toHaveFocus();
  await user.keyboard("{Enter}");
  expect(archive).not.toHaveBeenCalled();
  expect(screen.getByRole("menuitem", { name: "Rename" })).toBeInTheDocument();
  await user.click(screen.getByRole("menuitem", { name: "Rename" }));
  expect(rename).toHaveBeenCalledOnce();
});
