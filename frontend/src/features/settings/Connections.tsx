import { Check, Copy, Laptop } from "lucide-react";
import { useEffect, useState } from "react";
import type { Device, Ticket } from "@/gateway/protocol.gen";
import { copyText } from "@/platform/clipboard";
import { createTicket, loadDevices, patchSettings, removeDevice, useSettings } from "@/state/settings";
import { Button } from "@/ui/Button";
import { Confirm } from "@/ui/Confirm";
import { Exact } from "@/ui/Facts";
import { Card, Row, Section } from "@/ui/Page";
import { Switch } from "@/ui/Switch";
import { Time } from "@/ui/Time";
import { attempt } from "./change";
import styles from "./settings.module.css";

const loopback = "127.0.0.1:0";

/** Ways in besides this window: the local port, a browser, the command line, other devices. */
export function Connections() {
  const gateway = useSettings((state) => state.settings?.gateway);
  const devices = useSettings((state) => state.devices);
  const [removing, setRemoving] = useState<Device>();
  useEffect(() => attempt(loadDevices), []);
  const on = Boolean(gateway?.listen || gateway?.url);
  return (
    <>
      <Section
        title="Local port"
        lead="Without it no other program can reach Countersign over the network, not even on this computer."
      >
        <Switch
          label="Open a port on this computer"
          hint={
            gateway?.url
              ? `Listening at ${gateway.url}. Only this computer can reach it, and only with a ticket or a paired key.`
              : "Only this computer can reach it, and only with a ticket or a paired key."
          }
          checked={on}
          onChange={(open) => attempt(() => patchSettings({ gateway: { listen: open ? loopback : "" } }))}
        />
      </Section>
      <Section
        title="Open in a browser"
        lead="A ticket opens the same pages in a browser on this computer. It works once, within a minute."
      >
        <TicketMaker kind="browser" verb="Make a browser ticket" disabled={!on} />
      </Section>
      <Section
        title="Pair the command line"
        lead="A paired program can decide approvals with a key of its own. Pair only what you start yourself."
      >
        <TicketMaker kind="device" verb="Make a pairing ticket" disabled={false} />
      </Section>
      <Section title="Paired devices">
        {devices && devices.length > 0 ? (
          <Card label="Paired devices">
            {devices.map((device) => (
              <Row
                key={device.deviceId}
                mark={<Laptop />}
                title={device.displayName || device.deviceId.slice(0, 12)}
                note={
                  <>
                    {device.platform ? `${device.platform} · ` : null}paired <Time atMs={device.ts} />
                    {device.connected ? " · connected now" : null}
                  </>
                }
              >
                <Button aria-label={`Remove ${device.displayName}`} onClick={() => setRemoving(device)}>
                  Remove
                </Button>
              </Row>
            ))}
          </Card>
        ) : (
          <p className={styles.quiet}>
            Nothing is paired. Programs you pair will be listed here, and can be removed at any time.
          </p>
        )}
      </Section>
      {removing ? (
        <Confirm
          title="Remove this device?"
          text={`${removing.displayName || "It"} is disconnected at once and its key no longer works. What it did stays in Activity.`}
          verb="Remove"
          onClose={() => setRemoving(undefined)}
          onConfirm={() => attempt(() => removeDevice(removing.deviceId))}
        />
      ) : null}
    </>
  );
}

function TicketMaker({ kind, verb, disabled }: { kind: "browser" | "device"; verb: string; disabled: boolean }) {
  const [ticket, setTicket] = useState<Ticket>();
  const [copied, setCopied] = useState(false);
  const expiresAtMs = ticket?.expiresAtMs;
  useEffect(() => {
    if (expiresAtMs === undefined) return;
    const timer = setTimeout(() => setTicket(undefined), Math.max(0, expiresAtMs - Date.now()));
    return () => clearTimeout(timer);
  }, [expiresAtMs]);
  const text = ticket
    ? kind === "browser"
      ? (ticket.url ?? ticket.ticket)
      : `countersign device pair --ticket ${ticket.ticket}`
    : "";
  return (
    <div className={styles.ticket}>
      <div>
        <Button
          disabled={disabled}
          title={disabled ? "Open the local port first" : undefined}
          onClick={() =>
            attempt(async () => {
              setCopied(false);
              setTicket(await createTicket(kind));
            })
          }
        >
          {verb}
        </Button>
      </div>
      {ticket ? (
        <>
          <Exact label="Ticket" text={text} />
          <div className={styles.inline}>
            <Button icon={copied ? <Check /> : <Copy />} onClick={() => void copyText(text).then(setCopied)}>
              {copied ? "Copied" : "Copy"}
            </Button>
            <span className={styles.quiet}>
              Works once, until <Time atMs={ticket.expiresAtMs} />
            </span>
          </div>
        </>
      ) : null}
    </div>
  );
}
