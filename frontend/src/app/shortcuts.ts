import { useEffect } from "react";
import { places } from "./places";

export interface ShortcutActions {
  palette: () => void;
  go: (path: string) => void;
  newChat: () => void;
}

/** The action a key press stands for; nothing for all others. */
export function shortcutOf(
  event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey" | "isComposing">,
): "palette" | "newChat" | number | undefined {
  if (event.isComposing || event.altKey || event.shiftKey || !(event.ctrlKey || event.metaKey)) return undefined;
  const key = event.key.toLowerCase();
  if (key === "k") return "palette";
  if (key === "n") return "newChat";
  const digit = Number(key);
  return Number.isInteger(digit) && digit >= 1 && digit <= places.length ? digit - 1 : undefined;
}

/** Listens for the shortcuts of the whole window. */
export function useShortcuts(actions: ShortcutActions): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const shortcut = shortcutOf(event);
      if (shortcut === undefined) return;
      event.preventDefault();
      if (shortcut === "palette") actions.palette();
      else if (shortcut === "newChat") actions.newChat();
      else actions.go(places[shortcut]?.path ?? "/chat");
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [actions]);
}
