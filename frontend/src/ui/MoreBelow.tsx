import { ArrowDown } from "lucide-react";
import type { MouseEvent } from "react";
import styles from "./MoreBelow.module.css";

// The box that scrolls: the first around the sign that is taller inside than outside.
function scrollerOf(element: HTMLElement): HTMLElement | undefined {
  for (let box = element.parentElement; box; box = box.parentElement) {
    if (box.scrollHeight > box.clientHeight + 1 && getComputedStyle(box).overflowY === "auto") return box;
  }
  return undefined;
}

function onward(event: MouseEvent<HTMLElement>): void {
  const box = scrollerOf(event.currentTarget);
  box?.scrollBy({ top: box.clientHeight * 0.6 });
}

/**
 * The sign that something goes on below the edge, over a shade that the text runs into. It lies over the line above its
 * place. Only for the eye and the pointer: readers and the keyboard have the box itself.
 */
export function MoreBelow() {
  return (
    <div className={styles.edge} aria-hidden="true">
      <button type="button" tabIndex={-1} className={styles.sign} onClick={onward}>
        <ArrowDown />
        More below
      </button>
    </div>
  );
}
