import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";

const endThresholdPx = 40;
// A scroll this soon after a wheel, a touch, a key or a press is the person's; all others are the list's own.
const intentMs = 600;
const intents = ["wheel", "touchmove", "keydown", "pointerdown"] as const;

interface Follow {
  /** Whether the end is in view. */
  atEnd: boolean;
  onScroll: () => void;
  /** Goes to the end and stays there while it grows. */
  toEnd: () => void;
  /** Stays where the person is, whatever comes. */
  stay: () => void;
}

/**
 * Keeps the end of a growing box in view for as long as the person has not scrolled away from it. Heights change while
 * rows are measured, so being at the end is remembered as a wish, never worked out from where the box happens to be.
 */
export function useFollow(box: RefObject<HTMLElement | null>, startOver: string): Follow {
  const following = useRef(true);
  const intentAt = useRef(Number.NEGATIVE_INFINITY);
  const [atEnd, setAtEnd] = useState(true);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const note = (): void => {
      intentAt.current = performance.now();
    };
    for (const name of intents) element.addEventListener(name, note, { passive: true });
    return () => {
      for (const name of intents) element.removeEventListener(name, note);
    };
  }, [box]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another chat, or a message of one's own, follows again.
  useLayoutEffect(() => {
    following.current = true;
  }, [startOver]);

  // With every drawing, since every measured row may have moved the end.
  useLayoutEffect(() => {
    const element = box.current;
    if (element && following.current) element.scrollTop = element.scrollHeight;
  });

  return {
    atEnd,
    onScroll() {
      const element = box.current;
      if (!element) return;
      const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight <= endThresholdPx;
      if (isAtEnd) following.current = true;
      else if (performance.now() - intentAt.current < intentMs) following.current = false;
      setAtEnd(isAtEnd || following.current);
    },
    toEnd() {
      following.current = true;
      if (box.current) box.current.scrollTop = box.current.scrollHeight;
    },
    stay() {
      following.current = false;
    },
  };
}
