import { DropdownMenu } from "radix-ui";
import { type ReactNode, useId } from "react";
import styles from "./Menu.module.css";

export interface MenuItem {
  label: string;
  icon?: ReactNode;
  /** A second, quieter line. */
  note?: string;
  checked?: boolean;
  /** Why it cannot be chosen now; it then stays in the menu, with the reason, and does nothing. */
  unavailable?: string | undefined;
  onSelect: () => void;
}

interface MenuProps {
  /** Read aloud as the name of the menu. */
  label: string;
  items: readonly MenuItem[];
  /** The button that opens it; must take a ref. */
  children: ReactNode;
  align?: "start" | "end";
}

/** A menu under a button, with arrow keys and type-ahead. */
export function Menu({ label, items, children, align = "end" }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{children}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          className={styles.menu}
          aria-label={label}
          align={align}
          sideOffset={4}
          collisionPadding={8}
        >
          {items.map((item) => (
            <Item key={item.label} item={item} />
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

// An item that cannot be chosen can still be reached by keyboard, so that its reason is read.
function Item({ item }: { item: MenuItem }) {
  const id = useId();
  const noteId = `${id}-note`;
  const note = item.unavailable ?? item.note;
  return (
    <DropdownMenu.Item
      className={styles.item}
      aria-disabled={item.unavailable ? true : undefined}
      aria-labelledby={id}
      aria-describedby={note ? noteId : undefined}
      aria-current={item.checked ? "true" : undefined}
      onSelect={(event) => {
        if (item.unavailable) event.preventDefault();
        else item.onSelect();
      }}
    >
      <span className={styles.icon}>{item.checked ? "✓" : item.icon}</span>
      <span>
        <span id={id}>{item.label}</span>
        {note ? (
          <span id={noteId} className={styles.note}>
            {note}
          </span>
        ) : null}
      </span>
    </DropdownMenu.Item>
  );
}
