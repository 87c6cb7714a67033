import { FolderOpen } from "lucide-react";
import { useState } from "react";
import { FolderField } from "@/cards/FolderField";
import { sentenceOf } from "@/gateway/calls";
import type { AgentRow } from "@/gateway/protocol.gen";
import { enterHandlers, useImeGuard } from "@/platform/ime";
import { agentName, updateAgent } from "@/state/agents";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import styles from "./first.module.css";

interface NameAgentProps {
  agent: AgentRow | undefined;
  onBack: () => void;
  onDone: () => Promise<void>;
  onProblem: (sentence: string | undefined) => void;
}

/** The last step: what the agent is called and which folder is its own. */
export function NameAgent({ agent, onBack, onDone, onProblem }: NameAgentProps) {
  const [name, setName] = useState(agent ? agentName(agent) : "");
  const [folder, setFolder] = useState(agent?.workspace ?? "");
  const [busy, setBusy] = useState(false);
  const guard = useImeGuard();
  const save = async (): Promise<void> => {
    setBusy(true);
    onProblem(undefined);
    try {
      const renamed = agent && name.trim() !== "" && name.trim() !== agentName(agent);
      const moved = agent && folder.trim() !== "" && folder.trim() !== agent.workspace;
      if (agent && (renamed || moved)) {
        await updateAgent({
          agentId: agent.id,
          ...(renamed ? { name: name.trim() } : {}),
          ...(moved ? { workspace: folder.trim() } : {}),
        });
      }
      await onDone();
    } catch (error) {
      onProblem(sentenceOf(error));
      setBusy(false);
    }
  };
  const keys = enterHandlers<HTMLInputElement>(guard, () => void save());
  return (
    <div className={styles.fields}>
      <TextField
        label="Name"
        autoFocus
        value={name}
        maxLength={60}
        onChange={(event) => setName(event.target.value)}
        {...keys}
      />
      <FolderField hint="Made for you if it is not there yet" value={folder} onChange={setFolder} {...keys} />
      <div className={styles.actions}>
        <Button kind="quiet" onClick={onBack}>
          Back
        </Button>
        <Button kind="primary" icon={<FolderOpen />} disabled={busy} onClick={save}>
          {busy ? "Starting…" : "Start"}
        </Button>
      </div>
    </div>
  );
}
