import type { ReactNode } from "react";
import styles from "./Facts.module.css";

/** Names and values, one under the other; a value that is empty is left out. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  const shown = facts.filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false);
  return (
    <dl className={styles.facts}>
      {shown.map(([name, value]) => (
        <div key={name} className={styles.fact}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Exact text in the mono face, selectable, wrapping; scrolls when it is long. */
export function Exact({ text, label, tall = false }: { text: string; label: string; tall?: boolean }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section aria-label={label} tabIndex={0} className={tall ? styles.exactTall : styles.exact}>
      <pre>{text}</pre>
    </section>
  );
}
