import { createRoot, type Root } from "react-dom/client";
import { App } from "@/app/App";
import { applyTheme, asTheme } from "@/platform/theme";
import { changeTranscript } from "@/state/chats";
import { withDelta, withMessage } from "@/state/transcript";
import "@/ui/base.css";
import { main, message, text } from "./fixtures";
import { scenes } from "./scenes";

const place = document.getElementById("root");
let root: Root | undefined;

function show(name: string, theme: string | null): void {
  const scene = scenes.find((each) => each.name === name);
  if (!scene || !place) return;
  root?.unmount();
  applyTheme(asTheme(theme));
  scene.set();
  window.location.hash = scene.hash;
  root = createRoot(place);
  root.render(<App onRetry={() => undefined} />);
}

// One load of the page shows them all: ?scene=… for a person, an event for the one who draws the pictures.
const query = new URLSearchParams(window.location.search);
const wanted = query.get("scene");
if (wanted) show(wanted, query.get("theme"));
else if (place) place.textContent = JSON.stringify(scenes.map(({ name, press }) => ({ name, press })));

// Lets a test make the shown chat grow, as a reply does.
document.addEventListener("stream", (event) => {
  if (event instanceof CustomEvent && typeof event.detail === "string") {
    const words = event.detail;
    changeTranscript(main, (before) => withDelta(before, "streaming", words, false));
  }
});

document.addEventListener("append", (event) => {
  if (event instanceof CustomEvent && typeof event.detail === "string") {
    const words = event.detail;
    changeTranscript(main, (before) =>
      withMessage(withMessage(before, message("user", [text("More?")])), message("assistant", [text(words)])),
    );
  }
});

document.addEventListener("scene", (event) => {
  if (event instanceof CustomEvent && typeof event.detail === "string") show(event.detail, null);
});
