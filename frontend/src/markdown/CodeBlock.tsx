import { Check, Copy, WrapText } from "lucide-react";
import { useEffect, useState } from "react";
import type { ThemedToken } from "shiki/core";
import { copyText } from "@/platform/clipboard";
import { IconButton } from "@/ui/Button";
import { toast } from "@/ui/Toasts";
import { highlight } from "./highlight";
import styles from "./Markdown.module.css";

interface CodeBlockProps {
  code: string;
  language: string;
  /** False while the block still streams; it is coloured once it is whole. */
  closed: boolean;
}

function useTokens(code: string, language: string, closed: boolean): ThemedToken[][] | undefined {
  const [found, setFound] = useState<{ code: string; tokens: ThemedToken[][] | undefined }>();
  useEffect(() => {
    if (!closed) return;
    let wanted = true;
    highlight(code, language).then(
      (tokens) => wanted && setFound({ code, tokens }),
      // Colour is an extra: plain code is complete without it.
      () => undefined,
    );
    return () => {
      wanted = false;
    };
  }, [code, language, closed]);
  return found?.code === code ? found.tokens : undefined;
}

/** Code with its language, copy of exactly these bytes, and wrapping. */
export function CodeBlock({ code, language, closed }: CodeBlockProps) {
  const tokens = useTokens(code, language, closed);
  const [wrap, setWrap] = useState(false);
  const [copied, setCopied] = useState(false);

  const copy = async (): Promise<void> => {
    const worked = await copyText(code);
    if (!worked) toast("The clipboard cannot be reached. Select the code and copy it by hand.", { tone: "failed" });
    setCopied(worked);
    setTimeout(() => setCopied(false), 2000);
  };

  return (
    <figure className={styles.code}>
      <figcaption className={styles.codeHead}>
        <span>{language || "text"}</span>
        <span className={styles.codeTools}>
          <span role="status" className="visually-hidden">
            {copied ? "Copied" : ""}
          </span>
          <IconButton label="Wrap long lines" aria-pressed={wrap} onClick={() => setWrap(!wrap)}>
            <WrapText />
          </IconButton>
          <IconButton label={copied ? "Copied" : "Copy code"} onClick={copy}>
            {copied ? <Check /> : <Copy />}
          </IconButton>
        </span>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <section className={styles.codeBody} tabIndex={0} aria-label={language ? `${language} code` : "Code"}>
        <pre data-wrap={wrap}>
          <code>{tokens ? <Coloured lines={tokens} /> : code}</code>
        </pre>
      </section>
    </figure>
  );
}

function Coloured({ lines }: { lines: readonly (readonly ThemedToken[])[] }) {
  return lines.map((line, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines of fixed text; their place is their identity.
    <span key={at}>
      {at > 0 ? "\n" : ""}
      {line.map((token) => (
        <span key={token.offset} style={token.color ? { color: token.color } : undefined}>
          {token.content}
        </span>
      ))}
    </span>
  ));
}
