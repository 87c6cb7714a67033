import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useCallback, useRef } from "react";
import { Button } from "@/ui/Button";
import styles from "./list.module.css";
import { useFollow } from "./useFollow";

interface MessageListProps<T extends { id: string }> {
  /** When this changes, the end is shown again: another chat, or a message of one's own. */
  startOver: string;
  items: readonly T[];
  render: (item: T) => ReactNode;
  /** Called near the top, to load what is older. */
  onTop: () => void;
  busyAbove: boolean;
}

const nearTopPx = 400;

/**
 * The conversation as a virtual list: only what is near the window is in the page. It follows new text only while its
 * end is in view; otherwise what the person reads stays where it is, also when older messages come in above.
 */
export function MessageList<T extends { id: string }>({
  startOver,
  items,
  render,
  onTop,
  busyAbove,
}: MessageListProps<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const { atEnd, onScroll, toEnd, stay } = useFollow(scroller, startOver);
  const getItemKey = useCallback((at: number) => items[at]?.id ?? at, [items]);
  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 96,
    getItemKey,
    overscan: 6,
    anchorTo: "end",
    initialRect: { width: 640, height: 640 },
  });

  const scrolled = (): void => {
    onScroll();
    if ((scroller.current?.scrollTop ?? nearTopPx) < nearTopPx) onTop();
  };

  const focusItem = (at: number): void => {
    const bounded = Math.max(0, Math.min(items.length - 1, at));
    stay();
    list.scrollToIndex(bounded, { align: "auto" });
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-index="${bounded}"]`)?.focus());
  };

  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    const row = event.target instanceof HTMLElement && event.target.dataset.index;
    const onList = event.target === scroller.current;
    if (row === undefined || row === false) {
      if (!onList || event.key !== "ArrowUp") return;
      event.preventDefault();
      focusItem(items.length - 1);
      return;
    }
    const moves: Record<string, number> = {
      ArrowUp: Number(row) - 1,
      ArrowDown: Number(row) + 1,
      Home: 0,
      End: items.length - 1,
    };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    focusItem(to);
  };

  const rows = list.getVirtualItems();
  return (
    <div className={styles.frame}>
      <div
        ref={scroller}
        className={styles.scroller}
        role="log"
        aria-live="off"
        aria-label="Conversation"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the log is the entrance to moving between messages by keyboard.
        tabIndex={0}
        onScroll={scrolled}
        onKeyDown={onKeyDown}
      >
        {busyAbove ? <p className={styles.above}>Loading older messages…</p> : null}
        <div className={styles.canvas} style={{ height: list.getTotalSize() }}>
          {rows.map((row) => {
            const item = items[row.index];
            if (!item) return null;
            return (
              <article
                key={row.key}
                ref={list.measureElement}
                data-index={row.index}
                tabIndex={-1}
                className={styles.row}
                style={{ transform: `translateY(${row.start}px)` }}
              >
                {render(item)}
              </article>
            );
          })}
        </div>
      </div>
      {atEnd ? null : (
        <Button className={styles.toEnd} icon={<ArrowDown />} onClick={toEnd}>
          Newest
        </Button>
      )}
    </div>
  );
}
