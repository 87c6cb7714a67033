import { useSyncExternalStore } from "react";
import { formatDuration, formatExact, formatRelative } from "./format";

// One clock for all moments on screen; it ticks only while something shows the time.
function clock(everyMs: number): { subscribe: (listen: () => void) => () => void; now: () => number } {
  const listeners = new Set<() => void>();
  let now = Date.now();
  let timer: ReturnType<typeof setInterval> | undefined;
  return {
    subscribe(listen) {
      listeners.add(listen);
      now = Date.now();
      timer ??= setInterval(() => {
        now = Date.now();
        for (const each of listeners) each();
      }, everyMs);
      return () => {
        listeners.delete(listen);
        if (listeners.size === 0) {
          clearInterval(timer);
          timer = undefined;
        }
      };
    },
    now: () => now,
  };
}

const slow = clock(20_000);
const fast = clock(1000);

/** A moment, relative, with the exact time on hover. */
export function Time({ atMs }: { atMs: number }) {
  // The clock ticks slowly: what has just happened must not seem to lie ahead of it.
  const now = useSyncExternalStore(slow.subscribe, slow.now);
  return (
    <time dateTime={new Date(atMs).toISOString()} title={formatExact(atMs)}>
      {formatRelative(atMs, Math.max(now, Math.min(atMs, Date.now())))}
    </time>
  );
}

/** The time now, told once a second for as long as something listens. */
export function useNow(): number {
  return useSyncExternalStore(fast.subscribe, fast.now);
}

/** How long ago something began, counting. Not announced to screen readers, who would hear every second. */
export function Elapsed({ sinceMs }: { sinceMs: number }) {
  const now = useNow();
  return <span title={formatExact(sinceMs)}>{formatDuration(Math.max(1000, now - sinceMs))}</span>;
}
