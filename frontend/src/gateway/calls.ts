import type { Calls, ErrorDetails } from "./protocol.gen";

export type CallName = keyof Calls;
export type ParamsOf<M extends CallName> = Calls[M][0];
export type ResultOf<M extends CallName> = Calls[M][1];

/** Something that answers calls: the client, or a stand-in in tests and in the gallery. */
export interface Caller {
  call<M extends CallName>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>>;
}

/** Why a call did not succeed, with the sentence for the person. */
export class CallError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly details: ErrorDetails | undefined = undefined,
    /** The connection ended before the answer, so nobody here knows whether it was done. */
    readonly lost = false,
  ) {
    super(message);
    this.name = "CallError";
  }
}

/** The sentence to show for anything that was thrown. */
export function sentenceOf(thrown: unknown): string {
  if (thrown instanceof Error && thrown.message !== "") return thrown.message;
  return "Something went wrong in this window. Nothing was lost; try again.";
}
