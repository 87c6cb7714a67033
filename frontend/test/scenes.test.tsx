import { scenes } from "@gallery/scenes";
import { act, render } from "@testing-library/react";
import axe from "axe-core";
import { describe, expect, it } from "vitest";
import { App } from "@/app/App";

// What needs layout or colour is checked in a real browser, by the end-to-end tests.
const options: axe.RunOptions = {
  rules: { "color-contrast": { enabled: false }, region: { enabled: true } },
  resultTypes: ["violations"],
};

describe("every screen in every state", () => {
  it.each(scenes.map((scene) => [scene.name, scene] as const))(
    "%s has names, roles and order that a screen reader can use",
    async (_name, scene) => {
      scene.set();
      window.location.hash = scene.hash;
      const { container } = render(<App onRetry={() => undefined} />);
      await act(async () => undefined);
      expect(container.textContent).not.toContain("This page cannot be shown");
      const { violations } = await axe.run(document.body, options);
      expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join("\n")}`)).toEqual([]);
    },
    20_000,
  );
});
