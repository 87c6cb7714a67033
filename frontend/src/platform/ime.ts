import { type CompositionEvent, type KeyboardEvent, useMemo } from "react";

/** What the guard needs to know of a key press; both DOM and React events have it. */
export interface KeyFacts {
  key: string;
  keyCode: number;
  isComposing: boolean;
  timeStamp: number;
}

// Safari ends the composition before it reports the Enter that ended it. A person cannot press a second, meant Enter
// this soon.
const sameGestureMs = 100;

/**
 * Tells an Enter that confirms an input method's candidate from an Enter that was meant. Engines report the first in
 * three ways: while composing (Chrome, Firefox), with key code 229 (WebView2, older WebKit), or just after the
 * composition has ended (Safari, WebKitGTK).
 */
export class ImeGuard {
  private composing = false;
  private sawEnter = false;
  private endedAt = Number.NEGATIVE_INFINITY;

  compositionStart(): void {
    this.composing = true;
    this.sawEnter = false;
  }

  compositionEnd(timeStamp: number): void {
    this.composing = false;
    this.endedAt = this.sawEnter ? Number.NEGATIVE_INFINITY : timeStamp;
  }

  /** Reports whether this Enter belongs to the input method. Call it once for each Enter keydown. */
  owns(event: KeyFacts): boolean {
    if (event.isComposing || this.composing || event.keyCode === 229) {
      this.sawEnter = true;
      // The end that follows, or has just passed, belongs to this very press.
      this.endedAt = Number.NEGATIVE_INFINITY;
      return true;
    }
    const sameGesture = event.timeStamp - this.endedAt < sameGestureMs;
    this.endedAt = Number.NEGATIVE_INFINITY;
    return sameGesture;
  }
}

interface EnterHandlers<T> {
  onCompositionStart: () => void;
  onCompositionEnd: (event: CompositionEvent<T>) => void;
  onKeyDown: (event: KeyboardEvent<T>) => void;
}

/**
 * Handlers for a text field in which Enter does something. onEnter is never called for an input method's Enter.
 * Other keys go to otherKey.
 */
export function enterHandlers<T>(
  guard: ImeGuard,
  onEnter: (event: KeyboardEvent<T>) => void,
  otherKey?: (event: KeyboardEvent<T>) => void,
): EnterHandlers<T> {
  return {
    onCompositionStart: () => guard.compositionStart(),
    onCompositionEnd: (event) => guard.compositionEnd(event.timeStamp),
    onKeyDown: (event) => {
      if (event.key !== "Enter") {
        otherKey?.(event);
        return;
      }
      const facts = {
        key: event.key,
        keyCode: event.keyCode,
        isComposing: event.nativeEvent.isComposing,
        timeStamp: event.timeStamp,
      };
      if (guard.owns(facts)) {
        event.stopPropagation();
        return;
      }
      onEnter(event);
    },
  };
}

/** One guard for the life of a component. */
export function useImeGuard(): ImeGuard {
  return useMemo(() => new ImeGuard(), []);
}
