import { Command } from "cmdk";
import { CirclePause, CirclePlay, MessageSquare, Moon, Plus, Settings, ShieldCheck, Square, Sun } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { settingsSections } from "@/features/settings/SettingsPage";
import { sentenceOf } from "@/gateway/calls";
import { enterHandlers, useImeGuard } from "@/platform/ime";
import { setPaused, useConnection } from "@/state/connection";
import { usePlace } from "@/state/place";
import { verifyReceipts } from "@/state/receipts";
import { openRunOf, stopRun, useRuns } from "@/state/runs";
import { listedSessions, sessionTitle, useSessions } from "@/state/sessions";
import { patchSettings } from "@/state/settings";
import { Dialog } from "@/ui/Dialog";
import { toast } from "@/ui/Toasts";
import styles from "./palette.module.css";
import { places } from "./places";

interface Entry {
  id: string;
  label: string;
  icon: ReactNode;
  note?: string;
  run: () => unknown;
}

interface PaletteProps {
  onClose: () => void;
  go: (path: string) => void;
  newChat: () => void;
}

function useEntries({ go, newChat }: Omit<PaletteProps, "onClose">): { heading: string; entries: Entry[] }[] {
  const sessions = useSessions((state) => state.rows);
  const paused = useConnection((state) => state.health?.paused ?? false);
  const session = usePlace((state) => state.lastSession);
  const run = useRuns((state) => (session ? openRunOf(state.rows, session) : undefined));
  return useMemo(() => {
    const setTheme = (theme: string) => patchSettings({ appearance: { theme } });
    const actions: Entry[] = [
      { id: "new", label: "New chat", icon: <Plus />, run: newChat },
      ...(run
        ? [{ id: "stop", label: "Stop what is running in this chat", icon: <Square />, run: () => stopRun(run) }]
        : []),
      paused
        ? { id: "resume", label: "Resume the agent", icon: <CirclePlay />, run: () => setPaused(false) }
        : { id: "pause", label: "Pause the agent", icon: <CirclePause />, run: () => setPaused(true) },
      {
        id: "verify",
        label: "Check the chain of receipts",
        icon: <ShieldCheck />,
        run: () => {
          go("/activity");
          return verifyReceipts();
        },
      },
      { id: "light", label: "Light appearance", icon: <Sun />, run: () => setTheme("light") },
      { id: "dark", label: "Dark appearance", icon: <Moon />, run: () => setTheme("dark") },
    ];
    return [
      {
        heading: "Pages",
        entries: places.map((place) => ({
          id: place.path,
          label: place.label,
          icon: place.icon,
          run: () => go(place.path),
        })),
      },
      { heading: "Actions", entries: actions },
      {
        heading: "Settings",
        entries: settingsSections.map(({ path, label }) => ({
          id: `settings:${path}`,
          label,
          icon: <Settings />,
          note: "Settings",
          run: () => go(`/settings/${path}`),
        })),
      },
      {
        heading: "Chats",
        entries: listedSessions(sessions, "", false).map((row) => ({
          id: row.key,
          label: sessionTitle(row, row.key),
          icon: <MessageSquare />,
          run: () => go(`/chat/${encodeURIComponent(row.key)}`),
        })),
      },
    ];
  }, [sessions, paused, run, go, newChat]);
}

/** Reaches everything by typing a part of its name. */
export function Palette({ onClose, go, newChat }: PaletteProps) {
  const groups = useEntries({ go, newChat });
  const guard = useImeGuard();
  // Only the input method's Enter is kept back; the palette itself listens for the meant one.
  const keys = enterHandlers<HTMLInputElement>(guard, () => undefined);
  const choose = (entry: Entry): void => {
    onClose();
    Promise.resolve(entry.run()).catch((error: unknown) => toast(sentenceOf(error), { tone: "failed" }));
  };
  return (
    <Dialog shape="palette" title="Go to anything" onClose={onClose}>
      <Command label="Go to anything" loop>
        <Command.Input className={styles.input} placeholder="Go to a page, a chat, a setting…" autoFocus {...keys} />
        <Command.List className={styles.list}>
          <Command.Empty className={styles.empty}>Nothing has this name.</Command.Empty>
          {groups.map((group) => (
            <Command.Group key={group.heading} heading={group.heading} className={styles.group}>
              {group.entries.map((entry) => (
                <Command.Item
                  key={entry.id}
                  className={styles.item}
                  value={entry.id}
                  keywords={[entry.label, entry.note ?? ""]}
                  onSelect={() => choose(entry)}
                >
                  <span aria-hidden="true" className={styles.icon}>
                    {entry.icon}
                  </span>
                  <span className={styles.label}>{entry.label}</span>
                  {entry.note ? <span className={styles.note}>{entry.note}</span> : null}
                </Command.Item>
              ))}
            </Command.Group>
          ))}
        </Command.List>
      </Command>
    </Dialog>
  );
}
