const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** A size in bytes as a person says it: "812 B", "3.4 KB", "12 MB". */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["KB", "MB", "GB", "TB"] as const;
  let value = bytes;
  let unit = "B";
  for (const next of units) {
    value /= 1000;
    unit = next;
    if (value < 999.5) break;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** A duration as a person says it: "under 0.1 s", "0.4 s", "12 s", "3 min 5 s", "2 h 10 min". */
export function formatDuration(ms: number): string {
  if (ms < 100) return "under 0.1 s";
  if (ms < 1000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.round(hours / 24)} days`;
}

/** A moment relative to now: "just now", "5 min ago", "in 2 h", "yesterday", else the date. */
export function formatRelative(atMs: number, nowMs: number): string {
  const away = Math.abs(nowMs - atMs);
  const past = atMs <= nowMs;
  const say = (words: string): string => (past ? `${words} ago` : `in ${words}`);
  if (away < 45_000) return past ? "just now" : "in a moment";
  if (away < hour) return say(`${Math.max(1, Math.round(away / minute))} min`);
  if (away < 22 * hour) return say(`${Math.max(1, Math.round(away / hour))} h`);
  if (away < 7 * day) {
    const days = Math.max(1, Math.round(away / day));
    if (days === 1) return past ? "yesterday" : "tomorrow";
    return say(`${days} days`);
  }
  const date = new Date(atMs);
  const sameYear = date.getFullYear() === new Date(nowMs).getFullYear();
  return date.toLocaleDateString(undefined, {
    day: "numeric",
    month: "short",
    ...(sameYear ? {} : { year: "numeric" }),
  });
}

/** A moment in full, for hover and for the receipt. */
export function formatExact(atMs: number): string {
  return new Date(atMs).toLocaleString(undefined, { dateStyle: "full", timeStyle: "medium" });
}

/** A count with thousands set apart: 12,345. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

/** A count with its noun: "1 receipt", "3 receipts". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
