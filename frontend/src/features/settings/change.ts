import { sentenceOf } from "@/gateway/calls";
import { toast } from "@/ui/Toasts";

/** Does something that a control set off, and says so when it did not work. */
export function attempt(act: () => Promise<unknown>): void {
  act().catch((error: unknown) => toast(sentenceOf(error), { tone: "failed" }));
}
