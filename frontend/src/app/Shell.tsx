import { Menu as MenuIcon } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { SessionList } from "@/features/chat/SessionList";
import { sentenceOf } from "@/gateway/calls";
import { watchAsked } from "@/platform/window";
import { useNeedsCount } from "@/state/needs";
import { rememberPage } from "@/state/place";
import { createSession } from "@/state/sessions";
import { IconButton } from "@/ui/Button";
import { Toasts, toast } from "@/ui/Toasts";
import { Banner } from "./Banner";
import { Boundary } from "./Boundary";
import { Nav } from "./Nav";
import { Palette } from "./Palette";
import { Pages } from "./routes";
import styles from "./shell.module.css";
import { type ShortcutActions, useShortcuts } from "./shortcuts";

function sessionIn(path: string): string | undefined {
  const key = /^\/chat\/(.+)$/.exec(path)?.[1];
  if (key === undefined) return undefined;
  try {
    return decodeURIComponent(key);
  } catch {
    return undefined;
  }
}

/** The list at the left, the page in the middle; the page brings its own detail pane. */
export function Shell({ onRetry }: { onRetry: () => void }) {
  const [path, go] = useLocation();
  const [palette, setPalette] = useState(false);
  const [listOpen, setListOpen] = useState(false);
  const needs = useNeedsCount();

  useEffect(() => {
    rememberPage(path);
    setListOpen(false);
  }, [path]);
  useEffect(() => {
    document.title = needs > 0 ? `(${needs}) Countersign` : "Countersign";
  }, [needs]);

  useEffect(() => watchAsked(() => go("/needs-you")), [go]);

  const actions = useMemo<ShortcutActions>(
    () => ({
      palette: () => setPalette((open) => !open),
      go,
      newChat: () =>
        void createSession().then(
          (key) => go(`/chat/${encodeURIComponent(key)}`),
          (error: unknown) => toast(sentenceOf(error), { tone: "failed" }),
        ),
    }),
    [go],
  );
  useShortcuts(actions);

  return (
    <div className={styles.shell}>
      <Banner onRetry={onRetry} />
      <div className={styles.panes} data-list={listOpen}>
        <div className={styles.opener}>
          <IconButton label="Pages and chats" aria-expanded={listOpen} onClick={() => setListOpen(!listOpen)}>
            <MenuIcon />
          </IconButton>
        </div>
        <div className={styles.list}>
          <Nav onPalette={actions.palette} />
          {path.startsWith("/chat") ? <SessionList current={sessionIn(path)} /> : null}
        </div>
        <div className={styles.toasts}>
          <Toasts />
        </div>
        <main className={styles.page}>
          <Boundary resetOn={path}>
            <Pages />
          </Boundary>
        </main>
      </div>
      {palette ? <Palette onClose={() => setPalette(false)} go={go} newChat={actions.newChat} /> : null}
    </div>
  );
}
