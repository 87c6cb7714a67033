import { Cpu, Ellipsis, Plus } from "lucide-react";
import { useEffect, useState } from "react";
import { ModelForm } from "@/cards/ModelForm";
import { Offers } from "@/cards/Offers";
import type { ModelRow } from "@/gateway/protocol.gen";
import { findModels, loadModels, makeDefaultModel, removeModel, testModel, useModels } from "@/state/models";
import { Button, IconButton } from "@/ui/Button";
import { Confirm } from "@/ui/Confirm";
import { Dialog } from "@/ui/Dialog";
import { Empty, Loading } from "@/ui/Empty";
import { Menu } from "@/ui/Menu";
import { Notice } from "@/ui/Notice";
import { Card, Row, Section } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { toast } from "@/ui/Toasts";
import { attempt } from "./change";

/** The models an agent can think with. */
export function Models() {
  const { rows, load, offers } = useModels();
  const [editing, setEditing] = useState<ModelRow | "new">();
  const [removing, setRemoving] = useState<ModelRow>();
  useEffect(() => void findModels(), []);
  const close = (): void => setEditing(undefined);
  return (
    <>
      <Section
        title="Models"
        lead="Your agent thinks with the default one, unless a chat chooses another."
        actions={
          <Button icon={<Plus />} onClick={() => setEditing("new")}>
            Add a model
          </Button>
        }
      >
        {load.is === "failed" ? (
          <Notice
            tone="failed"
            title="Models cannot be loaded right now"
            actions={<Button onClick={() => loadModels()}>Try again</Button>}
          >
            {load.sentence}
          </Notice>
        ) : null}
        {load.is === "loading" ? <Loading what="models" /> : null}
        {load.is === "yes" && rows.length === 0 ? (
          <Empty icon={<Cpu />} title="No model yet">
            Add one with a key, or use something that runs on this computer.
          </Empty>
        ) : null}
        {rows.length > 0 ? (
          <Card label="Models">
            {rows.map((row) => (
              <ModelLine key={row.id} row={row} onEdit={() => setEditing(row)} onRemove={() => setRemoving(row)} />
            ))}
          </Card>
        ) : null}
      </Section>
      {offers.length > 0 ? (
        <Section title="Found on this computer" lead="Nothing here is used before you say so.">
          <Offers offers={offers} makeDefault={rows.every((row) => row.provider === "practice")} />
        </Section>
      ) : null}
      {editing ? (
        <Dialog title={editing === "new" ? "Add a model" : `Change ${editing.name}`} onClose={close}>
          <ModelForm
            row={editing === "new" ? undefined : editing}
            isFirst={rows.every((row) => row.provider === "practice")}
            onCancel={close}
            onDone={(row) => {
              close();
              toast(`${row.name} is saved.`);
            }}
          />
        </Dialog>
      ) : null}
      {removing ? (
        <Confirm
          title={`Remove ${removing.name}?`}
          text="Its key is deleted too. Chats stay as they are; those that chose it use the default."
          verb="Remove"
          onClose={() => setRemoving(undefined)}
          onConfirm={() => attempt(() => removeModel(removing))}
        />
      ) : null}
    </>
  );
}

function noteOf(row: ModelRow): string {
  if (row.provider === "practice") return "Built in, offline, no AI";
  return [row.model, row.baseUrl, row.hasKey ? "key stored" : row.noKey ? "no key needed" : ""]
    .filter(Boolean)
    .join(" · ");
}

function ModelLine({ row, onEdit, onRemove }: { row: ModelRow; onEdit: () => void; onRemove: () => void }) {
  const builtIn = row.provider === "practice" ? "It is built in." : undefined;
  const test = async (): Promise<void> => {
    const result = await testModel({ name: row.id });
    toast(result.sentence, { tone: result.ok ? "plain" : "failed" });
  };
  return (
    <Row
      mark={<Cpu />}
      title={row.name}
      note={row.available ? noteOf(row) : (row.unavailableReason ?? "Not available")}
    >
      {row.default ? <span>Default</span> : null}
      {row.available ? null : <Status kind="failed" word="Not available" />}
      <Menu
        label={`Actions for ${row.name}`}
        items={[
          {
            label: "Make it the default",
            unavailable: row.default ? "It is the default already." : undefined,
            onSelect: () => attempt(() => makeDefaultModel(row)),
          },
          { label: "Test", onSelect: () => attempt(test) },
          { label: "Change…", unavailable: builtIn, onSelect: onEdit },
          { label: "Remove…", unavailable: builtIn, onSelect: onRemove },
        ]}
      >
        <IconButton label={`Actions for ${row.name}`}>
          <Ellipsis />
        </IconButton>
      </Menu>
    </Row>
  );
}
