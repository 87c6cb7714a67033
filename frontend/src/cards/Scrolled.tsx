import type { ReactNode } from "react";
import { MoreBelow } from "@/ui/MoreBelow";
import { useEndInView } from "@/ui/useEndInView";
import styles from "./cards.module.css";

/** A part of a card that is shown whole: where the window is tall it scrolls by itself, with a sign that it does. */
export function Scrolled({ label, children }: { label: string; children: ReactNode }) {
  const [end, atEnd] = useEndInView();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section className={styles.plan} aria-label={label} tabIndex={0}>
      {children}
      <div ref={end} />
      <div className={styles.planEdge}>{atEnd ? null : <MoreBelow />}</div>
    </section>
  );
}
