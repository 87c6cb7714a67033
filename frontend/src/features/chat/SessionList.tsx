import { Archive, Ellipsis, Pencil, Pin, Plus, Trash2 } from "lucide-react";
import { useRef, useState } from "react";
import { useLocation } from "wouter";
import { sentenceOf } from "@/gateway/calls";
import type { SessionRow, SessionStatus } from "@/gateway/protocol.gen";
import { enterHandlers, useImeGuard } from "@/platform/ime";
import {
  archiveSession,
  createSession,
  deleteSession,
  listedSessions,
  loadSessions,
  mainKey,
  pinSession,
  renameSession,
  sessionTitle,
  useSessions,
} from "@/state/sessions";
import { Button, IconButton } from "@/ui/Button";
import { Confirm } from "@/ui/Confirm";
import { Loading } from "@/ui/Empty";
import { Menu } from "@/ui/Menu";
import { Status, type StatusKind } from "@/ui/Status";
import { Time } from "@/ui/Time";
import { toast } from "@/ui/Toasts";
import styles from "./sessions.module.css";

const marks: Partial<Record<SessionStatus, { kind: StatusKind; word: string }>> = {
  queued: { kind: "waiting", word: "Waiting its turn" },
  running: { kind: "working", word: "Working" },
  parked: { kind: "needs", word: "Needs you" },
  failed: { kind: "failed", word: "Failed" },
};

// A first start, and "Chat" without any other, lead to this one.
const mainStays = "The main chat always stays.";

function complain(error: unknown): void {
  toast(sentenceOf(error), { tone: "failed" });
}

/** Every chat: open, start, search, rename, archive, delete. */
export function SessionList({ current }: { current: string | undefined }) {
  const { rows, load } = useSessions();
  const [, go] = useLocation();
  const [search, setSearch] = useState("");
  const [archived, setArchived] = useState(false);
  const [renaming, setRenaming] = useState<string>();
  const [deleting, setDeleting] = useState<SessionRow>();
  const listed = listedSessions(rows, search, archived);
  const hasArchived = Object.values(rows).some((row) => row.archived);

  const create = (): void => {
    createSession().then((key) => go(`/chat/${encodeURIComponent(key)}`), complain);
  };

  return (
    <section className={styles.sessions} aria-label="Chats">
      <div className={styles.top}>
        <input
          type="search"
          className={styles.search}
          placeholder={archived ? "Search archived chats" : "Search chats"}
          aria-label="Search chats"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <IconButton label="New chat" onClick={create}>
          <Plus />
        </IconButton>
      </div>
      {load.is === "failed" ? (
        <div className={styles.note}>
          {load.sentence} <Button onClick={() => loadSessions()}>Try again</Button>
        </div>
      ) : null}
      {load.is === "loading" ? <Loading what="chats" lines={5} /> : null}
      {load.is === "yes" && listed.length === 0 ? (
        <p className={styles.note}>
          {search ? "No chat has these words." : archived ? "Nothing is archived." : "Your chats will be listed here."}
        </p>
      ) : null}
      <ul className={styles.list}>
        {listed.map((row) =>
          renaming === row.key ? (
            <RenameRow key={row.key} row={row} onDone={() => setRenaming(undefined)} />
          ) : (
            <li key={row.key} className={styles.row} data-current={row.key === current}>
              <a
                className={styles.link}
                href={`#/chat/${encodeURIComponent(row.key)}`}
                aria-current={row.key === current ? "page" : undefined}
              >
                <span className={styles.title}>{sessionTitle(row, row.key)}</span>
                <span className={styles.sub}>
                  <StatusMark status={row.status} />
                  {row.pinned ? <Pin aria-label="Pinned" /> : null}
                  <Time atMs={row.updatedAt} />
                </span>
              </a>
              <Menu
                label={`Actions for ${sessionTitle(row, row.key)}`}
                items={[
                  { label: "Rename", icon: <Pencil />, onSelect: () => setRenaming(row.key) },
                  {
                    label: row.pinned ? "Unpin" : "Pin",
                    icon: <Pin />,
                    onSelect: () => pinSession(row.key, !row.pinned).catch(complain),
                  },
                  {
                    label: row.archived ? "Bring back" : "Archive",
                    icon: <Archive />,
                    unavailable: row.key === mainKey ? mainStays : undefined,
                    onSelect: () => archiveSession(row.key, !row.archived).catch(complain),
                  },
                  {
                    label: "Delete…",
                    icon: <Trash2 />,
                    unavailable: row.key === mainKey ? mainStays : undefined,
                    onSelect: () => setDeleting(row),
                  },
                ]}
              >
                <IconButton label={`Actions for ${sessionTitle(row, row.key)}`} className={styles.more}>
                  <Ellipsis />
                </IconButton>
              </Menu>
            </li>
          ),
        )}
      </ul>
      {hasArchived || archived ? (
        <Button kind="quiet" className={styles.archive} onClick={() => setArchived(!archived)}>
          {archived ? "Back to chats" : "Archived chats"}
        </Button>
      ) : null}
      {deleting ? (
        <Confirm
          title="Delete this chat?"
          text={`“${sessionTitle(deleting, deleting.key)}” and what was said in it are deleted for good. Receipts of what was done stay in Activity.`}
          verb="Delete"
          onClose={() => setDeleting(undefined)}
          onConfirm={() => {
            deleteSession(deleting.key).then(() => {
              if (deleting.key === current) go("/chat");
            }, complain);
          }}
        />
      ) : null}
    </section>
  );
}

function StatusMark({ status }: { status: SessionStatus }) {
  const mark = marks[status];
  return mark ? <Status kind={mark.kind} word={mark.word} quiet /> : null;
}

function RenameRow({ row, onDone }: { row: SessionRow; onDone: () => void }) {
  const [name, setName] = useState(sessionTitle(row, row.key));
  const guard = useImeGuard();
  const saved = useRef(false);
  const save = (): void => {
    // Leaving the field after Enter saves only once.
    if (saved.current) return;
    saved.current = true;
    const label = name.trim();
    if (label && label !== row.label) renameSession(row.key, label).catch(complain);
    onDone();
  };
  const keys = enterHandlers<HTMLInputElement>(guard, save, (event) => {
    if (event.key !== "Escape") return;
    saved.current = true;
    onDone();
  });
  return (
    <li className={styles.row}>
      <input
        className={styles.rename}
        aria-label="New name"
        // biome-ignore lint/a11y/noAutofocus: the person has just asked to type here.
        autoFocus
        value={name}
        onChange={(event) => setName(event.target.value)}
        onBlur={save}
        {...keys}
      />
    </li>
  );
}
