import { type SubmitEvent, useState } from "react";
import type { CeilingSettings, ExecSettings } from "@/gateway/protocol.gen";
import { patchSettings, useSettings } from "@/state/settings";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Section } from "@/ui/Page";
import { Switch } from "@/ui/Switch";
import { toast } from "@/ui/Toasts";
import { attempt } from "./change";
import styles from "./settings.module.css";

function asCount(text: string): number | undefined {
  const count = Number(text);
  return Number.isInteger(count) && count >= 1 && count <= 1_000_000 ? count : undefined;
}

const wrong = "A whole number of at least 1.";

/** The hard limits of one run, and of one command. */
export function Ceilings() {
  const settings = useSettings((state) => state.settings);
  if (!settings) return null;
  return (
    <>
      <RunLimits key={JSON.stringify(settings.ceilings)} now={settings.ceilings} />
      <CommandLimits key={JSON.stringify(settings.exec)} now={settings.exec} />
    </>
  );
}

function RunLimits({ now }: { now: CeilingSettings }) {
  const [text, setText] = useState({
    modelCalls: String(now.modelCalls),
    toolCalls: String(now.toolCalls),
    minutes: String(Math.max(1, Math.round(now.wallTimeSeconds / 60))),
  });
  const modelCalls = asCount(text.modelCalls);
  const toolCalls = asCount(text.toolCalls);
  const minutes = asCount(text.minutes);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (modelCalls === undefined || toolCalls === undefined || minutes === undefined) return;
    attempt(async () => {
      await patchSettings({ ceilings: { modelCalls, toolCalls, wallTimeSeconds: minutes * 60 } });
      toast("Ceilings saved. They hold from the next run on.");
    });
  };
  return (
    <Section
      title="For each run"
      lead="At a ceiling a run stops and asks you. Time in which it waits for you does not count."
    >
      <form className={styles.narrow} onSubmit={submit}>
        <TextField
          label="Model calls"
          inputMode="numeric"
          value={text.modelCalls}
          error={modelCalls ? undefined : wrong}
          onChange={(event) => setText({ ...text, modelCalls: event.target.value })}
        />
        <TextField
          label="Tool calls"
          inputMode="numeric"
          value={text.toolCalls}
          error={toolCalls ? undefined : wrong}
          onChange={(event) => setText({ ...text, toolCalls: event.target.value })}
        />
        <TextField
          label="Working time, in minutes"
          inputMode="numeric"
          value={text.minutes}
          error={minutes ? undefined : wrong}
          onChange={(event) => setText({ ...text, minutes: event.target.value })}
        />
        <Button type="submit" disabled={!modelCalls || !toolCalls || !minutes}>
          Save
        </Button>
      </form>
    </Section>
  );
}

function CommandLimits({ now }: { now: ExecSettings }) {
  const [seconds, setSeconds] = useState(String(now.timeoutSeconds));
  const count = asCount(seconds);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (count === undefined) return;
    attempt(async () => {
      await patchSettings({ exec: { ...now, timeoutSeconds: count } });
      toast("Saved.");
    });
  };
  return (
    <Section title="For each command">
      <form className={styles.narrow} onSubmit={submit}>
        <TextField
          label="Longest time, in seconds"
          inputMode="numeric"
          value={seconds}
          error={count ? undefined : wrong}
          onChange={(event) => setSeconds(event.target.value)}
        />
        <Button type="submit" disabled={!count}>
          Save
        </Button>
      </form>
      <Switch
        label="Commands may use the network"
        hint="Off by default: a command cannot send anything anywhere. On, each approval says so."
        checked={now.network}
        onChange={(network) => attempt(() => patchSettings({ exec: { ...now, network } }))}
      />
    </Section>
  );
}
