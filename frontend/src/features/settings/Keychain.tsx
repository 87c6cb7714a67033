import { type SubmitEvent, useState } from "react";
import { useConnection } from "@/state/connection";
import { chooseSecrets } from "@/state/settings";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Notice, type Tone } from "@/ui/Notice";
import { Section } from "@/ui/Page";
import { attempt } from "./change";
import styles from "./settings.module.css";

const tones: Readonly<Record<string, Tone>> = {
  keychain: "plain",
  file: "plain",
  session: "plain",
  locked: "needs",
  none: "needs",
  "file-locked": "needs",
};

/** Where keys are kept, what to do when there is no keychain, and the explicit choice of a file with a passphrase. */
export function Keychain() {
  const keychain = useConnection((state) => state.health?.keychain);
  if (!keychain) return null;
  const missing = keychain.state === "none" || keychain.state === "locked" || keychain.state === "session";
  return (
    <>
      <Section
        title="Keychain"
        lead="Keys of model providers live in the keychain of this computer, never in files or in this window."
      >
        <Notice tone={tones[keychain.state] ?? "plain"} title={keychain.sentence}>
          {keychain.remedy}
        </Notice>
      </Section>
      {keychain.state === "file-locked" ? <Passphrase verb="Unlock" choice="unlock" /> : null}
      {missing ? <Passphrase verb="Keep keys in a file" choice="file" /> : null}
      {missing && keychain.state !== "session" ? (
        <Section title="Or only until you quit" lead="Keys are kept in memory and forgotten when Countersign ends.">
          <div>
            <Button onClick={() => attempt(() => chooseSecrets("session", ""))}>Keep keys until Quit</Button>
          </div>
        </Section>
      ) : null}
    </>
  );
}

const shortest = 8;

function Passphrase({ verb, choice }: { verb: string; choice: "file" | "unlock" }) {
  const [first, setFirst] = useState("");
  const [second, setSecond] = useState("");
  const create = choice === "file";
  const differs = create && second !== "" && first !== second;
  const ready = first.length >= (create ? shortest : 1) && (!create || first === second);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!ready) return;
    attempt(async () => {
      await chooseSecrets(choice, first);
      setFirst("");
      setSecond("");
    });
  };
  return (
    <Section
      title={create ? "A file with a passphrase instead" : "Unlock the file with your keys"}
      lead={
        create
          ? "Keys are encrypted with a passphrase that only you know. You are asked for it at each start; without it the keys are lost."
          : "Models with a key wait until you unlock it. Chats and receipts work meanwhile."
      }
    >
      <form className={styles.narrow} onSubmit={submit}>
        <TextField
          label="Passphrase"
          type="password"
          autoComplete={create ? "new-password" : "current-password"}
          value={first}
          hint={create ? `At least ${shortest} characters` : undefined}
          onChange={(event) => setFirst(event.target.value)}
        />
        {create ? (
          <TextField
            label="The same again"
            type="password"
            autoComplete="new-password"
            value={second}
            error={differs ? "The two are not the same." : undefined}
            onChange={(event) => setSecond(event.target.value)}
          />
        ) : null}
        <Button type="submit" disabled={!ready}>
          {verb}
        </Button>
      </form>
    </Section>
  );
}
