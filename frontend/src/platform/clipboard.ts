/**
 * Copies exactly this text: no trimming, no changed line ends. Falls back to a hidden text area where the page has no
 * clipboard (plain http, some web views). Resolves to whether it worked; never throws.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch {
    // Refused (no focus, no permission): the older way may still work.
  }
  return copyBySelection(text);
}

function copyBySelection(text: string): boolean {
  const before = document.activeElement;
  const area = document.createElement("textarea");
  area.className = "visually-hidden";
  area.setAttribute("readonly", "");
  area.value = text;
  // A text area turns CRLF into LF, so the exact text is handed to the copy event instead of what is selected.
  const exact = (event: ClipboardEvent): void => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  };
  const home = before?.closest("dialog") ?? document.body;
  home.append(area);
  area.select();
  area.addEventListener("copy", exact);
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
    if (before instanceof HTMLElement) before.focus();
  }
}
