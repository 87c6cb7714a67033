import { Command } from "lucide-react";
import { useLocation } from "wouter";
import { commandKey } from "@/platform/window";
import { agentName, useMainAgent } from "@/state/agents";
import { useConnection } from "@/state/connection";
import { useNeedsCount } from "@/state/needs";
import { useRuns } from "@/state/runs";
import { IconButton } from "@/ui/Button";
import { Count, Status, type StatusKind } from "@/ui/Status";
import { places } from "./places";
import styles from "./shell.module.css";

function useWorking(): number {
  return useRuns(
    (state) => Object.values(state.rows).filter((run) => run.state === "running" || run.state === "queued").length,
  );
}

function useAgentState(needs: number, working: number): { kind: StatusKind; word: string } {
  const { phase, health } = useConnection();
  if (phase !== "ready") return { kind: "waiting", word: "Connecting" };
  if (health?.paused) return { kind: "stopped", word: "Paused" };
  if (needs > 0) return { kind: "needs", word: "Needs you" };
  if (working > 0) return { kind: "working", word: "Working" };
  return { kind: "idle", word: "Ready" };
}

/** The pages, with how many things wait in each, and the agent's state above them. */
export function Nav({ onPalette }: { onPalette: () => void }) {
  const [path] = useLocation();
  const needs = useNeedsCount();
  const working = useWorking();
  const agent = useMainAgent();
  const state = useAgentState(needs, working);
  return (
    <nav aria-label="Pages" className={styles.nav}>
      <div className={styles.agent}>
        <div className={styles.agentWords}>
          <span className={styles.agentName}>{agentName(agent)}</span>
          <Status kind={state.kind} word={state.word} />
        </div>
        <IconButton label={`Go to anything (${commandKey()} K)`} onClick={onPalette}>
          <Command />
        </IconButton>
      </div>
      <ul>
        {places.map((place) => {
          const current = path === place.path || path.startsWith(`${place.path}/`);
          return (
            <li key={place.path}>
              <a className={styles.place} href={`#${place.path}`} aria-current={current ? "page" : undefined}>
                <span aria-hidden="true" className={styles.placeIcon}>
                  {place.icon}
                </span>
                <span className={styles.placeLabel}>{place.label}</span>
                {place.path === "/needs-you" ? <Count count={needs} what="waiting" needs /> : null}
                {place.path === "/tasks" ? <Count count={working} what="working" /> : null}
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
