import { KeyPlace } from "@/cards/KeyPlace";
import { useConnection } from "@/state/connection";
import { Section } from "@/ui/Page";

/** Where keys are kept, what to do when there is no keychain, and the explicit choice of a file with a passphrase. */
export function Keychain() {
  const known = useConnection((state) => state.health?.keychain !== undefined);
  if (!known) return null;
  return (
    <Section
      title="Keys"
      lead="Where the keys of model providers are kept. They are never shown in this window, and your agent never sees them."
    >
      <KeyPlace isNeeded={false} />
    </Section>
  );
}
