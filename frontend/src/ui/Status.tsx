import {
  Ban,
  Circle,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CircleHelp,
  CircleStop,
  Hand,
  LoaderCircle,
  Undo2,
} from "lucide-react";
import type { ReactNode } from "react";
import styles from "./Status.module.css";

export type StatusKind =
  | "done"
  | "ended"
  | "failed"
  | "needs"
  | "unknown"
  | "working"
  | "stopped"
  | "waiting"
  | "denied"
  | "undone"
  | "idle";

const icons: Record<StatusKind, ReactNode> = {
  done: <CircleCheck />,
  ended: <CircleDot />,
  failed: <CircleAlert />,
  needs: <Hand />,
  unknown: <CircleHelp />,
  working: <LoaderCircle className={styles.turning} />,
  stopped: <CircleStop />,
  waiting: <CircleDashed />,
  denied: <Ban />,
  undone: <Undo2 />,
  idle: <Circle />,
};

/** A state by shape, colour and word; the word may be hidden, but it is always read. */
export function Status({ kind, word, quiet = false }: { kind: StatusKind; word: string; quiet?: boolean }) {
  return (
    <span className={[styles.status, styles[kind]].join(" ")}>
      <span aria-hidden="true" className={styles.icon} title={quiet ? word : undefined}>
        {icons[kind]}
      </span>
      <span className={quiet ? "visually-hidden" : styles.word}>{word}</span>
    </span>
  );
}

/** How many of something wait; nothing when none do. */
export function Count({ count, what, needs = false }: { count: number; what: string; needs?: boolean }) {
  if (count === 0) return null;
  return (
    <span className={needs ? styles.countNeeds : styles.count}>
      {count > 99 ? "99+" : count}
      <span className="visually-hidden"> {what}</span>
    </span>
  );
}
