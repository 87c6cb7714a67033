import { ChevronDown, PanelRight } from "lucide-react";
import { sentenceOf } from "@/gateway/calls";
import type { ModelRow, SessionRow } from "@/gateway/protocol.gen";
import { useModels } from "@/state/models";
import { setDetailOpen, usePlace } from "@/state/place";
import { chooseSessionModel, sessionTitle } from "@/state/sessions";
import { Button, IconButton } from "@/ui/Button";
import { Menu, type MenuItem } from "@/ui/Menu";
import { toast } from "@/ui/Toasts";
import styles from "./chat.module.css";

/** The model a session uses: its own choice, else the default. */
export function modelOf(models: readonly ModelRow[], row: SessionRow | undefined): ModelRow | undefined {
  const chosen = row?.model ? models.find((model) => model.id === row.model || model.name === row.model) : undefined;
  return chosen ?? models.find((model) => model.default);
}

function ModelPicker({ sessionKey, row }: { sessionKey: string; row: SessionRow | undefined }) {
  const models = useModels((state) => state.rows);
  const current = modelOf(models, row);
  const choose = (name: string): void => {
    chooseSessionModel(sessionKey, name).catch((error: unknown) => toast(sentenceOf(error), { tone: "failed" }));
  };
  const items: MenuItem[] = models.map((model) => ({
    label: model.name,
    note: model.available
      ? model.default
        ? "The default"
        : model.model
      : (model.unavailableReason ?? "Not available"),
    checked: model.id === current?.id,
    onSelect: () => choose(model.default ? "" : model.id),
  }));
  if (items.length === 0) return null;
  return (
    <Menu label="Model of this chat" items={items}>
      <Button kind="quiet" className={styles.model} aria-label={`Model: ${current?.name ?? "none"}`}>
        <span className={styles.modelName}>{current?.name ?? "Choose a model"}</span>
        <ChevronDown aria-hidden="true" />
      </Button>
    </Menu>
  );
}

/** The title of the chat, its model, and the switch of the detail pane. */
export function ChatHeader({ sessionKey, row }: { sessionKey: string; row: SessionRow | undefined }) {
  const open = usePlace((state) => state.detailOpen);
  return (
    <header className={styles.head}>
      <h1 className={styles.title}>{sessionTitle(row, sessionKey)}</h1>
      <ModelPicker sessionKey={sessionKey} row={row} />
      <IconButton label="Details" aria-pressed={open} onClick={() => setDetailOpen(!open)}>
        <PanelRight />
      </IconButton>
    </header>
  );
}
