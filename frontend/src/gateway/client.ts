import { platformName } from "@/platform/window";
import { CallError, type Caller, type CallName, type ParamsOf, type ResultOf } from "./calls";
import { type EventFrame, isObject, parseFrame, type ResponseFrame } from "./frames";
import type { ConnectParams, HelloOK, Scope } from "./protocol.gen";
import type { Dial, Line } from "./transport";

export type Phase = "connecting" | "ready" | "lost";

export interface ClientEvents {
  /** The handshake is done; the caller reloads what it shows. */
  onReady(hello: HelloOK): void;
  onPhase(phase: Phase, reason: string): void;
  /** Every event frame but the challenge, in order. */
  onEvent(frame: EventFrame): void;
  /** Events were dropped, so what is shown may be behind. */
  onGap(): void;
}

const scopes: Scope[] = [
  "operator.read",
  "operator.write",
  "operator.admin",
  "operator.approvals",
  "operator.questions",
  "operator.pairing",
  "operator.models",
];
const firstWaitMs = 200;
const longestWaitMs = 5000;
const callTimeoutMs = 30_000;
const readyWaitMs = 15_000;
// Two missed ticks and a little: the line looks open but nobody is there (sleep, a dead host).
const silenceMs = 70_000;

interface Waiting {
  resolve(payload: unknown): void;
  reject(error: CallError): void;
  timer: ReturnType<typeof setTimeout>;
}

/**
 * The one client of the page. It keeps a line open for as long as it runs, pairs calls with answers, and hands every
 * event to its one listener. A call made without a line waits for one.
 */
export class Client implements Caller {
  private line: Line | undefined;
  private phase: Phase = "connecting";
  private attempt = 0;
  private nextId = 1;
  private lastSeq: number | undefined;
  private changeSeq: number | undefined;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private stopped = false;
  private readonly waiting = new Map<string, Waiting>();
  private readonly whenReady = new Set<() => void>();

  constructor(
    private readonly dial: Dial,
    private readonly events: ClientEvents,
    private readonly version = "0.0.0",
  ) {}

  start(): void {
    this.stopped = false;
    this.open();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.retry);
    clearTimeout(this.silence);
    this.line?.close();
    this.line = undefined;
    this.failAll("The window is closing.");
  }

  /** Tries again now instead of after the wait. */
  retryNow(): void {
    if (this.phase === "ready" || this.stopped) return;
    clearTimeout(this.retry);
    this.line?.close();
    this.attempt = 0;
    this.open();
  }

  /** Remembers the newest durable change that was applied; a new line resumes after it. */
  sawChange(seq: number): void {
    if (this.changeSeq === undefined || seq > this.changeSeq) this.changeSeq = seq;
  }

  async call<M extends CallName>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
    await this.ready();
    return (await this.request(method, params)) as ResultOf<M>;
  }

  private ready(): Promise<void> {
    if (this.phase === "ready") return Promise.resolve();
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.whenReady.delete(done);
        reject(
          new CallError(
            "UNAVAILABLE",
            "Countersign is not answering. What you wrote is kept; try again.",
            undefined,
            true,
          ),
        );
      }, readyWaitMs);
      this.whenReady.add(done);
    });
  }

  private request(method: string, params: unknown): Promise<unknown> {
    const line = this.line;
    if (!line) return Promise.reject(new CallError("UNAVAILABLE", "The connection was lost.", undefined, true));
    const id = String(this.nextId++);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new CallError("UNAVAILABLE", "Countersign took too long to answer. Try again.", undefined, true));
      }, callTimeoutMs);
      this.waiting.set(id, { resolve, reject, timer });
      line.send(JSON.stringify({ type: "req", id, method, params }));
    });
  }

  private open(): void {
    this.lastSeq = undefined;
    this.line = this.dial({
      onFrame: (text) => this.onFrame(text),
      onClose: (_code, reason) => this.onClose(reason),
    });
    this.listenForSilence();
  }

  private onFrame(text: string): void {
    this.listenForSilence();
    const frame = parseFrame(text);
    if (!frame) return;
    if (frame.type === "res") {
      this.onResponse(frame);
      return;
    }
    if (frame.event === "connect.challenge") {
      this.introduce();
      return;
    }
    this.checkSeq(frame);
    this.events.onEvent(frame);
  }

  private introduce(): void {
    const params: ConnectParams = {
      minProtocol: 4,
      maxProtocol: 4,
      client: { id: "webchat-ui", displayName: "Window", version: this.version, platform: platformName(), mode: "ui" },
      role: "operator",
      scopes,
      caps: ["tool-events", "approvals", "exec-approvals", "countersign-changes"],
      locale: navigator.language,
      ...(this.changeSeq === undefined ? {} : { resume: { afterSeq: this.changeSeq } }),
    };
    this.request("connect", params).then(
      (payload) => this.welcome(payload),
      (error: unknown) => {
        // Lost before an answer came: onClose has dealt with it.
        if (error instanceof CallError && error.lost) return;
        this.drop(error instanceof Error ? error.message : "The handshake did not work.");
      },
    );
  }

  private welcome(payload: unknown): void {
    if (!isObject(payload) || payload.type !== "hello-ok") {
      this.drop("The host answered the handshake with something else.");
      return;
    }
    const hello = payload as unknown as HelloOK;
    this.attempt = 0;
    if (hello.changes) this.sawChange(hello.changes.lastSeq);
    this.setPhase("ready", "");
    this.events.onReady(hello);
    for (const go of this.whenReady) go();
    this.whenReady.clear();
  }

  private checkSeq(frame: EventFrame): void {
    if (frame.seq === undefined) return;
    const gap = this.lastSeq !== undefined && frame.seq > this.lastSeq + 1;
    this.lastSeq = frame.seq;
    if (gap) this.events.onGap();
  }

  private onResponse(frame: ResponseFrame): void {
    const entry = this.waiting.get(frame.id);
    if (!entry) return;
    this.waiting.delete(frame.id);
    clearTimeout(entry.timer);
    if (frame.ok) entry.resolve(frame.payload);
    else {
      const error = frame.error ?? { code: "INTERNAL", message: "The host did not say why." };
      entry.reject(new CallError(error.code, error.message, error.details));
    }
  }

  private drop(reason: string): void {
    this.line?.close();
    this.onClose(reason);
  }

  private onClose(reason: string): void {
    clearTimeout(this.silence);
    this.line = undefined;
    this.failAll("The connection was lost before the answer came.");
    if (this.stopped) return;
    this.setPhase("lost", reason);
    const wait = Math.min(longestWaitMs, firstWaitMs * 2 ** this.attempt);
    this.attempt += 1;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.open(), wait);
  }

  private listenForSilence(): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.drop("The host fell silent."), silenceMs);
  }

  private failAll(message: string): void {
    const entries = [...this.waiting.values()];
    this.waiting.clear();
    for (const entry of entries) {
      clearTimeout(entry.timer);
      entry.reject(new CallError("UNAVAILABLE", message, undefined, true));
    }
  }

  private setPhase(phase: Phase, reason: string): void {
    this.phase = phase;
    this.events.onPhase(phase, reason);
  }
}
