import { type InputHTMLAttributes, type ReactNode, type Ref, type SelectHTMLAttributes, useId } from "react";
import styles from "./Field.module.css";

interface FieldProps {
  label: string;
  hint?: string | undefined;
  /** What is wrong with the value, and what would be right. */
  error?: string | undefined;
  /** A button that helps to fill it in. */
  beside?: ReactNode;
  children: (ids: { id: string; describedBy: string | undefined; invalid: boolean }) => ReactNode;
}

/** A label, its control, and the sentence under it. */
export function Field({ label, hint, error, beside, children }: FieldProps) {
  const id = useId();
  const noteId = `${id}-note`;
  const note = error ?? hint;
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={styles.label}>
        {label}
      </label>
      <div className={styles.line}>
        {children({ id, describedBy: note ? noteId : undefined, invalid: error !== undefined })}
        {beside}
      </div>
      {note ? (
        <p id={noteId} className={error ? styles.error : styles.hint}>
          {note}
        </p>
      ) : null}
    </div>
  );
}

interface TextFieldProps extends Omit<InputHTMLAttributes<HTMLInputElement>, "id"> {
  label: string;
  hint?: string | undefined;
  error?: string | undefined;
  beside?: ReactNode;
  ref?: Ref<HTMLInputElement>;
}

/** One line of text with its label. */
export function TextField({ label, hint, error, beside, className, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} beside={beside}>
      {({ id, describedBy, invalid }) => (
        <input
          id={id}
          aria-describedby={describedBy}
          aria-invalid={invalid || undefined}
          className={[styles.input, className].filter(Boolean).join(" ")}
          autoComplete="off"
          spellCheck={false}
          {...rest}
        />
      )}
    </Field>
  );
}

interface SelectFieldProps extends Omit<SelectHTMLAttributes<HTMLSelectElement>, "id"> {
  label: string;
  hint?: string | undefined;
  options: readonly { value: string; label: string }[];
}

/** A choice of one; the system's own list, which every reader and keyboard knows. */
export function SelectField({ label, hint, options, ...rest }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint}>
      {({ id, describedBy }) => (
        <select id={id} aria-describedby={describedBy} className={styles.input} {...rest}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
