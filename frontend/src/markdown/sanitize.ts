import { defaultSchema, type Options } from "rehype-sanitize";

/**
 * What a model's text may become. An allow list: plain structure, links, and pictures as placeholders. No raw HTML, no
 * ids (they could collide with the page's own), no classes but the language of code, no styles.
 */
export const schema: Options = {
  ...defaultSchema,
  tagNames: [
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "img",
    "input",
    "li",
    "ol",
    "p",
    "pre",
    "strong",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
  ],
  attributes: {
    a: ["href"],
    img: ["src", "alt"],
    code: [["className", /^language-[\w+#.-]{1,32}$/]],
    input: [["type", "checkbox"], "checked", ["disabled", true]],
    ol: ["start"],
    td: ["align"],
    th: ["align"],
  },
  protocols: { href: ["http", "https", "mailto"], src: ["http", "https"] },
  clobber: [],
  required: { input: { type: "checkbox", disabled: true } },
  strip: [],
};

/** An address that may be linked, as the browser reads it; nothing for any other scheme or for a relative one. */
export function safeAddress(address: string | undefined): URL | undefined {
  if (!address) return undefined;
  try {
    const url = new URL(address);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url : undefined;
  } catch {
    return undefined;
  }
}

interface HastNode {
  type: string;
  value?: string;
  children?: HastNode[];
}

/** Shows HTML in a model's text as the text it is, instead of dropping it silently. */
export function rawAsText() {
  const walk = (node: HastNode): void => {
    if (node.type === "raw") node.type = "text";
    for (const child of node.children ?? []) walk(child);
  };
  return walk;
}
