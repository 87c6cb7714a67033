export type Theme = "system" | "light" | "dark";

/** Narrows a stored value. */
export function asTheme(value: unknown): Theme {
  return value === "light" || value === "dark" ? value : "system";
}

/** Shows the page light, dark, or as the system says. */
export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
