import { create } from "zustand";
import { CallError, sentenceOf } from "@/gateway/calls";
import type { PickedFile } from "@/platform/files";
import { call, freshKey } from "./link";
import { reloading } from "./load";
import { putHeads } from "./receipts";
import { putRuns } from "./runs";
import {
  emptyTranscript,
  type Outgoing,
  type Transcript,
  withHistory,
  withOlder,
  withOutgoing,
  withoutOutgoing,
} from "./transcript";

interface ChatsState {
  bySession: Readonly<Record<string, Transcript>>;
}

/** The transcripts this window has opened, by session. */
export const useChats = create<ChatsState>(() => ({ bySession: {} }));

/** The transcript of one session; empty until it is loaded. */
export function useTranscript(key: string): Transcript {
  return useChats((state) => state.bySession[key] ?? emptyTranscript);
}

/** Changes one transcript. Sessions that were never opened are left alone unless `create` is set. */
export function changeTranscript(key: string, change: (before: Transcript) => Transcript, create = false): void {
  useChats.setState((state) => {
    const before = state.bySession[key];
    if (!before && !create) return state;
    return { bySession: { ...state.bySession, [key]: change(before ?? emptyTranscript) } };
  });
}

const pageSize = 200;

/** Loads the newest page of a session; what is shown stays until it has come. */
export async function openChat(key: string): Promise<void> {
  changeTranscript(key, (before) => ({ ...before, load: reloading(before.load) }), true);
  try {
    const history = await call("chat.history", { sessionKey: key, limit: pageSize });
    putRuns(history.runs ?? []);
    putHeads(history.receipts ?? []);
    changeTranscript(key, (before) => withHistory(before, history), true);
  } catch (error) {
    changeTranscript(key, (before) =>
      before.load.is === "yes" ? before : { ...before, load: { is: "failed", sentence: sentenceOf(error) } },
    );
  }
}

/** Loads the page before the oldest message that is shown. */
export async function loadOlder(key: string): Promise<void> {
  const transcript = useChats.getState().bySession[key];
  const oldest = transcript?.messages[0];
  if (!transcript?.hasMore || transcript.loadingOlder || !oldest) return;
  changeTranscript(key, (before) => ({ ...before, loadingOlder: true }));
  try {
    const history = await call("chat.history", { sessionKey: key, limit: pageSize, beforeSeq: oldest.seq });
    putHeads(history.receipts ?? []);
    changeTranscript(key, (before) => withOlder(before, history));
  } catch {
    // The list asks again on the next scroll to the top.
    changeTranscript(key, (before) => ({ ...before, loadingOlder: false }));
  }
}

/** Sends a message. It is shown at once, and sent again under the same key when the connection drops. */
export async function sendMessage(
  key: string,
  text: string,
  attachments: readonly PickedFile[],
  replaces: string | undefined,
): Promise<void> {
  const sent: Outgoing = {
    runId: freshKey(),
    text,
    attachments,
    replaces,
    sentAtMs: Date.now(),
    state: "sending",
    sentence: "",
  };
  changeTranscript(key, (before) => withOutgoing(before, sent), true);
  await deliver(key, sent);
}

/** Sends a refused message once more, under its own key. */
export async function resendMessage(key: string, sent: Outgoing): Promise<void> {
  changeTranscript(key, (before) => withOutgoing(before, { ...sent, state: "sending", sentence: "" }));
  await deliver(key, sent);
}

/** Drops a refused message. */
export function discardMessage(key: string, runId: string): void {
  changeTranscript(key, (before) => withoutOutgoing(before, runId));
}

const attemptsWithOneKey = 5;

async function deliver(key: string, sent: Outgoing): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await call("chat.send", {
        sessionKey: key,
        message: sent.text,
        idempotencyKey: sent.runId,
        ...(sent.replaces ? { replaceMessageId: sent.replaces } : {}),
        ...(sent.attachments.length > 0
          ? {
              attachments: sent.attachments.map(({ mimeType, fileName, content }) => ({ mimeType, fileName, content })),
            }
          : {}),
      });
      settle(key, sent.runId, "accepted", "");
      return;
    } catch (error) {
      // The key makes a repeat harmless: the host answers with the first outcome.
      if (error instanceof CallError && error.lost && attempt < attemptsWithOneKey) continue;
      settle(key, sent.runId, "refused", sentenceOf(error));
      return;
    }
  }
}

function settle(key: string, runId: string, state: Outgoing["state"], sentence: string): void {
  changeTranscript(key, (before) => {
    const sent = before.outgoing.find((each) => each.runId === runId);
    return sent ? withOutgoing(before, { ...sent, state, sentence }) : before;
  });
}
