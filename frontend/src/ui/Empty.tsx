import type { ReactNode } from "react";
import styles from "./Empty.module.css";

interface EmptyProps {
  icon: ReactNode;
  title: string;
  /** What will be here. */
  children: ReactNode;
  /** The one thing to do. */
  action?: ReactNode;
}

/** A screen with nothing on it yet: says what will be here, and offers one action. */
export function Empty({ icon, title, children, action }: EmptyProps) {
  return (
    <div className={styles.empty}>
      <span className={styles.icon} aria-hidden="true">
        {icon}
      </span>
      <h2>{title}</h2>
      <div className={styles.text}>{children}</div>
      {action}
    </div>
  );
}

/** Placeholder lines while something loads. Read aloud as one sentence. */
export function Loading({ what, lines = 4 }: { what: string; lines?: number }) {
  return (
    <div role="status" className={styles.loading}>
      <span className="visually-hidden">Loading {what}…</span>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: placeholder lines have no identity.
        <span key={line} className={styles.line} data-short={line % 3 === 2} aria-hidden="true" />
      ))}
    </div>
  );
}
