import { Router } from "wouter";
import { useHashLocation } from "wouter/use-hash-location";
import { FirstRun } from "@/features/first-run/FirstRun";
import { useConnection } from "@/state/connection";
import { useSettings } from "@/state/settings";
import { Toasts } from "@/ui/Toasts";
import { TooltipProvider } from "@/ui/Tooltip";
import { Boundary } from "./Boundary";
import { LiveRegion } from "./LiveRegion";
import { Shell } from "./Shell";
import { Starting } from "./Starting";

/** The whole page: starting, the first run, or the shell with its pages. */
export function App({ onRetry }: { onRetry: () => void }) {
  const everReady = useConnection((state) => state.everReady);
  const firstRunDone = useSettings((state) => state.settings?.firstRunDone);
  const load = useSettings((state) => state.load);
  const known = everReady && (firstRunDone !== undefined || load.is === "failed");
  return (
    <TooltipProvider>
      <Boundary resetOn="">
        <Router hook={useHashLocation}>
          {/* The shell has a place of its own for them. */}
          {known && firstRunDone !== false ? null : <Toasts />}
          {known ? null : <Starting onRetry={onRetry} />}
          {known && firstRunDone === false ? (
            <FirstRun
              onDone={() => {
                window.location.hash = "/chat";
              }}
            />
          ) : null}
          {known && firstRunDone !== false ? <Shell onRetry={onRetry} /> : null}
        </Router>
      </Boundary>
      <LiveRegion />
    </TooltipProvider>
  );
}
