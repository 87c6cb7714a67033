import { create } from "zustand";

const useSaid = create<{ text: string; turn: number }>(() => ({ text: "", turn: 0 }));

/** Says something to a screen reader, politely. Callers go through an Announcer, which keeps it from flooding. */
export function sayInLiveRegion(text: string): void {
  useSaid.setState((state) => ({ text, turn: state.turn + 1 }));
}

/** The one place that screen readers listen to. */
export function LiveRegion() {
  const { text, turn } = useSaid();
  return (
    <div className="visually-hidden" aria-live="polite" aria-atomic="true" data-testid="live-region">
      {/* A no-break space on every other turn makes equal words a change, which is what is read. */}
      {turn % 2 === 0 ? text : `${text}\u00a0`}
    </div>
  );
}
