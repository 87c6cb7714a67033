import { isValidElement, memo, type ReactNode, useMemo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { type Piece, splitPieces } from "./blocks";
import { CodeBlock } from "./CodeBlock";
import styles from "./Markdown.module.css";
import { RemoteImage, SafeLink } from "./Parts";
import { rawAsText, safeAddress, schema } from "./sanitize";

const components: Components = {
  a: ({ href, children }) => <SafeLink href={href}>{children}</SafeLink>,
  img: ({ src, alt }) => <RemoteImage src={typeof src === "string" ? src : undefined} alt={alt} />,
  pre: ({ children }) => <NestedCode>{children}</NestedCode>,
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section className={styles.table} tabIndex={0} aria-label="Table">
      <table>{children}</table>
    </section>
  ),
  // Headings of a reply stand under the page's own.
  h1: ({ children }) => <h3 className={styles.h1}>{children}</h3>,
  h2: ({ children }) => <h4 className={styles.h2}>{children}</h4>,
  h3: ({ children }) => <h5 className={styles.h3}>{children}</h5>,
  h4: ({ children }) => <h6 className={styles.h3}>{children}</h6>,
  input: ({ checked }) => (
    <span aria-label={checked ? "done" : "to do"} role="img">
      {checked ? "☑" : "☐"}
    </span>
  ),
};

const remarkPlugins = [remarkGfm];
const rehypePlugins = [rawAsText, [rehypeSanitize, schema] as [typeof rehypeSanitize, typeof schema]];
const keepSafe = (address: string): string => (safeAddress(address) ? address : "");

// A fence inside a list or a quotation comes here through the parser, which adds one line end.
function NestedCode({ children }: { children?: ReactNode }) {
  if (!isValidElement<{ className?: string; children?: ReactNode }>(children)) return <pre>{children}</pre>;
  const language = /language-(\S+)/.exec(children.props.className ?? "")?.[1] ?? "";
  const code = String(children.props.children ?? "").replace(/\n$/, "");
  return <CodeBlock code={code} language={language} closed />;
}

const PieceView = memo(function PieceView({ piece }: { piece: Piece }) {
  if (piece.kind === "code") return <CodeBlock code={piece.code} language={piece.language} closed={piece.closed} />;
  return (
    <ReactMarkdown
      remarkPlugins={remarkPlugins}
      rehypePlugins={rehypePlugins}
      components={components}
      urlTransform={keepSafe}
    >
      {piece.text}
    </ReactMarkdown>
  );
}, samePiece);

function samePiece(before: { piece: Piece }, after: { piece: Piece }): boolean {
  const [a, b] = [before.piece, after.piece];
  if (a.kind === "text" || b.kind === "text") return a.kind === "text" && b.kind === "text" && a.text === b.text;
  return a.code === b.code && a.language === b.language && a.closed === b.closed;
}

/** Text written by a model or by anyone else who is not trusted, as sanitised Markdown. The only way it becomes DOM. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const pieces = useMemo(() => splitPieces(text), [text]);
  return (
    <div className={styles.markdown}>
      {pieces.map((piece, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces only grow at the end; their place is their identity.
        <PieceView key={at} piece={piece} />
      ))}
    </div>
  );
});
