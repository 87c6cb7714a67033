import type * as p from "@/gateway/protocol.gen";
import { useAgents } from "@/state/agents";
import { useApprovals } from "@/state/approvals";
import { useChats } from "@/state/chats";
import { useConnection } from "@/state/connection";
import { bindCaller } from "@/state/link";
import { loaded } from "@/state/load";
import { useModels } from "@/state/models";
import { usePlace } from "@/state/place";
import { headOf, useReceipts } from "@/state/receipts";
import { useRuns } from "@/state/runs";
import { useSessions } from "@/state/sessions";
import { useSettings } from "@/state/settings";
import { emptyTranscript, type Transcript } from "@/state/transcript";
import * as f from "./fixtures";
import { StandInHost } from "./host";
import { resetStores } from "./reset";

/** What a scene says about the world; everything else is as in an ordinary afternoon. */
export interface WorldParts {
  transcript?: Partial<Transcript>;
  approvals?: p.Approval[];
  questions?: p.Question[];
  runs?: p.Run[];
  receipts?: p.Receipt[];
  sessions?: p.SessionRow[];
  models?: p.ModelRow[];
  offers?: p.ModelOffer[];
  settings?: Partial<p.Settings>;
  health?: Partial<p.Health>;
  devices?: p.Device[];
  detailOpen?: boolean;
  answers?: ConstructorParameters<typeof StandInHost>[0];
}

function byKey<T>(rows: readonly T[], key: (row: T) => string): Record<string, T> {
  return Object.fromEntries(rows.map((row) => [key(row), row]));
}

/** Fills every store, as if a host had told it all. Answers the host that takes the calls. */
export function setWorld(parts: WorldParts = {}): StandInHost {
  resetStores();
  const receipts = parts.receipts ?? f.receipts();
  const settings = { ...f.settings, ...parts.settings };
  const health = { ...f.health, ...parts.health };
  const host = new StandInHost({
    "receipts.list": ({ sessionKey, search }) => {
      const list = sessionKey
        ? receipts.slice(0, 6)
        : receipts.filter((receipt) => !search || receipt.sentence.includes(search));
      return { receipts: list, total: list.length, hasMore: false };
    },
    "receipts.get": ({ id }) => receipts.find((receipt) => receipt.id === id) ?? f.receipt(1),
    "models.found": () => ({ offers: parts.offers ?? [] }),
    "models.list": () => ({ models: parts.models ?? f.models }),
    "tools.catalog": () => ({ tools: f.tools }),
    "folders.list": () => ({
      workspace: f.agent.workspace,
      folders: [{ path: "/home/sam/Documents/taxes", agentId: "main", writable: false }],
    }),
    "device.pair.list": () => ({ paired: parts.devices ?? [] }),
    status: () => ({ ...f.status, health }),
    health: () => health,
    ...parts.answers,
  });
  bindCaller(host);
  useConnection.setState({ phase: "ready", everReady: true, sinceMs: f.now, health, status: f.status });
  useSessions.setState({ rows: byKey(parts.sessions ?? f.sessions, (row) => row.key), load: loaded });
  useChats.setState({ bySession: { [f.main]: { ...emptyTranscript, load: loaded, ...parts.transcript } } });
  useRuns.setState({ rows: byKey(parts.runs ?? [], (row) => row.runId), load: loaded, stopping: {} });
  useApprovals.setState({
    approvals: byKey(parts.approvals ?? [], (row) => row.id),
    questions: byKey(parts.questions ?? [], (row) => row.id),
    load: loaded,
  });
  useReceipts.setState({
    list: receipts,
    total: receipts.length,
    load: loaded,
    byId: byKey(receipts, (row) => row.id),
    heads: byKey([...receipts.map(headOf), ...f.heads], (row) => row.id),
  });
  useModels.setState({ rows: parts.models ?? f.models, load: loaded, offers: parts.offers ?? [], offersLoad: loaded });
  useSettings.setState({
    settings,
    load: loaded,
    devices: parts.devices ?? [],
    folders: {
      workspace: f.agent.workspace,
      folders: [{ path: "/home/sam/Documents/taxes", agentId: "main", writable: false }],
    },
  });
  useAgents.setState({ rows: [f.agent], tools: f.tools, defaultId: "main" });
  usePlace.setState({ drafts: {}, detailOpen: parts.detailOpen ?? false, lastSession: f.main });
  return host;
}
