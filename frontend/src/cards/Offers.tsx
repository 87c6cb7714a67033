import { Server } from "lucide-react";
import { useState } from "react";
import { sentenceOf } from "@/gateway/calls";
import type { ModelOffer, ModelRow } from "@/gateway/protocol.gen";
import { addModel } from "@/state/models";
import { Button } from "@/ui/Button";
import { Card, Row } from "@/ui/Page";
import { toast } from "@/ui/Toasts";
import styles from "./offers.module.css";

/** What was found on this machine: each with its model to choose and a button to use it. Nothing is used before. */
export function Offers({
  offers,
  makeDefault,
  onUsed,
}: {
  offers: readonly ModelOffer[];
  makeDefault: boolean;
  onUsed?: (row: ModelRow) => void;
}) {
  return (
    <Card label="Found on this computer">
      {offers.map((offer) => (
        <OfferRow key={offer.id} offer={offer} makeDefault={makeDefault} onUsed={onUsed} />
      ))}
    </Card>
  );
}

function OfferRow({
  offer,
  makeDefault,
  onUsed,
}: {
  offer: ModelOffer;
  makeDefault: boolean;
  onUsed: ((row: ModelRow) => void) | undefined;
}) {
  const models = offer.models ?? [];
  const [model, setModel] = useState(models[0] ?? "");
  const [busy, setBusy] = useState(false);
  const use = async (): Promise<void> => {
    setBusy(true);
    try {
      const row = await addModel({
        name: model || offer.title,
        provider: offer.provider,
        foundId: offer.id,
        ...(model ? { model } : {}),
        ...(offer.baseUrl ? { baseUrl: offer.baseUrl } : {}),
        ...(offer.noKey ? { noKey: true } : {}),
        ...(makeDefault ? { default: true } : {}),
      });
      onUsed?.(row);
    } catch (error) {
      toast(sentenceOf(error), { tone: "failed" });
    } finally {
      setBusy(false);
    }
  };
  return (
    <Row mark={<Server />} title={offer.title} note={offer.source}>
      {models.length > 1 ? (
        <select
          className={styles.select}
          aria-label={`Model of ${offer.title}`}
          value={model}
          onChange={(event) => setModel(event.target.value)}
        >
          {models.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      ) : null}
      <Button disabled={busy} onClick={use}>
        {busy ? "Adding…" : "Use this"}
      </Button>
    </Row>
  );
}
