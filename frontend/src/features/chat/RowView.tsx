import { Brain, Check, Copy, Pencil } from "lucide-react";
import { memo, useState } from "react";
import { DecidedLine } from "@/cards/DecidedLine";
import { QuestionCard } from "@/cards/QuestionCard";
import type { Message } from "@/gateway/protocol.gen";
import { Markdown } from "@/markdown/Markdown";
import { copyText } from "@/platform/clipboard";
import { Button, IconButton } from "@/ui/Button";
import { formatBytes } from "@/ui/format";
import { Notice } from "@/ui/Notice";
import { Time } from "@/ui/Time";
import { toast } from "@/ui/Toasts";
import styles from "./row.module.css";
import { type Row, textOf } from "./rows";
import { ToolCard } from "./ToolCard";

/** What rows can set off. The functions are stable, so that a row is drawn again only when it changes. */
export interface RowActions {
  edit: (message: Message) => void;
  retry: (message: Message) => void;
  openReceipt: (id: string) => void;
}

/** One row of the conversation. */
export const RowView = memo(function RowView({ row, actions }: { row: Row; actions: RowActions }) {
  switch (row.kind) {
    case "user":
      return <UserRow message={row.message} onEdit={actions.edit} />;
    case "text":
      return <TextRow text={row.text} message={row.message} />;
    case "live":
      return <Markdown text={row.text} />;
    case "thinking":
      return <ThinkingRow text={row.text} live={row.live} redacted={row.redacted} />;
    case "tool":
      return (
        <>
          <ToolCard tool={row.tool} onOpenReceipt={actions.openReceipt} />
          {row.approval && row.approval.status !== "pending" ? (
            <div className={styles.under}>
              <DecidedLine approval={row.approval} />
            </div>
          ) : null}
          {row.question?.resolvedAtMs ? (
            <div className={styles.under}>
              <QuestionCard question={row.question} />
            </div>
          ) : null}
        </>
      );
    case "ended": {
      const { retry } = row;
      return (
        <Notice
          tone={row.how === "failed" ? "failed" : "plain"}
          title={row.how === "failed" ? "This did not work" : "Stopped"}
          actions={
            <>
              {retry ? <Button onClick={() => actions.retry(retry)}>Retry</Button> : null}
              {row.needsModel ? <a href="#/settings/models">Open models</a> : null}
            </>
          }
        >
          {row.sentence}
        </Notice>
      );
    }
  }
}, sameRow);

// Rows are built anew with each change of the transcript; equal content must not be drawn again.
function sameRow(before: { row: Row; actions: RowActions }, after: { row: Row; actions: RowActions }): boolean {
  if (before.actions !== after.actions || before.row.kind !== after.row.kind) return false;
  const a = before.row;
  const b = after.row;
  if (a.kind === "tool" && b.kind === "tool") {
    const [x, y] = [a.tool, b.tool];
    return (
      a.approval === b.approval &&
      a.question === b.question &&
      x.ending.kind === y.ending.kind &&
      x.ending.word === y.ending.word &&
      x.output === y.output &&
      x.receiptId === y.receiptId &&
      x.sentence === y.sentence
    );
  }
  if (a.kind === "user" && b.kind === "user") return a.message === b.message;
  if (a.kind === "text" && b.kind === "text") return a.text === b.text && a.message === b.message;
  if (a.kind === "thinking" && b.kind === "thinking") return a.text === b.text && a.live === b.live;
  if (a.kind === "live" && b.kind === "live") return a.text === b.text;
  if (a.kind === "ended" && b.kind === "ended")
    return a.how === b.how && a.sentence === b.sentence && a.retry === b.retry;
  return false;
}

function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    const worked = await copyText(text);
    if (!worked) toast("The clipboard cannot be reached. Select the text and copy it by hand.", { tone: "failed" });
    setCopied(worked);
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <>
      <span role="status" className="visually-hidden">
        {copied ? "Copied" : ""}
      </span>
      <IconButton label={copied ? "Copied" : label} onClick={copy}>
        {copied ? <Check /> : <Copy />}
      </IconButton>
    </>
  );
}

function UserRow({ message, onEdit }: { message: Message; onEdit: (message: Message) => void }) {
  const text = textOf(message);
  const files = (message.content ?? []).filter((block) => block.type === "file" || block.type === "image");
  return (
    <div className={styles.line}>
      <div className={styles.bubble}>
        <h2 className="visually-hidden">You</h2>
        {text ? <p className={styles.said}>{text}</p> : null}
        {files.map((file) => (
          <p key={`${file.fileName ?? file.mimeType}${file.blob ?? ""}`} className={styles.file}>
            {file.fileName || file.mimeType}
            {file.size ? ` · ${formatBytes(file.size)}` : null}
          </p>
        ))}
      </div>
      <div className={styles.tools}>
        <span className={styles.when}>
          <Time atMs={message.timestamp} />
        </span>
        <IconButton label="Edit and send again" onClick={() => onEdit(message)}>
          <Pencil />
        </IconButton>
        <CopyButton text={text} label="Copy message" />
      </div>
    </div>
  );
}

function TextRow({ text, message }: { text: string; message: Message }) {
  // Words before a tool call are a step on the way; the time and the model stand under the answer.
  const isWhole = !(message.content ?? []).some((block) => block.type === "toolCall");
  return (
    <div className={styles.text}>
      <h2 className="visually-hidden">Your agent</h2>
      <Markdown text={text} />
      {message.incomplete ? <p className={styles.cut}>This answer was cut off.</p> : null}
      {isWhole ? (
        <div className={styles.tools}>
          <CopyButton text={text} label="Copy reply" />
          <span className={styles.when}>
            <Time atMs={message.timestamp} />
            {message.model ? ` · ${message.model}` : null}
          </span>
        </div>
      ) : (
        <div className={`${styles.tools} ${styles.inside}`}>
          <CopyButton text={text} label="Copy reply" />
        </div>
      )}
    </div>
  );
}

function ThinkingRow({ text, live, redacted }: { text: string; live: boolean; redacted: boolean }) {
  if (redacted) {
    return (
      <p className={styles.redacted}>
        <Brain aria-hidden="true" /> The model thought about this; its provider keeps the words to itself.
      </p>
    );
  }
  return (
    <details className={styles.thinking}>
      <summary>
        <Brain aria-hidden="true" /> {live ? "Thinking…" : "Thought"}
      </summary>
      <p>{text}</p>
    </details>
  );
}
