import { X } from "lucide-react";
import { type ReactNode, useSyncExternalStore } from "react";
import { IconButton } from "./Button";
import styles from "./DetailPane.module.css";
import { Dialog } from "./Dialog";

const wideQuery = "(min-width: 1100px)";

function watch(listen: () => void): () => void {
  const query = window.matchMedia(wideQuery);
  query.addEventListener("change", listen);
  return () => query.removeEventListener("change", listen);
}

/** Reports whether there is room for a third pane. */
export function useWide(): boolean {
  return useSyncExternalStore(watch, () => window.matchMedia(wideQuery).matches);
}

interface DetailPaneProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
}

/** The pane at the right; where the window is too narrow for it, a sheet over the page. */
export function DetailPane({ title, onClose, children }: DetailPaneProps) {
  const wide = useWide();
  if (!wide) {
    return (
      <Dialog shape="sheet" title={title} onClose={onClose}>
        {children}
      </Dialog>
    );
  }
  return (
    <aside className={styles.pane} aria-label={title}>
      <header className={styles.head}>
        <h2>{title}</h2>
        <IconButton label="Close details" onClick={onClose}>
          <X />
        </IconButton>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <section className={styles.body} tabIndex={0} aria-label={`${title}, content`}>
        {children}
      </section>
    </aside>
  );
}

/** A page with room for a detail pane beside it. */
export function WithDetail({ children, detail }: { children: ReactNode; detail: ReactNode }) {
  return (
    <div className={styles.split}>
      <div className={styles.main}>{children}</div>
      {detail}
    </div>
  );
}
