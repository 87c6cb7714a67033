import { create } from "zustand";
import { sentenceOf } from "@/gateway/calls";
import type { Device, FoldersList, Settings, SettingsPatchParams, Ticket } from "@/gateway/protocol.gen";
import { applyTheme, asTheme } from "@/platform/theme";
import { loadHealth } from "./connection";
import { call } from "./link";
import { type Load, loaded, notLoaded, reloading } from "./load";

interface SettingsState {
  settings: Settings | undefined;
  load: Load;
  folders: FoldersList | undefined;
  devices: readonly Device[] | undefined;
}

/** What the owner set, the folders an agent may use, and the paired devices. */
export const useSettings = create<SettingsState>(() => ({
  settings: undefined,
  load: notLoaded,
  folders: undefined,
  devices: undefined,
}));

export function putSettings(settings: Settings): void {
  applyTheme(asTheme(settings.appearance.theme));
  useSettings.setState({ settings, load: loaded });
}

export async function loadSettings(): Promise<void> {
  useSettings.setState((state) => ({ load: reloading(state.load) }));
  try {
    putSettings(await call("settings.get", {}));
  } catch (error) {
    useSettings.setState((state) =>
      state.load.is === "yes" ? {} : { load: { is: "failed", sentence: sentenceOf(error) } },
    );
  }
}

export async function patchSettings(params: SettingsPatchParams): Promise<void> {
  putSettings(await call("settings.patch", params));
}

export async function loadFolders(): Promise<void> {
  useSettings.setState({ folders: await call("folders.list", {}) });
}

export async function addFolder(path: string, writable: boolean): Promise<void> {
  useSettings.setState({ folders: await call("folders.add", { path, ...(writable ? { writable } : {}) }) });
}

export async function removeFolder(path: string): Promise<void> {
  useSettings.setState({ folders: await call("folders.remove", { path }) });
}

/** Decides where secrets live when there is no keychain. The passphrase is not kept here. */
export async function chooseSecrets(choice: string, passphrase: string): Promise<void> {
  await call("secrets.choose", { choice, ...(passphrase ? { passphrase } : {}) });
  await loadHealth();
}

export async function loadDevices(): Promise<void> {
  const { paired } = await call("device.pair.list", {});
  useSettings.setState({ devices: paired ?? [] });
}

export async function removeDevice(deviceId: string): Promise<void> {
  await call("device.pair.remove", { deviceId });
  await loadDevices();
}

export function createTicket(kind: "browser" | "device"): Promise<Ticket> {
  return call("device.ticket.create", { kind });
}
