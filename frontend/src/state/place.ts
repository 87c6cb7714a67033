import { create } from "zustand";
import { recall, remember } from "@/platform/storage";

interface PlaceState {
  drafts: Readonly<Record<string, string>>;
  detailOpen: boolean;
  lastSession: string | undefined;
}

function readDrafts(): Record<string, string> {
  const stored = recall("drafts");
  if (typeof stored !== "object" || stored === null) return {};
  return Object.fromEntries(
    Object.entries(stored).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

function readText(name: string): string | undefined {
  const stored = recall(name);
  return typeof stored === "string" ? stored : undefined;
}

/** Where the person is and what they have half written; kept on this machine only. */
export const usePlace = create<PlaceState>(() => ({
  drafts: readDrafts(),
  detailOpen: recall("detail") === true,
  lastSession: readText("session"),
}));

/** Keeps a draft for a session; an empty one is forgotten. */
export function keepDraft(key: string, text: string): void {
  usePlace.setState((state) => {
    const { [key]: _before, ...rest } = state.drafts;
    const drafts = text === "" ? rest : { ...rest, [key]: text };
    remember("drafts", drafts);
    return { drafts };
  });
}

export function setDetailOpen(open: boolean): void {
  remember("detail", open);
  usePlace.setState({ detailOpen: open });
}

/** Remembers which chat was open, for the next start and for "Chat" in the navigation. */
export function rememberSession(key: string): void {
  remember("session", key);
  usePlace.setState({ lastSession: key });
}

/** Remembers the page that was open, for the next start. */
export function rememberPage(path: string): void {
  remember("page", path);
}

/** The page that was open last. */
export function lastPage(): string | undefined {
  return readText("page");
}
