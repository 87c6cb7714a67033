import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import styles from "./Menu.module.css";

export interface MenuItem {
  label: string;
  icon?: ReactNode;
  /** A second, quieter line. */
  note?: string;
  checked?: boolean;
  disabled?: boolean;
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
            <DropdownMenu.Item
              key={item.label}
              className={styles.item}
              disabled={item.disabled ?? false}
              onSelect={item.onSelect}
              aria-current={item.checked ? "true" : undefined}
            >
              <span className={styles.icon}>{item.checked ? "✓" : item.icon}</span>
              <span>
                {item.label}
                {item.note ? <span className={styles.note}>{item.note}</span> : null}
              </span>
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
