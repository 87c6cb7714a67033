import { create } from "zustand";
import { sentenceOf } from "@/gateway/calls";
import type { SessionRow } from "@/gateway/protocol.gen";
import { call, freshKey } from "./link";
import { type Load, loaded, notLoaded, reloading } from "./load";

export interface SessionsState {
  rows: Readonly<Record<string, SessionRow>>;
  load: Load;
}

/** Every conversation, by key. */
export const useSessions = create<SessionsState>(() => ({ rows: {}, load: notLoaded }));

/** The session that a bare "Chat" opens. */
export const mainKey = "agent:main:main";

/** Adds or replaces a row, unless what is there is newer. */
export function withSession(rows: SessionsState["rows"], row: SessionRow): SessionsState["rows"] {
  const before = rows[row.key];
  if (before && before.version > row.version) return rows;
  return { ...rows, [row.key]: row };
}

/** Removes a row. */
export function withoutSession(rows: SessionsState["rows"], key: string): SessionsState["rows"] {
  const { [key]: _gone, ...rest } = rows;
  return rest;
}

/** What a session is called on screen. */
export function sessionTitle(row: SessionRow | undefined, key: string): string {
  const named = row?.label || row?.derivedTitle;
  if (named) return named;
  if (key === mainKey) return "Main";
  return row && row.messageCount > 0 ? "Untitled chat" : "New chat";
}

/** Sessions to list, newest first, pinned before the rest; archived ones only when asked for. */
export function listedSessions(rows: SessionsState["rows"], search: string, archived: boolean): SessionRow[] {
  const wanted = search.trim().toLowerCase();
  return Object.values(rows)
    .filter((row) => Boolean(row.archived) === archived)
    .filter(
      (row) =>
        wanted === "" || `${sessionTitle(row, row.key)} ${row.lastMessagePreview ?? ""}`.toLowerCase().includes(wanted),
    )
    .sort((a, b) => Number(b.pinned ?? false) - Number(a.pinned ?? false) || b.updatedAt - a.updatedAt);
}

export async function loadSessions(): Promise<void> {
  useSessions.setState((state) => ({ load: reloading(state.load) }));
  try {
    const page = await call("sessions.list", {
      limit: 1000,
      archived: "all",
      includeDerivedTitles: true,
      includeLastMessage: true,
    });
    const rows: Record<string, SessionRow> = {};
    for (const row of page.sessions ?? []) rows[row.key] = row;
    useSessions.setState({ rows, load: loaded });
  } catch (error) {
    useSessions.setState((state) =>
      state.load.is === "yes" ? {} : { load: { is: "failed", sentence: sentenceOf(error) } },
    );
  }
}

export async function createSession(): Promise<string> {
  const made = await call("sessions.create", { idempotencyKey: freshKey() });
  const entry = made.entry;
  if (entry) useSessions.setState((state) => ({ rows: withSession(state.rows, entry) }));
  return made.key;
}

async function patch(params: Parameters<typeof call<"sessions.patch">>[1]): Promise<void> {
  const { entry } = await call("sessions.patch", params);
  useSessions.setState((state) => ({ rows: withSession(state.rows, entry) }));
}

export const renameSession = (key: string, label: string): Promise<void> => patch({ key, label });
export const archiveSession = (key: string, archived: boolean): Promise<void> => patch({ key, archived });
export const pinSession = (key: string, pinned: boolean): Promise<void> => patch({ key, pinned });
export const chooseSessionModel = (key: string, model: string): Promise<void> => patch({ key, model });

export async function deleteSession(key: string): Promise<void> {
  await call("sessions.delete", { key, deleteTranscript: true });
  useSessions.setState((state) => ({ rows: withoutSession(state.rows, key) }));
}
