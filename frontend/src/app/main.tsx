import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { connect } from "@/events/subscriber";
import { dialHere, startHeartbeat } from "@/gateway/transport";
import { Announcer } from "@/platform/announcer";
import { nativeWindow } from "@/platform/window";
import { lastPage } from "@/state/place";
import "@/ui/base.css";
import { App } from "./App";
import { sayInLiveRegion } from "./LiveRegion";

// The last place is restored before anything is drawn, so that no other page flashes up.
if (window.location.hash === "") window.location.hash = lastPage() ?? "/chat";

const native = nativeWindow();
if (native) startHeartbeat(native.page);

const announcer = new Announcer(sayInLiveRegion);
const client = connect(
  dialHere(),
  (text, final) => (final ? announcer.final(text) : announcer.progress(text)),
  "0.1.0",
);

// After sleep or when the network is back, waiting for the next attempt makes no sense.
window.addEventListener("online", () => client.retryNow());
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") client.retryNow();
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App onRetry={() => client.retryNow()} />
    </StrictMode>,
  );
}
