import { Bot, FolderOpen } from "lucide-react";
import { useEffect, useState } from "react";
import { sentenceOf } from "@/gateway/calls";
import type { AgentRow, ToolRow } from "@/gateway/protocol.gen";
import { enterHandlers, useImeGuard } from "@/platform/ime";
import { agentName, loadTools, updateAgent, useAgents, useMainAgent } from "@/state/agents";
import { useSettings } from "@/state/settings";
import { Button } from "@/ui/Button";
import { Loading } from "@/ui/Empty";
import { TextField } from "@/ui/Field";
import { Card, Page, Row, Section } from "@/ui/Page";
import { toast } from "@/ui/Toasts";
import styles from "./agents.module.css";

const byDefault: Readonly<Record<string, string>> = { allow: "Allowed", ask: "Asks you", deny: "Denied" };

function traits(tool: ToolRow): string {
  return [
    tool.readsPrivate ? "reads private data" : "",
    tool.bringsUntrusted ? "brings text from outside" : "",
    tool.outward ? "reaches outside" : "",
    tool.repeat === "once" ? "never repeated on its own" : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** The agent: its name, where it works, and what it may do without asking. */
export function AgentsPage() {
  const agent = useMainAgent();
  const tools = useAgents((state) => state.tools);
  const folders = useSettings((state) => state.folders);
  useEffect(() => {
    loadTools().catch((error: unknown) => toast(sentenceOf(error), { tone: "failed" }));
  }, []);
  return (
    <Page title="Agents" lead="Who works for you, where, and with what.">
      {agent ? <Identity key={agent.version} agent={agent} /> : <Loading what="your agent" />}
      <Section
        title="Where it works"
        lead="Files outside these folders are out of its reach."
        actions={<a href="#/settings/folders">Change folders</a>}
      >
        <Card label="Folders">
          <Row
            mark={<FolderOpen />}
            title={<code>{folders?.workspace ?? agent?.workspace ?? "…"}</code>}
            note="Its workspace: it reads here without asking and asks before it changes anything"
          />
          {(folders?.folders ?? []).map((folder) => (
            <Row
              key={folder.path}
              mark={<FolderOpen />}
              title={<code>{folder.path}</code>}
              note={
                folder.missing
                  ? "Not found right now"
                  : folder.writable
                    ? "You added it: reading, and changing after asking"
                    : "You added it: reading only"
              }
            />
          ))}
        </Card>
      </Section>
      <Section title="What it can use" lead="The same rule decides here and when a tool is called.">
        {tools ? (
          <Card label="Tools">
            {tools.map((tool) => {
              return (
                <Row
                  key={tool.name}
                  title={<code>{tool.name}</code>}
                  note={
                    <>
                      {tool.description}
                      {traits(tool) ? <span className={styles.traits}>{traits(tool)}</span> : null}
                    </>
                  }
                >
                  <span className={styles.rule} title={tool.why}>
                    {byDefault[tool.default] ?? tool.default}
                  </span>
                </Row>
              );
            })}
          </Card>
        ) : (
          <Loading what="tools" />
        )}
      </Section>
    </Page>
  );
}

function Identity({ agent }: { agent: AgentRow }) {
  const [name, setName] = useState(agentName(agent));
  const [busy, setBusy] = useState(false);
  const guard = useImeGuard();
  const changed = name.trim() !== "" && name.trim() !== agentName(agent);
  const save = async (): Promise<void> => {
    if (!changed) return;
    setBusy(true);
    try {
      await updateAgent({ agentId: agent.id, name: name.trim() });
      toast("Name saved.");
    } catch (error) {
      toast(sentenceOf(error), { tone: "failed" });
    } finally {
      setBusy(false);
    }
  };
  const keys = enterHandlers<HTMLInputElement>(guard, () => void save());
  return (
    <Section title={agentName(agent)}>
      <div className={styles.identity}>
        <span className={styles.face} aria-hidden="true">
          {agent.identity.emoji || <Bot />}
        </span>
        <div className={styles.grow}>
          <TextField
            label="Name"
            value={name}
            maxLength={60}
            onChange={(event) => setName(event.target.value)}
            {...keys}
          />
        </div>
        <Button disabled={!changed || busy} onClick={save}>
          Save
        </Button>
      </div>
      <p className={styles.model}>
        Model: {agent.model.primary || "the default"} · <a href="#/settings/models">Models</a>
      </p>
    </Section>
  );
}
