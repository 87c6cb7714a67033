import type { Caller, CallName, ParamsOf, ResultOf } from "@/gateway/calls";
import { CallError } from "@/gateway/calls";

// The page has one connection. It is bound once at start, and by tests and the gallery to a stand-in.
let caller: Caller | undefined;

/** Binds the stores' verbs to what answers calls. */
export function bindCaller(to: Caller | undefined): void {
  caller = to;
}

/** Makes a call. Only the verbs in this folder use it; components never do. */
export function call<M extends CallName>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
  if (!caller) return Promise.reject(new CallError("UNAVAILABLE", "The window is still starting. Try again."));
  return caller.call(method, params);
}

/** A fresh key that makes a repeated call harmless. */
export function freshKey(): string {
  return crypto.randomUUID();
}
