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
      changeTranscript(step.session, (before) => withMessage(before, step.message, step.prevSeq));
      break;
    case "delta":
      changeTranscript(step.session, (before) => withDelta(before, step.runId, step.text, step.replace));
      break;
    case "thinking":
      changeTranscript(step.session, (before) => withThinking(before, step.runId, step.text));
      break;
    case "status":
      changeTranscript(step.session, (before) => withStatus(before, step.runId, step.text, step.retryAtMs));
      break;
    case "endLive":
      changeTranscript(step.session, (before) => withoutLive(before, step.runId));
      break;
    case "tool":
      changeTranscript(step.session, (before) => withTool(before, step.runId, step.data, step.tsMs));
      break;
    case "putSession":
      useSessions.setState((state) => ({ rows: withSession(state.rows, step.row) }));
      break;
    case "dropSession":
      useSessions.setState((state) => ({ rows: withoutSession(state.rows, step.session) }));
      break;
    case "reopen":
      void openChat(step.session);
      break;
    case "putApproval":
      putApprovals([step.approval]);
      break;
    case "putQuestion":
      putQuestions([step.question]);
      break;
    case "putRun":
      putRuns([step.run]);
      break;
    case "putReceipt":
      putReceipt(step.receipt);
      break;
    case "putSettings":
      putSettings(step.settings);
      break;
    case "reloadSetup":
      outside.reloadSetup();
      break;
    case "putHealth":
      useConnection.setState({ health: step.health });
      break;
    case "sawChange":
      outside.sawChange(step.seq);
      break;
    case "shutdown":
      useConnection.setState({ shutdown: step.reason });
      break;
    case "announce":
      outside.announce(step.text, step.final);
      break;
  }
}
