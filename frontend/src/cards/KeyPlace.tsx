import { type SubmitEvent, useState } from "react";
import { sentenceOf } from "@/gateway/calls";
import { useConnection } from "@/state/connection";
import { useModels } from "@/state/models";
import { chooseSecrets } from "@/state/settings";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Notice } from "@/ui/Notice";
import { Section } from "@/ui/Page";
import { toast } from "@/ui/Toasts";
import styles from "./form.module.css";

function choose(choice: "file" | "unlock" | "session", passphrase: string): Promise<boolean> {
  return chooseSecrets(choice, passphrase).then(
    () => true,
    (error: unknown) => {
      toast(sentenceOf(error), { tone: "failed" });
      return false;
    },
  );
}

/**
 * Where keys are kept now, and what to choose where there is no keychain: a file under a passphrase, or memory. It is
 * amber only when somebody waits for it: a model whose key cannot be read, or the one who is about to write a key.
 */
export function KeyPlace({ isNeeded }: { isNeeded: boolean }) {
  const keychain = useConnection((state) => state.health?.keychain);
  const hasKeys = useModels((state) => state.rows.some((row) => row.hasKey));
  if (!keychain) return null;
  const { state } = keychain;
  const isOpen = state === "keychain" || state === "file" || state === "session";
  const mayChoose = state === "none" || state === "locked" || state === "session";
  return (
    <>
      <Notice tone={!isOpen && (isNeeded || hasKeys) ? "needs" : "plain"} title={keychain.sentence}>
        {keychain.remedy}
      </Notice>
      {state === "file-locked" ? <Passphrase choice="unlock" /> : null}
      {mayChoose ? <Passphrase choice="file" /> : null}
      {mayChoose && state !== "session" ? (
        <Section title="Or only until you quit" lead="Keys are kept in memory and forgotten when Countersign ends.">
          <div>
            <Button onClick={() => choose("session", "")}>Keep keys until Quit</Button>
          </div>
        </Section>
      ) : null}
    </>
  );
}

const shortest = 8;

function Passphrase({ choice }: { choice: "file" | "unlock" }) {
  const [first, setFirst] = useState("");
  const [second, setSecond] = useState("");
  const create = choice === "file";
  const differs = create && second !== "" && first !== second;
  const ready = first.length >= (create ? shortest : 1) && (!create || first === second);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!ready) return;
    void choose(choice, first).then((chosen) => {
      if (!chosen) return;
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
          {create ? "Keep keys in a file" : "Unlock"}
        </Button>
      </form>
    </Section>
  );
}
