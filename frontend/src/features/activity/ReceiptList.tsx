import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useRef } from "react";
import { endingOf } from "@/cards/words";
import type { Receipt } from "@/gateway/protocol.gen";
import { reveal } from "@/markdown/reveal";
import { headOf, loadMoreReceipts } from "@/state/receipts";
import { Status } from "@/ui/Status";
import { Time } from "@/ui/Time";
import styles from "./activity.module.css";

interface ReceiptListProps {
  receipts: readonly Receipt[];
  openId: string | undefined;
  hasMore: boolean;
  label: string;
  onOpen: (id: string) => void;
}

const rowPx = 45;

/** Receipts, newest first, each sentence whole; only what is in view is in the page. */
export function ReceiptList({ receipts, openId, hasMore, label, onOpen }: ReceiptListProps) {
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: receipts.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowPx,
    getItemKey: (at) => receipts[at]?.id ?? at,
    overscan: 8,
    initialRect: { width: 640, height: 640 },
  });
  const rows = list.getVirtualItems();
  const lastShown = rows[rows.length - 1]?.index ?? 0;
  useEffect(() => {
    // A page that does not come is asked for again by the next scroll.
    if (hasMore && lastShown >= receipts.length - 10) loadMoreReceipts().catch(() => undefined);
  }, [hasMore, lastShown, receipts.length]);

  const move = (event: KeyboardEvent, at: number): void => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: receipts.length - 1 }[event.key];
    if (to === undefined || to < 0 || to >= receipts.length) return;
    event.preventDefault();
    list.scrollToIndex(to);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-index="${to}"]`)?.focus());
  };

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section ref={box} className={styles.list} aria-label={label} tabIndex={0}>
      <div className={styles.canvas} style={{ height: list.getTotalSize() }}>
        {rows.map((row) => {
          const receipt = receipts[row.index];
          if (!receipt) return null;
          return (
            <button
              key={row.key}
              ref={list.measureElement}
              type="button"
              data-index={row.index}
              className={styles.row}
              aria-current={receipt.id === openId || undefined}
              style={{ transform: `translateY(${row.start}px)` }}
              onClick={() => onOpen(receipt.id)}
              onKeyDown={(event) => move(event, row.index)}
            >
              <Status {...endingOf(headOf(receipt))} quiet />
              <span className={styles.sentence} title={receipt.sentence}>
                {reveal(receipt.sentence)}
              </span>
              <span className={styles.tool}>{receipt.tool}</span>
              <span className={styles.when}>
                <Time atMs={receipt.endedAtMs} />
              </span>
            </button>
          );
        })}
      </div>
    </section>
  );
}
