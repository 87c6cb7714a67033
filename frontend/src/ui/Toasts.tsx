import { X } from "lucide-react";
import { useEffect } from "react";
import { create } from "zustand";
import { Button, IconButton } from "./Button";
import styles from "./Toasts.module.css";

interface Toast {
  id: number;
  text: string;
  tone: "plain" | "failed";
  action?: { label: string; run: () => void } | undefined;
}

interface ToastState {
  toasts: readonly Toast[];
  nextId: number;
}

const useToasts = create<ToastState>(() => ({ toasts: [], nextId: 1 }));
const shownMs = 6000;
const atMost = 3;

/** Says one short thing beside what the person is doing. A failure stays until it is closed; the rest goes after 6 s. */
export function toast(text: string, options: { tone?: Toast["tone"]; action?: Toast["action"] } = {}): void {
  useToasts.setState((state) => ({
    nextId: state.nextId + 1,
    toasts: [
      ...state.toasts,
      { id: state.nextId, text, tone: options.tone ?? ("plain" as const), action: options.action },
    ].slice(-atMost),
  }));
}

/** Takes all toasts away. */
export function closeToasts(): void {
  useToasts.setState({ toasts: [] });
}

function close(id: number): void {
  useToasts.setState((state) => ({ toasts: state.toasts.filter((entry) => entry.id !== id) }));
}

function ToastRow({ entry }: { entry: Toast }) {
  const { id, tone } = entry;
  useEffect(() => {
    if (tone === "failed") return;
    const timer = setTimeout(() => close(id), shownMs);
    return () => clearTimeout(timer);
  }, [id, tone]);
  return (
    <li className={styles.toast} data-tone={tone}>
      <span className={styles.text}>{entry.text}</span>
      {entry.action ? (
        <Button
          kind="quiet"
          onClick={() => {
            entry.action?.run();
            close(id);
          }}
        >
          {entry.action.label}
        </Button>
      ) : null}
      <IconButton label="Close" onClick={() => close(id)}>
        <X />
      </IconButton>
    </li>
  );
}

/** The place where toasts appear; one in the app. It takes room, so that it covers nothing. */
export function Toasts() {
  const toasts = useToasts((state) => state.toasts);
  return (
    <section aria-label="Messages" aria-live="polite" className={styles.place}>
      <ul>
        {toasts.map((entry) => (
          <ToastRow key={entry.id} entry={entry} />
        ))}
      </ul>
    </section>
  );
}
