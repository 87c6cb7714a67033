import { useState } from "react";
import { CallError, sentenceOf } from "@/gateway/calls";
import type { ModelProvider, ModelRow, ModelsTestResult } from "@/gateway/protocol.gen";
import { enterHandlers, useImeGuard } from "@/platform/ime";
import { useConnection } from "@/state/connection";
import { addModel, testModel } from "@/state/models";
import { Button } from "@/ui/Button";
import { SelectField, TextField } from "@/ui/Field";
import { Notice } from "@/ui/Notice";
import { Switch } from "@/ui/Switch";
import styles from "./form.module.css";
import { keyPlace } from "./words";

type Kind = "anthropic" | "openai" | "other";

const kinds: readonly { value: Kind; label: string }[] = [
  { value: "anthropic", label: "Anthropic" },
  { value: "openai", label: "OpenAI" },
  { value: "other", label: "Another with the OpenAI interface (Ollama, LM Studio, OpenRouter, vLLM…)" },
];

const firstModel: Record<Kind, string> = { anthropic: "claude-sonnet-4-5", openai: "gpt-5.1", other: "" };

function kindOf(row: ModelRow | undefined): Kind {
  if (row?.provider === "openai") return row.baseUrl ? "other" : "openai";
  return "anthropic";
}

interface ModelFormProps {
  /** The model that is changed; none to add one. */
  row?: ModelRow | undefined;
  isFirst: boolean;
  onDone: (row: ModelRow) => void;
  onCancel: () => void;
}

// A key that could not be stored now is better not written at all.
function keyHint(state: string | undefined): string {
  switch (state) {
    case "session":
      return "It is kept in memory until you quit, and never shown again.";
    case "locked":
      return "The keychain is locked; unlock it before you save.";
    case "file-locked":
      return "The file with your keys is locked; unlock it before you save.";
    case "none":
      return "There is no keychain here; choose where keys are kept before you save.";
    default:
      return `It goes straight into ${keyPlace(state) ?? "where your keys are kept"}, and is never shown again.`;
  }
}

/** Adds or changes a model. The key is written once, straight to where keys are kept, and never comes back. */
export function ModelForm({ row, isFirst, onDone, onCancel }: ModelFormProps) {
  const [kind, setKind] = useState<Kind>(kindOf(row));
  const [name, setName] = useState(row?.name ?? "");
  const [model, setModel] = useState(row?.model ?? firstModel.anthropic);
  const [baseUrl, setBaseUrl] = useState(row?.baseUrl ?? "");
  const [key, setKey] = useState("");
  const [noKey, setNoKey] = useState(row?.noKey ?? false);
  const [busy, setBusy] = useState<"" | "test" | "save">("");
  const [tested, setTested] = useState<ModelsTestResult>();
  const [problem, setProblem] = useState<{ sentence: string; keychain: boolean }>();
  const guard = useImeGuard();
  const keychain = useConnection((state) => state.health?.keychain.state);

  const provider: ModelProvider = kind === "anthropic" ? "anthropic" : "openai";
  const finalName = row?.id ?? (name.trim() || model.trim());
  const other = kind === "other";
  const withoutKey = other && noKey;
  const incomplete =
    model.trim() === "" || (other && baseUrl.trim() === "") || (!row?.hasKey && !withoutKey && key === "");

  const shared = {
    provider,
    model: model.trim(),
    ...(other ? { baseUrl: baseUrl.trim() } : {}),
    ...(withoutKey ? { noKey: true } : {}),
    ...(key && !withoutKey ? { key } : {}),
  };
  const attempt = async (what: "test" | "save", act: () => Promise<void>): Promise<void> => {
    setBusy(what);
    setProblem(undefined);
    try {
      await act();
    } catch (error) {
      setProblem({
        sentence: sentenceOf(error),
        keychain: error instanceof CallError && error.details?.code === "KEYCHAIN_UNAVAILABLE",
      });
    } finally {
      setBusy("");
    }
  };
  const test = (): Promise<void> =>
    attempt("test", async () => setTested(await testModel({ ...shared, ...(row ? { name: row.id } : {}) })));
  const save = (): Promise<void> =>
    attempt("save", async () => {
      const stored = await addModel({
        ...shared,
        name: finalName,
        ...(isFirst || row?.default ? { default: true } : {}),
      });
      setKey("");
      onDone(stored);
    });
  const enter = enterHandlers<HTMLFormElement>(guard, (event) => {
    if (!(event.target instanceof HTMLInputElement)) return;
    event.preventDefault();
    if (!incomplete && busy === "") void save();
  });

  return (
    <form
      className={styles.form}
      aria-label={row ? `Change ${row.name}` : "Add a model"}
      onSubmit={(event) => event.preventDefault()}
      {...enter}
    >
      <SelectField
        label="Provider"
        value={kind}
        options={kinds}
        onChange={(event) => {
          const next = kinds.find((each) => each.value === event.target.value)?.value ?? "anthropic";
          setKind(next);
          setModel(firstModel[next]);
          setTested(undefined);
        }}
      />
      {other ? (
        <TextField
          label="Address"
          placeholder="http://127.0.0.1:11434/v1"
          value={baseUrl}
          onChange={(event) => setBaseUrl(event.target.value)}
        />
      ) : null}
      <TextField
        label="Model"
        hint="What the provider calls it"
        value={model}
        list="known-models"
        onChange={(event) => setModel(event.target.value)}
      />
      <datalist id="known-models">
        {(tested?.models ?? []).map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      {row ? null : (
        <TextField
          label="Name"
          hint="What you call it here"
          placeholder={model}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      )}
      {other ? <Switch label="It needs no key" checked={noKey} onChange={setNoKey} /> : null}
      {withoutKey ? null : (
        <TextField
          label="Key"
          type="password"
          autoComplete="new-password"
          placeholder={row?.hasKey ? "A key is stored; write a new one to replace it" : ""}
          hint={keyHint(keychain)}
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
      )}
      {tested ? <Notice tone={tested.ok ? "done" : "failed"} role="status" title={tested.sentence} /> : null}
      {problem ? (
        <Notice
          tone="failed"
          role="alert"
          title={problem.sentence}
          actions={problem.keychain ? <a href="#/settings/keychain">Choose where keys are kept</a> : null}
        />
      ) : null}
      <div className={styles.actions}>
        <Button disabled={incomplete || busy !== ""} onClick={test}>
          {busy === "test" ? "Testing…" : "Test"}
        </Button>
        <span className={styles.space} />
        <Button disabled={busy === "save"} onClick={onCancel}>
          Cancel
        </Button>
        <Button kind="primary" disabled={incomplete || busy !== ""} onClick={save}>
          {busy === "save" ? "Saving…" : "Save"}
        </Button>
      </div>
    </form>
  );
}
