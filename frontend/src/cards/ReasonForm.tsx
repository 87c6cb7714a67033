import { useState } from "react";
import { enterHandlers, useImeGuard } from "@/platform/ime";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import styles from "./cards.module.css";

interface ReasonFormProps {
  verb: string;
  label: string;
  busy: boolean;
  onSubmit: (reason: string) => void;
  onCancel: () => void;
}

/** One line of reason and the button that acts. */
export function ReasonForm({ verb, label, busy, onSubmit, onCancel }: ReasonFormProps) {
  const [reason, setReason] = useState("");
  const guard = useImeGuard();
  const handlers = enterHandlers<HTMLInputElement>(
    guard,
    () => onSubmit(reason.trim()),
    (event) => {
      if (event.key === "Escape") onCancel();
    },
  );
  return (
    <div className={styles.reason}>
      <div className={styles.grow}>
        <TextField
          label={label}
          value={reason}
          autoFocus
          onChange={(event) => setReason(event.target.value)}
          {...handlers}
        />
      </div>
      <Button disabled={busy} onClick={onCancel}>
        Back
      </Button>
      <Button kind="primary" disabled={busy} onClick={() => onSubmit(reason.trim())}>
        {verb}
      </Button>
    </div>
  );
}
