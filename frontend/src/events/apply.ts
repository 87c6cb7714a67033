import { putApprovals, putQuestions } from "@/state/approvals";
import { changeTranscript, openChat } from "@/state/chats";
import { useConnection } from "@/state/connection";
import { putReceipt } from "@/state/receipts";
import { putRuns } from "@/state/runs";
import { useSessions, withoutSession, withSession } from "@/state/sessions";
import { putSettings } from "@/state/settings";
import { withDelta, withMessage, withoutLive, withStatus, withThinking, withTool } from "@/state/transcript";
import type { Step } from "./decide";

/** What a step may set off outside the stores. */
export interface Outside {
  sawChange(seq: number): void;
  announce(text: string, final: boolean): void;
  reloadSetup(): void;
}

/** Does one step. The only place where an event changes a store. */
export function apply(step: Step, outside: Outside): void {
  switch (step.do) {
    case "putMessage":
      return changeTranscript(step.session, (before) => withMessage(before, step.message));
    case "delta":
      return changeTranscript(step.session, (before) => withDelta(before, step.runId, step.text, step.replace));
    case "thinking":
      return changeTranscript(step.session, (before) => withThinking(before, step.runId, step.text));
    case "status":
      return changeTranscript(step.session, (before) => withStatus(before, step.runId, step.text, step.retryAtMs));
    case "endLive":
      return changeTranscript(step.session, (before) => withoutLive(before, step.runId));
    case "tool":
      return changeTranscript(step.session, (before) => withTool(before, step.runId, step.data, step.tsMs));
    case "putSession":
      return useSessions.setState((state) => ({ rows: withSession(state.rows, step.row) }));
    case "dropSession":
      return useSessions.setState((state) => ({ rows: withoutSession(state.rows, step.session) }));
    case "reopen":
      openChat(step.session);
      return;
    case "putApproval":
      return putApprovals([step.approval]);
    case "putQuestion":
      return putQuestions([step.question]);
    case "putRun":
      return putRuns([step.run]);
    case "putReceipt":
      return putReceipt(step.receipt);
    case "putSettings":
      return putSettings(step.settings);
    case "reloadSetup":
      return outside.reloadSetup();
    case "putHealth":
      return useConnection.setState({ health: step.health });
    case "sawChange":
      return outside.sawChange(step.seq);
    case "shutdown":
      return useConnection.setState({ shutdown: step.reason });
    case "announce":
      return outside.announce(step.text, step.final);
  }
}
