import { ArrowUp, Paperclip, X } from "lucide-react";
import {
  type ClipboardEvent,
  type DragEvent,
  type Ref,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { PickedFile } from "@/platform/files";
import { enterHandlers, useImeGuard } from "@/platform/ime";
import { keepDraft, usePlace } from "@/state/place";
import { Button, IconButton } from "@/ui/Button";
import { formatBytes } from "@/ui/format";
import { useAttachments } from "./attachments";
import styles from "./composer.module.css";

/** What the page can do to its composer. */
export interface ComposerHandle {
  focus: () => void;
}

interface ComposerProps {
  sessionKey: string;
  agentName: string;
  /** The message that is edited; what follows it leaves the conversation. */
  editing: { id: string; text: string } | undefined;
  onCancelEdit: () => void;
  onSend: (text: string, files: readonly PickedFile[]) => void;
  onUp: () => void;
  ref?: Ref<ComposerHandle>;
}

/** Where a message is written. Its draft belongs to the session and survives a reload. */
export function Composer({ sessionKey, agentName, editing, onCancelEdit, onSend, onUp, ref }: ComposerProps) {
  const slot = editing ? `edit:${editing.id}` : sessionKey;
  const text = usePlace((state) => state.drafts[slot]) ?? editing?.text ?? "";
  const { files, problem, add, remove, clear } = useAttachments();
  const [dragging, setDragging] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const guard = useImeGuard();

  useImperativeHandle(ref, () => ({ focus: () => area.current?.focus() }), []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the height follows the text.
  useLayoutEffect(() => {
    const box = area.current;
    if (!box) return;
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight, 240)}px`;
  }, [text]);

  const canSend = text.trim() !== "" || files.length > 0;
  const send = (): void => {
    if (!canSend) return;
    onSend(text, files);
    keepDraft(slot, "");
    clear();
  };
  const cancelEdit = (): void => {
    keepDraft(slot, "");
    onCancelEdit();
  };

  const keys = enterHandlers<HTMLTextAreaElement>(
    guard,
    (event) => {
      if (event.shiftKey || event.altKey) return;
      event.preventDefault();
      send();
    },
    (event) => {
      if (event.key === "Escape" && editing) cancelEdit();
      if (event.key === "ArrowUp" && text === "") {
        event.preventDefault();
        onUp();
      }
    },
  );

  const onPaste = (event: ClipboardEvent): void => {
    const pasted = [...event.clipboardData.files];
    if (pasted.length === 0) return;
    event.preventDefault();
    void add(pasted);
  };
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    setDragging(false);
    void add([...event.dataTransfer.files]);
  };

  return (
    <section
      className={styles.composer}
      aria-label="Write a message"
      data-dragging={dragging}
      onDragOver={(event) => {
        event.preventDefault();
        setDragging(true);
      }}
      onDragLeave={() => setDragging(false)}
      onDrop={onDrop}
    >
      {editing ? (
        <p className={styles.editing}>
          You edit an earlier message. What came after it leaves the conversation; what was done stays done.
          <Button kind="quiet" onClick={cancelEdit}>
            Keep as it was
          </Button>
        </p>
      ) : null}
      {problem ? (
        <p className={styles.problem} role="alert">
          {problem}
        </p>
      ) : null}
      <AttachedFiles files={files} onRemove={remove} />
      <div className={styles.line}>
        <IconButton label="Attach files" onClick={() => picker.current?.click()}>
          <Paperclip />
        </IconButton>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files to attach"
          onChange={(event) => {
            void add([...(event.target.files ?? [])]);
            event.target.value = "";
          }}
        />
        <textarea
          ref={area}
          rows={1}
          className={styles.area}
          aria-label={`Message to ${agentName}`}
          placeholder={dragging ? "Drop files here" : `Message ${agentName}`}
          value={text}
          onChange={(event) => keepDraft(slot, event.target.value)}
          onPaste={onPaste}
          {...keys}
        />
        <button
          type="button"
          className={styles.send}
          aria-label="Send"
          title="Send (Enter)"
          disabled={!canSend}
          onClick={send}
        >
          <ArrowUp aria-hidden="true" />
        </button>
      </div>
    </section>
  );
}

function AttachedFiles({ files, onRemove }: { files: readonly PickedFile[]; onRemove: (file: PickedFile) => void }) {
  if (files.length === 0) return null;
  return (
    <ul className={styles.files} aria-label="Attached files">
      {files.map((file, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same file may be attached twice.
        <li key={at} className={styles.file}>
          {file.mimeType.startsWith("image/") && file.mimeType !== "image/svg+xml" ? (
            <img alt="" src={`data:${file.mimeType};base64,${file.content}`} />
          ) : null}
          <span>
            {file.fileName} <span className={styles.size}>{formatBytes(file.size)}</span>
          </span>
          <IconButton label={`Remove ${file.fileName}`} onClick={() => onRemove(file)}>
            <X />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}
