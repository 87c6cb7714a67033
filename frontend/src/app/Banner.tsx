import { useEffect, useState } from "react";
import { useConnection } from "@/state/connection";
import { Button } from "@/ui/Button";
import styles from "./shell.module.css";

const patienceMs = 5000;

/** Says that the connection is gone, once that has lasted; a short loss heals without a word. */
export function Banner({ onRetry }: { onRetry: () => void }) {
  const { phase, sinceMs, shutdown, reason } = useConnection();
  const [shownFor, setShownFor] = useState<number>();
  useEffect(() => {
    if (phase === "ready") return;
    const timer = setTimeout(() => setShownFor(sinceMs), Math.max(0, sinceMs + patienceMs - Date.now()));
    return () => clearTimeout(timer);
  }, [phase, sinceMs]);
  if (phase === "ready" || shownFor !== sinceMs) return null;
  return (
    <div className={styles.banner} role="alert">
      <span>
        {shutdown ? "Countersign has ended." : "The connection to Countersign is lost."} {reason} What you see may be
        behind, and what you send waits on this page until the connection is back. Trying again…
      </span>
      <Button onClick={onRetry}>Try now</Button>
    </div>
  );
}
