import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { keyPlace } from "@/cards/words";
import { copyText } from "@/platform/clipboard";
import { platformName } from "@/platform/window";
import { loadStatus, useConnection } from "@/state/connection";
import { Button } from "@/ui/Button";
import { Facts } from "@/ui/Facts";
import { formatCount, formatDuration } from "@/ui/format";
import { Notice } from "@/ui/Notice";
import { Section } from "@/ui/Page";
import { attempt } from "./change";

/** What this is, where its data lives, and what to send along with a report. */
export function About() {
  const { status, health, hello } = useConnection();
  const [copied, setCopied] = useState(false);
  useEffect(() => attempt(loadStatus), []);
  const sandbox = health?.sandbox;
  const unsafe = sandbox && (sandbox.mechanism === "none" || sandbox.mechanism === "");
  const facts: readonly (readonly [string, string])[] = [
    ["Version", status?.runtimeVersion ?? hello?.server.version ?? ""],
    ["Data folder", status?.home ?? ""],
    ["System", platformName()],
    ["Sandbox", sandbox ? (unsafe ? "none" : sandbox.mechanism) : ""],
    ["Keys are in", health ? (keyPlace(health.keychain.state) ?? "nothing yet; there is no keychain here") : ""],
    ["Running for", status ? formatDuration(status.uptimeMs) : ""],
    ["Chats", status ? formatCount(status.sessions.count) : ""],
    ["Receipts", status ? formatCount(status.receipts) : ""],
  ];
  const text = facts
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
  return (
    <>
      {(health?.problems ?? []).map((problem) => (
        <Section key={problem.id} title="Worth knowing">
          <Notice tone={problem.severity === "error" ? "failed" : "plain"} title={problem.sentence}>
            {problem.remedy}
          </Notice>
        </Section>
      ))}
      {unsafe ? (
        <Section title="Sandbox">
          <Notice title={sandbox.reason || "Commands run without a sandbox here, so each one is asked for."}>
            {sandbox.remedy}
          </Notice>
        </Section>
      ) : null}
      <Section
        title="About Countersign"
        lead="A personal agent that asks first, acts at most once, and leaves a receipt."
        actions={
          <Button icon={copied ? <Check /> : <Copy />} onClick={() => void copyText(text).then(setCopied)}>
            {copied ? "Copied" : "Copy"}
          </Button>
        }
      >
        <Facts facts={facts} />
      </Section>
    </>
  );
}
