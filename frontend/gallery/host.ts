import type { Caller, CallName, ParamsOf, ResultOf } from "@/gateway/calls";
import { CallError } from "@/gateway/calls";
import type { Calls } from "@/gateway/protocol.gen";

type Answers = { [M in keyof Calls]?: (params: Calls[M][0]) => Calls[M][1] | Promise<Calls[M][1]> };

/** A host that answers what it was told to, keeps every call, and refuses the rest. */
export class StandInHost implements Caller {
  readonly calls: { method: CallName; params: unknown }[] = [];

  constructor(private readonly answers: Answers = {}) {}

  async call<M extends CallName>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
    this.calls.push({ method, params });
    const answer = this.answers[method] as ((params: ParamsOf<M>) => ResultOf<M> | Promise<ResultOf<M>>) | undefined;
    if (!answer) throw new CallError("UNAVAILABLE", `The stand-in has no answer to ${method}.`);
    return answer(params);
  }
}

/** An answer that never comes, to show what waiting looks like. */
export function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}
