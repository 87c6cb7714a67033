import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { enterHandlers, ImeGuard, useImeGuard } from "./ime";

function Field({ onEnter }: { onEnter: () => void }) {
  const guard = useImeGuard();
  return <input aria-label="field" {...enterHandlers<HTMLInputElement>(guard, onEnter)} />;
}

function setUp() {
  const onEnter = vi.fn();
  render(<Field onEnter={onEnter} />);
  return { onEnter, field: screen.getByLabelText("field") };
}

describe("Enter and input methods", () => {
  it("is not taken while composing (Chrome, Firefox, WebKitGTK)", () => {
    const { onEnter, field } = setUp();
    fireEvent.compositionStart(field);
    fireEvent.keyDown(field, { key: "Enter", keyCode: 229, isComposing: true });
    fireEvent.compositionEnd(field);
    fireEvent.keyUp(field, { key: "Enter" });
    expect(onEnter).not.toHaveBeenCalled();
    fireEvent.keyDown(field, { key: "Enter", keyCode: 13 });
    expect(onEnter).toHaveBeenCalledTimes(1);
  });

  it("is not taken with key code 229 alone (WebView2, older engines)", () => {
    const { onEnter, field } = setUp();
    fireEvent.keyDown(field, { key: "Enter", keyCode: 229, isComposing: false });
    expect(onEnter).not.toHaveBeenCalled();
    fireEvent.keyDown(field, { key: "Enter", keyCode: 13 });
    expect(onEnter).toHaveBeenCalledTimes(1);
  });

  it("is not taken when the composition ends before the key is reported (Safari)", () => {
    const { onEnter, field } = setUp();
    fireEvent.compositionStart(field);
    fireEvent.compositionEnd(field);
    fireEvent.keyDown(field, { key: "Enter", keyCode: 13, isComposing: false });
    expect(onEnter).not.toHaveBeenCalled();
    fireEvent.keyDown(field, { key: "Enter", keyCode: 13 });
    expect(onEnter).toHaveBeenCalledTimes(1);
  });

  it("is taken when the composition ended by another key, a moment before", () => {
    const guard = new ImeGuard();
    guard.compositionStart();
    guard.compositionEnd(1000);
    expect(guard.owns({ key: "Enter", keyCode: 13, isComposing: false, timeStamp: 1400 })).toBe(false);
  });
});
