/** How far something that is fetched has come. */
export type Load = { is: "no" } | { is: "loading" } | { is: "yes" } | { is: "failed"; sentence: string };

export const notLoaded: Load = { is: "no" };
export const loading: Load = { is: "loading" };
export const loaded: Load = { is: "yes" };

/** Keeps what is there while it is fetched again; only the first time shows as loading. */
export function reloading(now: Load): Load {
  return now.is === "yes" ? now : loading;
}
