import { useAgents } from "@/state/agents";
import { useApprovals } from "@/state/approvals";
import { useChats } from "@/state/chats";
import { useConnection } from "@/state/connection";
import { bindCaller } from "@/state/link";
import { useModels } from "@/state/models";
import { usePlace } from "@/state/place";
import { useReceipts } from "@/state/receipts";
import { useRuns } from "@/state/runs";
import { useSessions } from "@/state/sessions";
import { useSettings } from "@/state/settings";
import { closeToasts } from "@/ui/Toasts";

const stores = [
  useAgents,
  useApprovals,
  useChats,
  useConnection,
  useModels,
  usePlace,
  useReceipts,
  useRuns,
  useSessions,
  useSettings,
];

/** Puts every store back to its beginning, so that no scene or test sees another's. */
export function resetStores(): void {
  bindCaller(undefined);
  closeToasts();
  for (const store of stores)
    (store as { setState: (state: unknown, replace: true) => void; getInitialState: () => unknown }).setState(
      store.getInitialState(),
      true,
    );
}
