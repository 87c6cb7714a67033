import type { ReactNode } from "react";
import { MoreBelow } from "@/ui/MoreBelow";
import { useEndInView } from "@/ui/useEndInView";
import styles from "./cards.module.css";

/**
 * The end of a card: its buttons, or the form that took their place. However little room there is, they stay in view at
 * the edge of the box that scrolls, with a sign while a part of the card is still below.
 */
export function CardFoot({ children }: { children: ReactNode }) {
  const [end, atEnd] = useEndInView();
  return (
    <>
      <footer className={styles.foot} data-stuck={!atEnd}>
        {atEnd ? null : <MoreBelow />}
        {children}
      </footer>
      <div ref={end} className={styles.end} />
    </>
  );
}
