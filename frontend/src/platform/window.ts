/** What Wails puts on the page of the native window. In a browser none of it exists. */
export interface WailsRuntime {
  EventsOn(name: string, callback: (...data: unknown[]) => void): () => void;
  BrowserOpenURL(url: string): void;
}

export interface WailsPage {
  Open(): Promise<string>;
  Send(connId: string, order: number, frame: string): Promise<void>;
  Ack(connId: string, received: number): Promise<void>;
  Close(connId: string): Promise<void>;
  ChooseFolder(): Promise<string>;
  Heartbeat(): Promise<void>;
}

declare global {
  interface Window {
    runtime?: WailsRuntime;
    go?: { app?: { Page?: WailsPage } };
  }
}

/** The native window's own calls, or nothing in a browser. */
export function nativeWindow(): { page: WailsPage; runtime: WailsRuntime } | undefined {
  const page = window.go?.app?.Page;
  const runtime = window.runtime;
  return page && runtime ? { page, runtime } : undefined;
}

/** Calls back when the tray or a notification asks for what waits. In a browser it never does. */
export function watchAsked(asked: () => void): () => void {
  return nativeWindow()?.runtime.EventsOn("show-approval", asked) ?? (() => {});
}

/** Asks for a folder with the system's own chooser; nothing in a browser, which has none that tells a path. */
export function folderChooser(): (() => Promise<string>) | undefined {
  const native = nativeWindow();
  return native ? () => native.page.ChooseFolder() : undefined;
}

const openable = /^(https?:|mailto:)/i;

/** Opens an address in the person's own browser. Anything but http, https and mailto is refused. */
export function openOutside(url: string): boolean {
  if (!openable.test(url)) return false;
  const native = nativeWindow();
  if (native) native.runtime.BrowserOpenURL(url);
  else window.open(url, "_blank", "noopener,noreferrer");
  return true;
}

/** The platform for the handshake and for the names of keys. */
export function platformName(): "macos" | "windows" | "linux" {
  const agent = navigator.userAgent;
  if (/Mac|iPhone|iPad/.test(agent)) return "macos";
  return /Windows/.test(agent) ? "windows" : "linux";
}

/** The name of the key that goes with shortcuts here. */
export function commandKey(): "⌘" | "Ctrl" {
  return platformName() === "macos" ? "⌘" : "Ctrl";
}

/** Calls back with true while the window is at least this wide. */
export function watchWidth(minPx: number, listen: (wide: boolean) => void): () => void {
  const query = window.matchMedia(`(min-width: ${minPx}px)`);
  const tell = (): void => listen(query.matches);
  query.addEventListener("change", tell);
  return () => query.removeEventListener("change", tell);
}

/** Reports whether the window is at least this wide now. */
export function isWide(minPx: number): boolean {
  return window.matchMedia(`(min-width: ${minPx}px)`).matches;
}
