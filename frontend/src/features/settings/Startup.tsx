import type { StartupSettings } from "@/gateway/protocol.gen";
import { patchSettings, useSettings } from "@/state/settings";
import { Section } from "@/ui/Page";
import { Switch } from "@/ui/Switch";
import { attempt } from "./change";
import styles from "./settings.module.css";

/** Starting with the computer. */
export function Startup() {
  const startup = useSettings((state) => state.settings?.startup);
  if (!startup) return null;
  const set = (change: Partial<StartupSettings>): void =>
    attempt(() => patchSettings({ startup: { ...startup, ...change } }));
  const begins = startup.openAtLogin || startup.serveAtLogin;
  return (
    <Section title="Startup" lead="Each switch takes effect at the next login.">
      <div className={styles.switches}>
        <Switch
          label="Open when you log in"
          hint="It starts in the tray."
          checked={startup.openAtLogin}
          onChange={(openAtLogin) => set({ openAtLogin })}
        />
        <Switch
          label="Run without a window when you log in"
          hint="The same host in the background, for a computer without a screen."
          checked={startup.serveAtLogin}
          onChange={(serveAtLogin) => set({ serveAtLogin })}
        />
        <Switch
          label="Start again after a crash"
          hint={
            begins
              ? "Work goes on from its last step; what is unknown waits for you."
              : "For what starts when you log in: switch one of the two above on first."
          }
          checked={begins && startup.restartAfterCrash}
          disabled={!begins}
          onChange={(restartAfterCrash) => set({ restartAfterCrash })}
        />
      </div>
    </Section>
  );
}
