/** A piece of a reply that can be rendered, and kept, on its own. */
export type Piece =
  | { kind: "text"; text: string }
  /** A fenced block at the left edge; not closed while it still streams. */
  | { kind: "code"; language: string; code: string; closed: boolean };

const fenceStart = /^(`{3,}|~{3,})[ \t]*([^`\r\n]*?)[ \t]*\r?$/;
const definition = /^ {0,3}\[[^\]\n]+\]:[ \t]*\S/;
const listItem = /^ {0,3}([-*+]|\d{1,9}[.)])[ \t]/;
const indented = /^\s+\S/;

/**
 * Cuts Markdown into pieces at fences and blank lines, so that while a reply grows only its last piece is parsed again.
 * Joining what the pieces show gives what the whole would have shown; link definitions reach every piece.
 */
export function splitPieces(markdown: string): Piece[] {
  const pieces: Piece[] = [];
  const definitions: string[] = [];
  let paragraph: string[] = [];
  let blanks = 0;

  const flush = (): void => {
    const text = paragraph.join("\n");
    if (text.trim() !== "") pieces.push({ kind: "text", text });
    paragraph = [];
    blanks = 0;
  };

  const lines = markdown.split("\n");
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const fence = fenceStart.exec(line);
    if (fence) {
      flush();
      at = takeFence(lines, at, fence, pieces);
      continue;
    }
    if (line.trim() === "") {
      blanks += 1;
      if (paragraph.length > 0) paragraph.push(line);
      continue;
    }
    // Only a list goes on below a blank line: with its next item, or with something indented under one.
    const goesOn = listItem.test(paragraph[0] ?? "") && (listItem.test(line) || indented.test(line));
    if (blanks > 0 && paragraph.length > 0 && !goesOn) flush();
    if (definition.test(line)) definitions.push(line);
    blanks = 0;
    paragraph.push(line);
  }
  flush();
  return definitions.length === 0 ? pieces : pieces.map((piece) => withDefinitions(piece, definitions));
}

function takeFence(lines: readonly string[], at: number, fence: RegExpExecArray, pieces: Piece[]): number {
  const mark = fence[1] ?? "```";
  const end = new RegExp(`^ {0,3}${mark[0] === "~" ? "~" : "`"}{${mark.length},}[ \\t]*\\r?$`);
  let last = at + 1;
  while (last < lines.length && !end.test(lines[last] ?? "")) last += 1;
  const closed = last < lines.length;
  const language = (fence[2] ?? "").split(/\s/)[0] ?? "";
  pieces.push({
    kind: "code",
    language,
    code: lines
      .slice(at + 1, last)
      .join("\n")
      .replace(/\r$/, ""),
    closed,
  });
  return last;
}

function withDefinitions(piece: Piece, definitions: readonly string[]): Piece {
  return piece.kind === "text" ? { kind: "text", text: `${piece.text}\n\n${definitions.join("\n")}` } : piece;
}
