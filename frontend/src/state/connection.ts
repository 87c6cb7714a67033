import { create } from "zustand";
import type { Health, HelloOK, Status } from "@/gateway/protocol.gen";
import { call } from "./link";

export interface ConnectionState {
  phase: "connecting" | "ready" | "lost";
  /** Since when the phase holds. */
  sinceMs: number;
  everReady: boolean;
  /** Why the line was lost or refused, when the host said so. */
  reason: string;
  hello: HelloOK | undefined;
  health: Health | undefined;
  status: Status | undefined;
  /** The host has said goodbye, with its reason. */
  shutdown: string | undefined;
}

/** Whether there is a line to the host, and what the host says of itself. */
export const useConnection = create<ConnectionState>(() => ({
  phase: "connecting",
  sinceMs: Date.now(),
  everReady: false,
  reason: "",
  hello: undefined,
  health: undefined,
  status: undefined,
  shutdown: undefined,
}));

export function setPhase(phase: ConnectionState["phase"], nowMs: number, reason = ""): void {
  const before = useConnection.getState();
  // Trying again after a loss is still the same loss: the banner counts from its beginning.
  if (before.phase === phase) {
    if (reason) useConnection.setState({ reason });
    return;
  }
  useConnection.setState({
    phase,
    sinceMs: nowMs,
    reason,
    everReady: before.everReady || phase === "ready",
    ...(phase === "ready" ? { shutdown: undefined } : {}),
  });
}

export function greet(hello: HelloOK): void {
  useConnection.setState({ hello, health: hello.snapshot.health });
}

export async function loadHealth(): Promise<void> {
  useConnection.setState({ health: await call("health", {}) });
}

export async function loadStatus(): Promise<void> {
  useConnection.setState({ status: await call("status", {}) });
}

export async function setPaused(paused: boolean): Promise<void> {
  await call("pause.set", { paused });
  await loadHealth();
}
