import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { IconButton } from "./Button";
import styles from "./Dialog.module.css";

interface DialogProps {
  title: string;
  /** Called on Esc, on the close button and on a click beside the dialog. */
  onClose: () => void;
  children: ReactNode;
  /** Buttons, in the order they are read; the safe one first. */
  actions?: ReactNode;
  /** A sheet slides in at the right edge and takes the whole height. */
  shape?: "dialog" | "sheet" | "palette";
}

/**
 * A modal dialog on the browser's own <dialog>: focus stays inside, the page behind is inert, and no style element is
 * added to the page (which the content security policy would refuse).
 */
export function Dialog({ title, onClose, children, actions, shape = "dialog" }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();

  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) {
      dialog.showModal();
      // The first field, not the close button; a dialog without fields is read from its title on.
      const chosen = dialog.querySelector<HTMLElement>("input, select, textarea, footer button");
      (chosen ?? dialog.querySelector<HTMLElement>("h2"))?.focus();
    }
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc closes it through onCancel; the click is only the backdrop's.
    <dialog
      ref={ref}
      aria-labelledby={titleId}
      className={[styles.dialog, styles[shape]].join(" ")}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div className={styles.inside}>
        <header className={shape === "palette" ? "visually-hidden" : styles.head}>
          <h2 id={titleId} tabIndex={-1}>
            {title}
          </h2>
          {shape === "palette" ? null : (
            <IconButton label="Close" onClick={onClose}>
              <X />
            </IconButton>
          )}
        </header>
        <div className={styles.body}>{children}</div>
        {actions ? <footer className={styles.actions}>{actions}</footer> : null}
      </div>
    </dialog>
  );
}
