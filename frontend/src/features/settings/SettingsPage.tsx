import { loadSettings, useSettings } from "@/state/settings";
import { Button } from "@/ui/Button";
import { Loading } from "@/ui/Empty";
import { Notice } from "@/ui/Notice";
import { Page } from "@/ui/Page";
import { About } from "./About";
import { Appearance } from "./Appearance";
import { Ceilings } from "./Ceilings";
import { Connections } from "./Connections";
import { Folders } from "./Folders";
import { Keychain } from "./Keychain";
import { Models } from "./Models";
import { Startup } from "./Startup";
import styles from "./settings.module.css";

const sections = [
  { path: "models", label: "Models", Part: Models },
  { path: "keychain", label: "Keys", Part: Keychain },
  { path: "folders", label: "Folders", Part: Folders },
  { path: "ceilings", label: "Ceilings", Part: Ceilings },
  { path: "appearance", label: "Appearance", Part: Appearance },
  { path: "startup", label: "Startup", Part: Startup },
  { path: "connections", label: "Connections", Part: Connections },
  { path: "about", label: "About", Part: About },
] as const;

/** The names of the sections, for the palette. */
export const settingsSections = sections.map(({ path, label }) => ({ path, label }));

/** What the owner can set, one section at a time. */
export function SettingsPage({ section }: { section: string | undefined }) {
  const load = useSettings((state) => state.load);
  const problems = useSettings((state) => state.settings?.problems);
  const current = sections.find((each) => each.path === section) ?? sections[0];
  return (
    <Page
      title="Settings"
      tools={
        <nav aria-label="Settings">
          <ul className={styles.tabs}>
            {sections.map(({ path, label }) => (
              <li key={path}>
                <a
                  className={styles.tab}
                  href={`#/settings/${path}`}
                  aria-current={path === current.path ? "page" : undefined}
                >
                  {label}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      }
    >
      {(problems ?? []).map((problem) => (
        <div key={`${problem.path}${problem.line ?? ""}`} className={styles.problem}>
          <Notice tone="failed" title={problem.sentence}>
            In {problem.path}
            {problem.line ? `, line ${problem.line}` : ""}. The rest of your settings holds.
          </Notice>
        </div>
      ))}
      {load.is === "failed" ? (
        <Notice
          tone="failed"
          title="Settings cannot be loaded right now"
          actions={<Button onClick={() => loadSettings()}>Try again</Button>}
        >
          {load.sentence}
        </Notice>
      ) : null}
      {load.is === "yes" ? <current.Part /> : null}
      {load.is === "loading" || load.is === "no" ? <Loading what="settings" /> : null}
    </Page>
  );
}
