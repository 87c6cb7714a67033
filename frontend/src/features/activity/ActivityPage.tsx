import { FileCheck, ShieldCheck } from "lucide-react";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { ReceiptDetail } from "@/cards/ReceiptDetail";
import { sentenceOf } from "@/gateway/calls";
import {
  anyReceipt,
  dropReceiptFilter,
  loadReceipt,
  loadReceipts,
  type ReceiptFilter,
  useReceipts,
  verifyReceipts,
} from "@/state/receipts";
import { Button } from "@/ui/Button";
import { DetailPane, WithDetail } from "@/ui/DetailPane";
import { Empty, Loading } from "@/ui/Empty";
import { formatCount, plural } from "@/ui/format";
import { Notice } from "@/ui/Notice";
import { Page } from "@/ui/Page";
import { toast } from "@/ui/Toasts";
import { Filters } from "./Filters";
import { ReceiptList } from "./ReceiptList";

function isFiltered(filter: ReceiptFilter): boolean {
  return filter.search !== "" || filter.tool !== "" || filter.outcome !== "" || filter.effectClass !== "";
}

/** Everything that was done, denied or left unknown: receipts to search, read, check and take back. */
export function ActivityPage({ receiptId }: { receiptId: string | undefined }) {
  const { list, total, load, filter, hasMore } = useReceipts();
  const [, go] = useLocation();
  const open = useReceipts((state) => (receiptId ? state.byId[receiptId] : undefined));

  useEffect(() => {
    if (useReceipts.getState().load.is === "no") void loadReceipts(anyReceipt);
    // A search belongs to one visit: who comes back expects what happened since, not what was looked for then.
    return dropReceiptFilter;
  }, []);
  useEffect(() => {
    if (receiptId) loadReceipt(receiptId).catch((error: unknown) => toast(sentenceOf(error), { tone: "failed" }));
  }, [receiptId]);

  const openReceipt = (id: string): void => go(`/activity/${encodeURIComponent(id)}`);
  return (
    <WithDetail
      detail={
        receiptId ? (
          <DetailPane title="Receipt" onClose={() => go("/activity")}>
            {open ? (
              <ReceiptDetail key={open.id} receipt={open} onOpen={openReceipt} />
            ) : (
              <Loading what="the receipt" />
            )}
          </DetailPane>
        ) : null
      }
    >
      <Page
        title="Activity"
        fill={list.length > 0}
        lead="A receipt for everything your agent did, was refused, or may have done."
        actions={<Verify />}
        tools={<Filters filter={filter} onChange={(next) => void loadReceipts(next)} />}
      >
        <VerifyResult onOpen={openReceipt} />
        {load.is === "failed" ? (
          <Notice
            tone="failed"
            title="Receipts cannot be loaded right now"
            actions={<Button onClick={() => loadReceipts(filter)}>Try again</Button>}
          >
            {load.sentence} They are safe on disk.
          </Notice>
        ) : null}
        {load.is === "loading" ? <Loading what="receipts" lines={8} /> : null}
        {load.is === "yes" && list.length === 0 ? (
          isFiltered(filter) ? (
            <Empty
              icon={<FileCheck />}
              title="No receipt fits"
              action={<Button onClick={() => loadReceipts(anyReceipt)}>Show all</Button>}
            >
              Try other words, or fewer filters.
            </Empty>
          ) : (
            <Empty
              icon={<FileCheck />}
              title="Nothing was done yet"
              action={<Button onClick={() => go("/chat")}>Open chat</Button>}
            >
              Each file that is read or changed and each command that is run will be listed here, in plain words.
            </Empty>
          )
        ) : null}
        {list.length > 0 ? (
          <>
            <p className="visually-hidden" role="status">
              {plural(total, "receipt")}
            </p>
            <ReceiptList
              receipts={list}
              openId={receiptId}
              hasMore={hasMore}
              label={`${formatCount(total)} receipts`}
              onOpen={openReceipt}
            />
          </>
        ) : null}
      </Page>
    </WithDetail>
  );
}

function Verify() {
  const verifying = useReceipts((state) => state.verifying);
  return (
    <Button
      icon={<ShieldCheck />}
      disabled={verifying}
      onClick={() => verifyReceipts().catch((error: unknown) => toast(sentenceOf(error), { tone: "failed" }))}
    >
      {verifying ? "Checking…" : "Check the chain"}
    </Button>
  );
}

function VerifyResult({ onOpen }: { onOpen: (id: string) => void }) {
  const verified = useReceipts((state) => state.verified);
  const [closed, setClosed] = useState<typeof verified>();
  if (!verified || closed === verified) return null;
  const broken = verified.brokenId;
  return (
    <div role="status">
      <Notice
        tone={verified.ok ? "done" : "failed"}
        title={
          verified.sentence || (verified.ok ? `All ${plural(verified.count, "receipt")} hold.` : "The chain is broken.")
        }
        actions={
          <>
            {broken ? <Button onClick={() => onOpen(broken)}>See the first broken receipt</Button> : null}
            <Button kind="quiet" onClick={() => setClosed(verified)}>
              Close
            </Button>
          </>
        }
      />
    </div>
  );
}
