import { ImageOff } from "lucide-react";
import type { ReactNode } from "react";
import { openOutside } from "@/platform/window";
import { Button } from "@/ui/Button";
import styles from "./Markdown.module.css";
import { safeAddress } from "./sanitize";

/** The text inside nodes, for comparing a link's words with where it leads. */
function wordsOf(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  return Array.isArray(node) ? node.map(wordsOf).join("") : "";
}

const looksLikeAddress = /^(https?:\/\/)?([\w-]+\.)+[a-z]{2,}(\/|$)/i;

/** A link that says where it leads when its words say something else, and opens outside this window. */
export function SafeLink({ href, children }: { href?: string | undefined; children?: ReactNode }) {
  const url = safeAddress(href);
  if (!url) return <span>{children}</span>;
  const words = wordsOf(children).trim();
  const misleads = looksLikeAddress.test(words) && !words.toLowerCase().includes(url.host.toLowerCase());
  return (
    <a
      href={url.href}
      title={url.href}
      target="_blank"
      rel="noopener noreferrer"
      onClick={(event) => {
        event.preventDefault();
        openOutside(url.href);
      }}
    >
      {children}
      {misleads ? ` (${url.host})` : null}
    </a>
  );
}

/**
 * A picture in a model's text. It is never loaded: its address alone can carry private data away. The person sees where
 * it would come from and may open it in the browser.
 */
export function RemoteImage({ src, alt }: { src?: string | undefined; alt?: string | undefined }) {
  const url = safeAddress(src);
  const name = alt?.trim() || "Picture";
  return (
    <span className={styles.picture}>
      <ImageOff aria-hidden="true" />
      <span>
        {name}
        <span className={styles.host}>
          {url ? ` — not loaded, from ${url.host}` : " — not loaded, its address is not allowed"}
        </span>
      </span>
      {url ? (
        <Button kind="quiet" title={url.href} onClick={() => openOutside(url.href)}>
          Open in browser
        </Button>
      ) : null}
    </span>
  );
}
