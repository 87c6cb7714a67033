const prefix = "countersign.";

/** Reads a small thing the page remembers on this machine. Anything unreadable counts as not there. */
export function recall(name: string): unknown {
  try {
    const text = localStorage.getItem(prefix + name);
    return text === null ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

/** Remembers a small thing on this machine; never a secret. A full or missing storage is not an error for anyone. */
export function remember(name: string, value: unknown): void {
  try {
    if (value === undefined) localStorage.removeItem(prefix + name);
    else localStorage.setItem(prefix + name, JSON.stringify(value));
  } catch {
    // Private mode or a full disk: the page works, it only forgets.
  }
}
