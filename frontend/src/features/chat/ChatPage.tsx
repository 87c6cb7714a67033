import { MessagesSquare } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ReceiptDetail } from "@/cards/ReceiptDetail";
import type { Message } from "@/gateway/protocol.gen";
import type { PickedFile } from "@/platform/files";
import { agentName, useMainAgent } from "@/state/agents";
import { loadOlder, openChat, sendMessage, useTranscript } from "@/state/chats";
import { useModels } from "@/state/models";
import { rememberSession, setDetailOpen, usePlace } from "@/state/place";
import { loadReceipt, useReceipts } from "@/state/receipts";
import { useSessions } from "@/state/sessions";
import { Button } from "@/ui/Button";
import { DetailPane, WithDetail } from "@/ui/DetailPane";
import { Empty, Loading } from "@/ui/Empty";
import { Notice } from "@/ui/Notice";
import { toast } from "@/ui/Toasts";
import { Composer, type ComposerHandle } from "./Composer";
import styles from "./chat.module.css";
import { Dock } from "./Dock";
import { ChatHeader, modelOf } from "./Header";
import { MessageList } from "./MessageList";
import { type RowActions, RowView } from "./RowView";
import { textOf } from "./rows";
import { QueuedRow, SendingRow } from "./Sending";
import { SessionDetail } from "./SessionDetail";
import { type Item, useItems } from "./useRows";

const suggestions = ["list this folder", "write notes.md: buy milk", "run ls -la"];

/** One conversation: what was said and done, what needs the owner, and where the next message is written. */
export function ChatPage({ sessionKey }: { sessionKey: string }) {
  const transcript = useTranscript(sessionKey);
  const row = useSessions((state) => state.rows[sessionKey]);
  const model = useModels((state) => modelOf(state.rows, row));
  const agent = agentName(useMainAgent());
  const detailOpen = usePlace((state) => state.detailOpen);
  const items = useItems(sessionKey, transcript);
  const [editing, setEditing] = useState<{ session: string; id: string; text: string }>();
  const [receiptId, setReceiptId] = useState<string>();
  const composer = useRef<ComposerHandle>(null);
  const list = useRef<HTMLDivElement>(null);

  const isLoaded = transcript.load.is !== "no";
  useEffect(() => {
    rememberSession(sessionKey);
    if (!isLoaded) void openChat(sessionKey);
  }, [sessionKey, isLoaded]);

  const send = useCallback(
    (text: string, files: readonly PickedFile[], replaces?: string) =>
      void sendMessage(sessionKey, text, files, replaces),
    [sessionKey],
  );
  const actions = useMemo<RowActions>(
    () => ({
      edit: (message: Message) => {
        setEditing({ session: sessionKey, id: message.id, text: textOf(message) });
        requestAnimationFrame(() => composer.current?.focus());
      },
      retry: (message: Message) => send(textOf(message), [], message.id),
      openReceipt: (id: string) => {
        setReceiptId(id);
        setDetailOpen(true);
        loadReceipt(id).catch(() => toast("The receipt cannot be loaded right now. Try again.", { tone: "failed" }));
      },
    }),
    [sessionKey, send],
  );
  const render = useCallback(
    (item: Item) => {
      if (item.kind === "outgoing") return <SendingRow sessionKey={sessionKey} sent={item.sent} />;
      if (item.kind === "queued") return <QueuedRow sessionKey={sessionKey} input={item.input} />;
      return <RowView row={item} actions={actions} />;
    },
    [sessionKey, actions],
  );

  useEffect(() => composer.current?.focus(), []);

  const edited = editing?.session === sessionKey ? editing : undefined;
  const closeDetail = (): void => (receiptId ? setReceiptId(undefined) : setDetailOpen(false));
  return (
    <WithDetail
      detail={
        detailOpen ? (
          <DetailPane title={receiptId ? "Receipt" : "This chat"} onClose={closeDetail}>
            {receiptId ? (
              <OpenReceipt id={receiptId} onOpen={actions.openReceipt} />
            ) : (
              <SessionDetail sessionKey={sessionKey} row={row} onOpenReceipt={actions.openReceipt} />
            )}
          </DetailPane>
        ) : null
      }
    >
      <div className={styles.chat}>
        <ChatHeader sessionKey={sessionKey} row={row} />
        {model?.provider === "practice" ? (
          <p className={styles.practice}>
            Practice model: no AI, no network. It understands plain requests such as “list this folder”.
          </p>
        ) : null}
        <div className={styles.middle} ref={list}>
          {transcript.load.is === "failed" ? (
            <div className={styles.failed}>
              <Notice
                tone="failed"
                title="This chat cannot be shown right now"
                actions={<Button onClick={() => openChat(sessionKey)}>Try again</Button>}
              >
                {transcript.load.sentence} Nothing in it is lost.
              </Notice>
            </div>
          ) : null}
          {transcript.load.is === "loading" ? <Loading what="the chat" lines={8} /> : null}
          {transcript.load.is === "yes" && items.length === 0 ? (
            <Empty icon={<MessagesSquare />} title={`Tell ${agent} what to do`}>
              You are asked before anything changes, and everything that was done leaves a receipt.
              {model?.provider === "practice" ? (
                <span className={styles.suggestions}>
                  {suggestions.map((text) => (
                    <Button key={text} onClick={() => send(text, [])}>
                      {text}
                    </Button>
                  ))}
                </span>
              ) : null}
            </Empty>
          ) : null}
          {items.length > 0 ? (
            <MessageList
              startOver={`${sessionKey} ${transcript.outgoing.at(-1)?.runId ?? ""}`}
              items={items}
              render={render}
              onTop={() => void loadOlder(sessionKey)}
              busyAbove={transcript.loadingOlder}
            />
          ) : null}
        </div>
        <div className={styles.dock}>
          <Dock sessionKey={sessionKey} transcript={transcript} />
          <Composer
            ref={composer}
            sessionKey={sessionKey}
            agentName={agent}
            editing={edited}
            onCancelEdit={() => setEditing(undefined)}
            onSend={(text, files) => {
              send(text, files, edited?.id);
              setEditing(undefined);
            }}
            onUp={() => list.current?.querySelector<HTMLElement>("[role=log]")?.focus()}
          />
        </div>
      </div>
    </WithDetail>
  );
}

function OpenReceipt({ id, onOpen }: { id: string; onOpen: (id: string) => void }) {
  const receipt = useReceipts((state) => state.byId[id]);
  return receipt ? (
    <ReceiptDetail key={receipt.id} receipt={receipt} onOpen={onOpen} />
  ) : (
    <Loading what="the receipt" />
  );
}
