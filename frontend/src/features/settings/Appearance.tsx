import { asTheme, type Theme } from "@/platform/theme";
import { patchSettings, useSettings } from "@/state/settings";
import { Section } from "@/ui/Page";
import { Segmented } from "@/ui/Segmented";
import { attempt } from "./change";

const themes: readonly { value: Theme; label: string }[] = [
  { value: "system", label: "As the system" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];

/** How the window looks. */
export function Appearance() {
  const theme = useSettings((state) => asTheme(state.settings?.appearance.theme));
  return (
    <Section title="Appearance" lead="Movement follows the system's own setting for reduced motion.">
      <div>
        <Segmented
          label="Appearance"
          value={theme}
          options={themes}
          onChange={(next) => attempt(() => patchSettings({ appearance: { theme: next } }))}
        />
      </div>
    </Section>
  );
}
