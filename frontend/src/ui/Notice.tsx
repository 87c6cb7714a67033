import { CircleAlert, CircleCheck, CircleHelp, Hand, Info } from "lucide-react";
import type { ReactNode } from "react";
import styles from "./Notice.module.css";

export type Tone = "plain" | "needs" | "failed" | "done" | "unknown";

const marks: Record<Tone, { icon: ReactNode; word: string }> = {
  plain: { icon: <Info />, word: "Note" },
  needs: { icon: <Hand />, word: "Needs you" },
  failed: { icon: <CircleAlert />, word: "Failed" },
  done: { icon: <CircleCheck />, word: "Done" },
  unknown: { icon: <CircleHelp />, word: "Unknown" },
};

interface NoticeProps {
  tone?: Tone;
  title: string;
  /** What is safe and what to do next. */
  children?: ReactNode;
  actions?: ReactNode;
  /** The cause in the program's words; folded until asked for. */
  details?: string | undefined;
  role?: "status" | "alert";
}

/** Something to know, in its place: what happened, what is safe, what to do next. */
export function Notice({ tone = "plain", title, children, actions, details, role }: NoticeProps) {
  const mark = marks[tone];
  return (
    <div className={[styles.notice, styles[tone]].join(" ")} role={role}>
      <span className={styles.mark} role="img" aria-label={mark.word}>
        {mark.icon}
      </span>
      <div className={styles.words}>
        <p className={styles.title}>{title}</p>
        {children ? <div className={styles.text}>{children}</div> : null}
        {details ? (
          <details className={styles.details}>
            <summary>Details</summary>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
            <pre tabIndex={0}>{details}</pre>
          </details>
        ) : null}
        {actions ? <div className={styles.actions}>{actions}</div> : null}
      </div>
    </div>
  );
}
