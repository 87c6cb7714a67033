import { create } from "zustand";
import { sentenceOf } from "@/gateway/calls";
import type { EffectClass, Outcome, Receipt, ReceiptHead, ReceiptsVerifyResult } from "@/gateway/protocol.gen";
import { call } from "./link";
import { type Load, loaded, loading, notLoaded } from "./load";

export interface ReceiptFilter {
  search: string;
  tool: string;
  outcome: Outcome | "";
  effectClass: EffectClass | "";
}

export interface ReceiptsState {
  filter: ReceiptFilter;
  list: readonly Receipt[];
  total: number;
  hasMore: boolean;
  load: Load;
  byId: Readonly<Record<string, Receipt>>;
  /** What the transcripts say of how their calls ended. */
  heads: Readonly<Record<string, ReceiptHead>>;
  verifying: boolean;
  verified: ReceiptsVerifyResult | undefined;
}

export const anyReceipt: ReceiptFilter = { search: "", tool: "", outcome: "", effectClass: "" };

/** The page of receipts that Activity shows, and single receipts that were opened. */
export const useReceipts = create<ReceiptsState>(() => ({
  filter: anyReceipt,
  list: [],
  total: 0,
  hasMore: false,
  load: notLoaded,
  byId: {},
  heads: {},
  verifying: false,
  verified: undefined,
}));

const pageSize = 100;

/** The part of a receipt that says in one word and one sentence how it ended. */
export function headOf(receipt: Receipt): ReceiptHead {
  const { id, outcome, sentence, evidence, undo } = receipt;
  return {
    id,
    outcome,
    sentence,
    ...(evidence.exitStatus === undefined ? {} : { exitStatus: evidence.exitStatus }),
    ...(evidence.signal ? { signal: evidence.signal } : {}),
    ...(undo.undoneBy ? { undoneBy: undo.undoneBy } : {}),
  };
}

/** Keeps the heads that came with a page of a transcript. */
export function putHeads(incoming: readonly ReceiptHead[]): void {
  if (incoming.length === 0) return;
  useReceipts.setState((state) => ({
    heads: { ...state.heads, ...Object.fromEntries(incoming.map((head) => [head.id, head])) },
  }));
}

/** Reports whether a receipt belongs on a page with this filter, for receipts that arrive while it is shown. */
export function passes(filter: ReceiptFilter, receipt: Receipt): boolean {
  const wanted = filter.search.trim().toLowerCase();
  return (
    (filter.tool === "" || receipt.tool === filter.tool) &&
    (filter.outcome === "" || receipt.outcome === filter.outcome) &&
    (filter.effectClass === "" || receipt.class === filter.effectClass) &&
    (wanted === "" || `${receipt.sentence} ${receipt.target ?? ""} ${receipt.tool}`.toLowerCase().includes(wanted))
  );
}

/** A receipt that was written or changed. */
export function withReceipt(before: ReceiptsState, receipt: Receipt): Partial<ReceiptsState> {
  const byId = remember(before.byId, [receipt]);
  const heads = { ...before.heads, [receipt.id]: headOf(receipt) };
  const at = before.list.findIndex((each) => each.id === receipt.id);
  if (at >= 0) return { byId, heads, list: before.list.map((each) => (each.id === receipt.id ? receipt : each)) };
  if (before.load.is !== "yes" || !passes(before.filter, receipt)) return { byId, heads };
  const list = [receipt, ...before.list].sort((a, b) => b.seq - a.seq);
  return { byId, heads, list, total: before.total + 1 };
}

export function putReceipt(receipt: Receipt): void {
  useReceipts.setState((state) => withReceipt(state, receipt));
}

function params(filter: ReceiptFilter, beforeSeq?: number) {
  return {
    limit: pageSize,
    ...(filter.search.trim() ? { search: filter.search.trim() } : {}),
    ...(filter.tool ? { tool: filter.tool } : {}),
    ...(filter.outcome ? { outcomes: [filter.outcome] } : {}),
    ...(filter.effectClass ? { classes: [filter.effectClass] } : {}),
    ...(beforeSeq === undefined ? {} : { beforeSeq }),
  };
}

/** Loads the first page for a filter. An answer that was overtaken by another filter is dropped. */
export async function loadReceipts(filter: ReceiptFilter): Promise<void> {
  useReceipts.setState((state) => ({ filter, load: state.list.length > 0 ? loaded : loading }));
  try {
    const page = await call("receipts.list", params(filter));
    if (useReceipts.getState().filter !== filter) return;
    const list = page.receipts ?? [];
    useReceipts.setState((state) => ({
      list,
      total: page.total,
      hasMore: page.hasMore,
      load: loaded,
      byId: remember(state.byId, list),
    }));
  } catch (error) {
    if (useReceipts.getState().filter !== filter) return;
    useReceipts.setState({ list: [], load: { is: "failed", sentence: sentenceOf(error) } });
  }
}

/** Forgets the filter, and the page that it made; the next visit sees everything again. */
export function dropReceiptFilter(): void {
  if (useReceipts.getState().filter === anyReceipt) return;
  useReceipts.setState({ filter: anyReceipt, list: [], total: 0, hasMore: false, load: notLoaded });
}

export async function loadMoreReceipts(): Promise<void> {
  const { filter, list, hasMore } = useReceipts.getState();
  const last = list[list.length - 1];
  if (!hasMore || !last) return;
  const page = await call("receipts.list", params(filter, last.seq));
  if (useReceipts.getState().filter !== filter) return;
  const more = page.receipts ?? [];
  useReceipts.setState((state) => ({
    list: [...state.list, ...more],
    hasMore: page.hasMore,
    byId: remember(state.byId, more),
  }));
}

// A receipt holds the output of its command. A window that stays open for weeks keeps the newest ones; any other is
// asked for again when it is opened.
const rememberedMost = 1000;

function remember(byId: ReceiptsState["byId"], receipts: readonly Receipt[]): ReceiptsState["byId"] {
  const all = { ...byId, ...Object.fromEntries(receipts.map((receipt) => [receipt.id, receipt])) };
  const known = Object.values(all);
  if (known.length <= rememberedMost) return all;
  const kept = known.sort((a, b) => b.seq - a.seq).slice(0, rememberedMost / 2);
  return Object.fromEntries([...kept, ...receipts].map((receipt) => [receipt.id, receipt]));
}

/** Loads one receipt, unless it is here already. */
export async function loadReceipt(id: string): Promise<void> {
  if (useReceipts.getState().byId[id]) return;
  const found = await call("receipts.get", { id });
  useReceipts.setState((state) => ({ byId: remember(state.byId, [found]) }));
}

/** Loads the newest receipts of one session. */
export async function loadSessionReceipts(sessionKey: string): Promise<void> {
  const page = await call("receipts.list", { sessionKey, limit: 30 });
  useReceipts.setState((state) => ({ byId: remember(state.byId, page.receipts ?? []) }));
}

/** Takes an effect back. The undoing has a receipt of its own. */
export async function undo(receipt: Receipt): Promise<Receipt> {
  const result = await call("receipts.undo", { id: receipt.id });
  putReceipt(result.receipt);
  // The former receipt now says by what it was undone.
  putReceipt(await call("receipts.get", { id: receipt.id }));
  return result.receipt;
}

/** Walks the whole chain and keeps the answer. */
export async function verifyReceipts(): Promise<void> {
  useReceipts.setState({ verifying: true, verified: undefined });
  try {
    useReceipts.setState({ verified: await call("receipts.verify", {}) });
  } finally {
    useReceipts.setState({ verifying: false });
  }
}
