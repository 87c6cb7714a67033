import { Client, type ClientEvents } from "@/gateway/client";
import type { Run } from "@/gateway/protocol.gen";
import type { Dial } from "@/gateway/transport";
import { loadAgents } from "@/state/agents";
import { loadApprovals } from "@/state/approvals";
import { openChat, useChats } from "@/state/chats";
import { greet, loadHealth, setPhase } from "@/state/connection";
import { bindCaller } from "@/state/link";
import { loadModels } from "@/state/models";
import { usePlace } from "@/state/place";
import { loadReceipts, useReceipts } from "@/state/receipts";
import { loadRuns, resendStops } from "@/state/runs";
import { loadSessions, useSessions } from "@/state/sessions";
import { loadFolders, loadSettings } from "@/state/settings";
import { holdsInput } from "@/state/transcript";
import { apply, type Outside } from "./apply";
import { classify } from "./classify";
import { decide } from "./decide";

/** Loads again all that is on screen. Each part keeps what it shows until the new has come. */
async function resync(): Promise<void> {
  const open = usePlace.getState().lastSession;
  const receipts = useReceipts.getState();
  const parts: Promise<unknown>[] = [
    resendStops(),
    loadSessions(),
    loadRuns(),
    loadApprovals(),
    loadSettings(),
    loadModels(),
    loadAgents(),
    loadFolders(),
    loadHealth(),
  ];
  if (open && useChats.getState().bySession[open]) parts.push(openChat(open));
  if (receipts.load.is === "yes") parts.push(loadReceipts(receipts.filter));
  // Each store keeps its own failure; one that fails does not hold the others back.
  await Promise.allSettled(parts);
  forgetClosedChats(open);
}

// A transcript that is not on screen was not fetched again, so it may be behind; it loads anew when it is opened.
function forgetClosedChats(open: string | undefined): void {
  useChats.setState((state) => ({
    bySession: Object.fromEntries(
      Object.entries(state.bySession).filter(([key, transcript]) => key === open || transcript.outgoing.length > 0),
    ),
  }));
}

function transcriptIds(): Record<string, string> {
  return Object.fromEntries(Object.values(useSessions.getState().rows).map((row) => [row.key, row.sessionId]));
}

function isUnseen(run: Run): boolean {
  const transcript = useChats.getState().bySession[run.sessionKey];
  return transcript?.load.is === "yes" && !holdsInput(transcript, run.runId);
}

/** Connects the page: one client, one subscriber, every event classified, decided and applied. */
export function connect(dial: Dial, announce: Outside["announce"], version: string): Client {
  const outside: Outside = {
    sawChange: (seq) => client.sawChange(seq),
    announce,
    reloadSetup: () => void Promise.allSettled([loadModels(), loadAgents(), loadFolders(), loadHealth()]),
  };
  const events: ClientEvents = {
    onReady(hello) {
      greet(hello);
      void resync();
    },
    onPhase: (phase, reason) => setPhase(phase, Date.now(), reason),
    onEvent(frame) {
      const world = { openSession: usePlace.getState().lastSession, transcripts: transcriptIds(), isUnseen };
      for (const step of decide(classify(frame), world)) apply(step, outside);
    },
    onGap: () => void resync(),
  };
  const client = new Client(dial, events, version);
  bindCaller(client);
  client.start();
  return client;
}
