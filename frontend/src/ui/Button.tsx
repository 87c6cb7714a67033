import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import styles from "./Button.module.css";
import { Tooltip } from "./Tooltip";

type Kind = "primary" | "plain" | "quiet";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: Kind;
  icon?: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

/** A button with words. Its type is "button", so that it never submits a form by accident. */
export function Button({ kind = "plain", icon, className, children, ...rest }: ButtonProps) {
  return (
    <button type="button" className={[styles.button, styles[kind], className].filter(Boolean).join(" ")} {...rest}>
      {icon}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<ButtonProps, "children" | "kind"> {
  /** What the button does; read aloud and shown on hover. */
  label: string;
  children: ReactNode;
}

/** A button that shows only an icon, with its name as a tooltip. */
export function IconButton({ label, className, children, ...rest }: IconButtonProps) {
  return (
    <Tooltip text={label}>
      <button type="button" aria-label={label} className={[styles.icon, className].filter(Boolean).join(" ")} {...rest}>
        {children}
      </button>
    </Tooltip>
  );
}
