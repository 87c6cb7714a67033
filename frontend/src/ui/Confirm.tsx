import { Button } from "./Button";
import { Dialog } from "./Dialog";

interface ConfirmProps {
  title: string;
  /** What will happen and what is kept, in a sentence or two. */
  text: string;
  /** The same word as on the button that opened this. */
  verb: string;
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks before something that cannot be taken back. Cancel has the focus. */
export function Confirm({ title, text, verb, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose} autoFocus>
            Cancel
          </Button>
          <Button
            kind="primary"
            onClick={() => {
              onConfirm();
              onClose();
            }}
          >
            {verb}
          </Button>
        </>
      }
    >
      <p>{text}</p>
    </Dialog>
  );
}
