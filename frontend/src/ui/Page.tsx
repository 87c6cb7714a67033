import type { ReactNode } from "react";
import styles from "./Page.module.css";

interface PageProps {
  title: string;
  /** One sentence under the title. */
  lead?: ReactNode;
  actions?: ReactNode;
  /** Fixed rows between the title and the scrolling content, such as a search. */
  tools?: ReactNode;
  children: ReactNode;
  /** The content scrolls by itself, as a virtual list does. */
  fill?: boolean;
}

/** The middle pane of every page but the chat: a title, then content that scrolls. */
export function Page({ title, lead, actions, tools, children, fill = false }: PageProps) {
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <div className={styles.words}>
          <h1>{title}</h1>
          {lead ? <p className={styles.lead}>{lead}</p> : null}
        </div>
        {actions ? <div className={styles.actions}>{actions}</div> : null}
      </header>
      {tools ? <div className={styles.tools}>{tools}</div> : null}
      <section className={styles.content} aria-label={`${title}, content`} data-fill={fill} tabIndex={fill ? -1 : 0}>
        {children}
      </section>
    </div>
  );
}

/** A titled part of a page. */
export function Section({ title, lead, children, actions }: Omit<PageProps, "tools" | "fill">) {
  return (
    <section className={styles.section} aria-label={title}>
      <header className={styles.sectionHead}>
        <div>
          <h2>{title}</h2>
          {lead ? <p className={styles.lead}>{lead}</p> : null}
        </div>
        {actions}
      </header>
      {children}
    </section>
  );
}

/** A bordered group of rows. */
export function Card({ children, label }: { children: ReactNode; label?: string }) {
  return (
    <ul className={styles.card} aria-label={label}>
      {children}
    </ul>
  );
}

/** One row of a card: words at the left, controls at the right. */
export function Row({
  title,
  note,
  mark,
  children,
}: {
  title: ReactNode;
  note?: ReactNode;
  mark?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <li className={styles.row}>
      {mark ? <span className={styles.mark}>{mark}</span> : null}
      <div className={styles.rowWords}>
        <div className={styles.rowTitle}>{title}</div>
        {note ? <div className={styles.note}>{note}</div> : null}
      </div>
      {children ? <div className={styles.controls}>{children}</div> : null}
    </li>
  );
}
