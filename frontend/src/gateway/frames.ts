import type { ErrorDetails } from "./protocol.gen";

/** The error of an answer: a code to branch on and one sentence for the person. */
export interface WireError {
  code: string;
  message: string;
  details?: ErrorDetails;
  retryable?: boolean;
  retryAfterMs?: number;
}

export interface ResponseFrame {
  type: "res";
  id: string;
  ok: boolean;
  payload?: unknown;
  error?: WireError;
}

export interface EventFrame {
  type: "event";
  event: string;
  payload?: unknown;
  seq?: number;
}

export type ServerFrame = ResponseFrame | EventFrame;

/** Reports whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads one frame of the server. Anything that is not a frame is nothing, and the caller drops it. */
export function parseFrame(text: string): ServerFrame | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  if (value.type === "res" && typeof value.id === "string" && typeof value.ok === "boolean") {
    const error = parseError(value.error);
    return { type: "res", id: value.id, ok: value.ok, payload: value.payload, ...(error ? { error } : {}) };
  }
  if (value.type === "event" && typeof value.event === "string") {
    const seq = typeof value.seq === "number" ? { seq: value.seq } : {};
    return { type: "event", event: value.event, payload: value.payload, ...seq };
  }
  return undefined;
}

function parseError(value: unknown): WireError | undefined {
  if (!isObject(value)) return undefined;
  return {
    code: typeof value.code === "string" ? value.code : "INTERNAL",
    message: typeof value.message === "string" ? value.message : "The host did not say why.",
    ...(isObject(value.details) ? { details: value.details } : {}),
    ...(typeof value.retryable === "boolean" ? { retryable: value.retryable } : {}),
    ...(typeof value.retryAfterMs === "number" ? { retryAfterMs: value.retryAfterMs } : {}),
  };
}
