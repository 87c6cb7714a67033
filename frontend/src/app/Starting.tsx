import { useEffect, useState } from "react";
import { useConnection } from "@/state/connection";
import { Button } from "@/ui/Button";
import styles from "./shell.module.css";

const progressAfterMs = 1000;
const reasonAfterMs = 10_000;

/** Until the host has answered: nothing for a second, then that it takes a moment, then why it might. */
export function Starting({ onRetry }: { onRetry: () => void }) {
  const phase = useConnection((state) => state.phase);
  const reason = useConnection((state) => state.reason);
  const [stage, setStage] = useState<"quiet" | "progress" | "reason">("quiet");
  useEffect(() => {
    const first = setTimeout(() => setStage("progress"), progressAfterMs);
    const second = setTimeout(() => setStage("reason"), reasonAfterMs);
    return () => {
      clearTimeout(first);
      clearTimeout(second);
    };
  }, []);
  if (stage === "quiet") return null;
  return (
    <main className={styles.starting} role="status">
      <h1>{phase === "ready" ? "Loading…" : "Starting Countersign…"}</h1>
      {stage === "reason" ? (
        <>
          <p>
            {reason || "It is not answering yet."} Your chats and receipts are safe on disk. In a browser, the ticket of
            this page may have been used up: make a new one in the window under Settings, Connections, or start
            “countersign serve” again.
          </p>
          <Button onClick={onRetry}>Try again now</Button>
        </>
      ) : null}
    </main>
  );
}
