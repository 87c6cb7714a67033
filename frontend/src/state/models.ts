import { create } from "zustand";
import { sentenceOf } from "@/gateway/calls";
import type { ModelOffer, ModelRow, ModelsAddParams, ModelsTestParams, ModelsTestResult } from "@/gateway/protocol.gen";
import { call } from "./link";
import { type Load, loaded, loading, notLoaded, reloading } from "./load";

interface ModelsState {
  rows: readonly ModelRow[];
  load: Load;
  offers: readonly ModelOffer[];
  offersLoad: Load;
}

/** The configured models, and what was found on this machine. */
export const useModels = create<ModelsState>(() => ({ rows: [], load: notLoaded, offers: [], offersLoad: notLoaded }));

export async function loadModels(): Promise<void> {
  useModels.setState((state) => ({ load: reloading(state.load) }));
  try {
    const { models } = await call("models.list", { view: "all" });
    useModels.setState({ rows: models ?? [], load: loaded });
  } catch (error) {
    useModels.setState((state) =>
      state.load.is === "yes" ? {} : { load: { is: "failed", sentence: sentenceOf(error) } },
    );
  }
}

/** Looks for keys and servers on this machine. Nothing found is used before the owner says so. */
export async function findModels(): Promise<void> {
  useModels.setState({ offersLoad: loading });
  try {
    const { offers } = await call("models.found", {});
    useModels.setState({ offers: offers ?? [], offersLoad: loaded });
  } catch (error) {
    useModels.setState({ offersLoad: { is: "failed", sentence: sentenceOf(error) } });
  }
}

export async function addModel(params: ModelsAddParams): Promise<ModelRow> {
  const { model } = await call("models.add", params);
  await loadModels();
  return model;
}

/** Makes a configured model the default; its key stays where it is. */
export async function makeDefaultModel(row: ModelRow): Promise<void> {
  await addModel({
    name: row.id,
    provider: row.provider,
    model: row.model,
    default: true,
    ...(row.baseUrl ? { baseUrl: row.baseUrl } : {}),
    ...(row.noKey ? { noKey: true } : {}),
  });
}

export async function removeModel(row: ModelRow): Promise<void> {
  await call("models.remove", { name: row.id });
  await loadModels();
}

export function testModel(params: ModelsTestParams): Promise<ModelsTestResult> {
  return call("models.test", params);
}
