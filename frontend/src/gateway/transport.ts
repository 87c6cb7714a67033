import { nativeWindow, type WailsPage, type WailsRuntime } from "@/platform/window";

/** One open line to the host. */
export interface Line {
  send(frame: string): void;
  /** Ends the line; onClose is not called for it. */
  close(): void;
}

export interface LineEvents {
  onFrame(text: string): void;
  /** The line has ended, or could not be opened. Called at most once. */
  onClose(code: number, reason: string): void;
}

/** Opens a line. It may answer before it is open; frames sent early are kept. */
export type Dial = (events: LineEvents) => Line;

/** The transport of this page: the native window's calls, else a WebSocket to where the page came from. */
export function dialHere(): Dial {
  const native = nativeWindow();
  return native ? dialWindow(native.page, native.runtime) : dialSocket(socketAddress(window.location));
}

/** The address of the socket: always the page's own host, never one from an address or a setting. */
export function socketAddress(location: { protocol: string; host: string }): string {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`;
}

/** A WebSocket line. The browser's cookie proves who we are; the page holds no token. */
export function dialSocket(url: string): Dial {
  return (events) => {
    const socket = new WebSocket(url);
    let ended = false;
    const early: string[] = [];
    socket.onopen = () => {
      for (const frame of early.splice(0)) socket.send(frame);
    };
    socket.onmessage = (message) => {
      if (!ended && typeof message.data === "string") events.onFrame(message.data);
    };
    socket.onclose = (close) => {
      if (ended) return;
      ended = true;
      events.onClose(close.code, close.reason);
    };
    return {
      send(frame) {
        if (socket.readyState === WebSocket.OPEN) socket.send(frame);
        else early.push(frame);
      },
      close() {
        ended = true;
        socket.close();
      },
    };
  };
}

const ackEvery = 32;
const ackAfterMs = 100;

/**
 * The native window's line: calls go out with their order, since bound calls run concurrently; events come in numbered
 * and are acknowledged, since they have no back-pressure of their own.
 */
export function dialWindow(page: WailsPage, runtime: WailsRuntime): Dial {
  return (events) => {
    let connId: string | undefined;
    let ended = false;
    let order = 0;
    let received = 0;
    let acked = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const early: string[] = [];
    // Events may come before Open has answered, and in any order that the page's queue makes of them.
    const waiting = new Map<string, string>();
    const closedEarly = new Map<string, { code: number; reason: string }>();

    const acknowledge = (): void => {
      clearTimeout(timer);
      timer = undefined;
      if (connId === undefined || ended || acked === received) return;
      acked = received;
      page.Ack(connId, received).catch(() => end(1006, "The window lost its host."));
    };
    const drain = (): void => {
      while (!ended && connId !== undefined) {
        const key = `${connId}:${received + 1}`;
        const frame = waiting.get(key);
        if (frame === undefined) return;
        waiting.delete(key);
        received += 1;
        events.onFrame(frame);
        if (received - acked >= ackEvery) acknowledge();
        else timer ??= setTimeout(acknowledge, ackAfterMs);
      }
    };
    const release: (() => void)[] = [];
    const end = (code: number, reason: string): void => {
      if (ended) return;
      finish();
      events.onClose(code, reason);
    };
    const finish = (): void => {
      ended = true;
      clearTimeout(timer);
      for (const off of release.splice(0)) off();
    };
    const transmit = (id: string, frame: string): void => {
      order += 1;
      page.Send(id, order, frame).catch(() => end(1006, "The window lost its host."));
    };

    release.push(
      runtime.EventsOn("frame", (id, n, frame) => {
        if (typeof id !== "string" || typeof n !== "number" || typeof frame !== "string") return;
        if (connId !== undefined && id !== connId) return;
        waiting.set(`${id}:${n}`, frame);
        drain();
      }),
      runtime.EventsOn("closed", (id, code, reason) => {
        if (typeof id !== "string") return;
        const how = { code: typeof code === "number" ? code : 1006, reason: typeof reason === "string" ? reason : "" };
        if (connId === undefined) closedEarly.set(id, how);
        else if (id === connId) end(how.code, how.reason);
      }),
    );

    page.Open().then(
      (id) => {
        if (ended) {
          page.Close(id).catch(() => undefined);
          return;
        }
        connId = id;
        for (const frame of early.splice(0)) transmit(id, frame);
        drain();
        const closed = closedEarly.get(id);
        if (closed) end(closed.code, closed.reason);
      },
      () => end(1006, "The window could not reach its host."),
    );

    return {
      send(frame) {
        if (ended) return;
        if (connId === undefined) early.push(frame);
        else transmit(connId, frame);
      },
      close() {
        if (ended) return;
        finish();
        if (connId !== undefined) page.Close(connId).catch(() => undefined);
      },
    };
  };
}

const heartbeatMs = 5000;

/** Tells the native window that its page is alive. Without it the app restarts a blank window. */
export function startHeartbeat(page: WailsPage): () => void {
  const beat = (): void => {
    page.Heartbeat().catch(() => undefined);
  };
  beat();
  const timer = setInterval(beat, heartbeatMs);
  return () => clearInterval(timer);
}
