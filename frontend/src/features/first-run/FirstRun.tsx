import { Bot, Cpu } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { KeyPlace } from "@/cards/KeyPlace";
import { ModelForm } from "@/cards/ModelForm";
import { Offers } from "@/cards/Offers";
import { keyPlace } from "@/cards/words";
import { sentenceOf } from "@/gateway/calls";
import { useMainAgent } from "@/state/agents";
import { useConnection } from "@/state/connection";
import { findModels, makeDefaultModel, useModels } from "@/state/models";
import { patchSettings } from "@/state/settings";
import { Button } from "@/ui/Button";
import { Notice } from "@/ui/Notice";
import styles from "./first.module.css";
import { NameAgent } from "./NameAgent";

type Step = "model" | "agent";

/** The first minute: a model or practice, a name, a folder. Every step can be left as it is. */
export function FirstRun({ onDone }: { onDone: () => void }) {
  const [step, setStep] = useState<Step>("model");
  const [problem, setProblem] = useState<string>();
  const agent = useMainAgent();

  const finish = async (): Promise<void> => {
    try {
      await patchSettings({ firstRunDone: true });
      onDone();
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };
  const practise = async (): Promise<void> => {
    try {
      const practice = useModels.getState().rows.find((row) => row.provider === "practice");
      if (practice && !practice.default) await makeDefaultModel(practice);
      setStep("agent");
    } catch (error) {
      setProblem(sentenceOf(error));
    }
  };

  return (
    <main className={styles.screen}>
      <div className={styles.card}>
        <header>
          <p className={styles.brand}>Countersign</p>
          <h1>{step === "model" ? "What should your agent think with?" : "Who works for you, and where?"}</h1>
          <p className={styles.lead}>
            {step === "model"
              ? "You are asked before anything changes, and each act leaves a receipt. You can change all of this later."
              : "Its files stay in one folder. It cannot reach any other until you add it."}
          </p>
        </header>
        {problem ? <Notice tone="failed" role="alert" title={problem} /> : null}
        {step === "model" ? (
          <PickModel onPractice={practise} onChosen={() => setStep("agent")} />
        ) : (
          <NameAgent
            key={agent?.id ?? "none"}
            agent={agent}
            onBack={() => setStep("model")}
            onDone={finish}
            onProblem={setProblem}
          />
        )}
      </div>
    </main>
  );
}

function Choice({
  icon,
  title,
  children,
  action,
}: {
  icon: ReactNode;
  title: string;
  children: ReactNode;
  action: ReactNode;
}) {
  return (
    <section className={styles.choice} aria-label={title}>
      <span className={styles.icon} aria-hidden="true">
        {icon}
      </span>
      <div className={styles.words}>
        <h2>{title}</h2>
        <p>{children}</p>
      </div>
      {action}
    </section>
  );
}

function keyWords(state: string | undefined): string {
  const place = keyPlace(state);
  if (state === "none") return "There is no keychain here, so you choose where the key is kept.";
  return place ? `The key is kept in ${place}.` : "";
}

function PickModel({ onPractice, onChosen }: { onPractice: () => void; onChosen: () => void }) {
  const { rows, offers, offersLoad } = useModels();
  const keychain = useConnection((state) => state.health?.keychain);
  const [adding, setAdding] = useState(false);
  // Once a place was chosen it is still said which, where the choice was.
  const [wasClosed, setWasClosed] = useState(false);
  if (adding && !wasClosed && keychain && !["keychain", "file", "session"].includes(keychain.state)) setWasClosed(true);
  useEffect(() => void findModels(), []);
  const ready = rows.find((row) => row.default && row.provider !== "practice");
  if (adding) {
    return (
      <>
        {wasClosed ? <KeyPlace isNeeded /> : null}
        <ModelForm isFirst onCancel={() => setAdding(false)} onDone={onChosen} />
      </>
    );
  }
  return (
    <div className={styles.choices}>
      {ready ? (
        <Choice
          icon={<Cpu />}
          title={ready.name}
          action={
            <Button kind="primary" onClick={onChosen}>
              Go on
            </Button>
          }
        >
          Already set up.
        </Choice>
      ) : null}
      {offers.length > 0 ? (
        <section aria-label="Found on this computer" className={styles.offers}>
          <h2>Found on this computer</h2>
          <Offers offers={offers} makeDefault onUsed={onChosen} />
        </section>
      ) : null}
      {offersLoad.is === "loading" ? (
        <p role="status" className={styles.lead}>
          Looking for models on this computer…
        </p>
      ) : null}
      <Choice
        icon={<Cpu />}
        title="A model with a key"
        action={<Button onClick={() => setAdding(true)}>Add a key</Button>}
      >
        Anthropic, OpenAI, or any other with the same interface. {keyWords(keychain?.state)}
      </Choice>
      <Choice icon={<Bot />} title="Practise first" action={<Button onClick={onPractice}>Practise</Button>}>
        No AI and no network: a built-in stand-in that understands plain requests, to see how asking and receipts work.
      </Choice>
    </div>
  );
}
