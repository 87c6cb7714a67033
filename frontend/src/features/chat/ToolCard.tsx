import { ChevronRight } from "lucide-react";
import { useId, useState } from "react";
import { toolLine } from "@/cards/words";
import { reveal } from "@/markdown/reveal";
import { Button } from "@/ui/Button";
import { Exact } from "@/ui/Facts";
import { Status, type StatusKind } from "@/ui/Status";
import { Elapsed } from "@/ui/Time";
import type { ToolView } from "./rows";
import styles from "./tool.module.css";

const shownOutput = 60_000;

/** One tool call in one line; it unfolds to what exactly was asked and what came out. */
export function ToolCard({ tool, onOpenReceipt }: { tool: ToolView; onOpenReceipt: (id: string) => void }) {
  const [open, setOpen] = useState(false);
  const bodyId = useId();
  const line = toolLine(tool.name, tool.args);
  const cut = tool.output.length - shownOutput;
  const { kind, word } = tool.ending;
  return (
    <div className={styles.tool}>
      <div className={styles.line}>
        <button
          type="button"
          className={styles.toggle}
          aria-expanded={open}
          aria-controls={bodyId}
          onClick={() => setOpen(!open)}
        >
          <ChevronRight aria-hidden="true" className={open ? styles.turned : undefined} />
          <Status kind={kind} word={word} quiet />
          <span className={styles.words}>
            {tool.sentence ? (
              reveal(tool.sentence)
            ) : (
              <>
                {line.verb} <code>{reveal(line.object)}</code>
              </>
            )}
          </span>
          <span className={styles.outcome}>
            {kind === "working" && tool.startedAtMs ? <Elapsed sinceMs={tool.startedAtMs} /> : null}
            {kind === "done" || kind === "working" ? null : word}
          </span>
        </button>
        {tool.receiptId ? (
          <Button kind="quiet" className={styles.receipt} onClick={() => onOpenReceipt(tool.receiptId ?? "")}>
            Receipt
          </Button>
        ) : null}
      </div>
      <div id={bodyId} hidden={!open} className={styles.body}>
        {open ? (
          <>
            <h3>Asked for</h3>
            <Exact label={`Arguments of ${tool.name}`} text={reveal(JSON.stringify(tool.args, null, 2) ?? "{}")} />
            <h3>What came out</h3>
            {tool.output ? (
              <>
                <Exact
                  label={`Output of ${tool.name}`}
                  text={reveal(cut > 0 ? tool.output.slice(-shownOutput) : tool.output)}
                />
                {cut > 0 ? <p>Only the end is shown here; the receipt has the rest.</p> : null}
              </>
            ) : (
              <p>{nothingWords(kind)}</p>
            )}
          </>
        ) : null}
      </div>
    </div>
  );
}

function nothingWords(kind: StatusKind): string {
  if (kind === "done") return "Nothing, and that is fine.";
  return kind === "working" || kind === "waiting" || kind === "needs" ? "Nothing yet." : "Nothing.";
}
