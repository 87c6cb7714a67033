import type { HighlighterCore, LanguageInput, ThemedToken } from "shiki/core";

type Loader = () => Promise<{ default: LanguageInput }>;

// A few languages, each its own file, loaded when the first block of it is shown.
const languages: Readonly<Record<string, Loader>> = {
  bash: () => import("shiki/langs/bash.mjs"),
  css: () => import("shiki/langs/css.mjs"),
  diff: () => import("shiki/langs/diff.mjs"),
  go: () => import("shiki/langs/go.mjs"),
  html: () => import("shiki/langs/html.mjs"),
  javascript: () => import("shiki/langs/javascript.mjs"),
  json: () => import("shiki/langs/json.mjs"),
  markdown: () => import("shiki/langs/markdown.mjs"),
  python: () => import("shiki/langs/python.mjs"),
  rust: () => import("shiki/langs/rust.mjs"),
  sql: () => import("shiki/langs/sql.mjs"),
  toml: () => import("shiki/langs/toml.mjs"),
  tsx: () => import("shiki/langs/tsx.mjs"),
  typescript: () => import("shiki/langs/typescript.mjs"),
  yaml: () => import("shiki/langs/yaml.mjs"),
};

const aliases: Readonly<Record<string, string>> = {
  sh: "bash",
  shell: "bash",
  zsh: "bash",
  console: "bash",
  golang: "go",
  js: "javascript",
  jsx: "tsx",
  jsonc: "json",
  md: "markdown",
  patch: "diff",
  py: "python",
  rs: "rust",
  ts: "typescript",
  yml: "yaml",
};

const longest = 40_000;
let highlighter: Promise<HighlighterCore> | undefined;

async function create(): Promise<HighlighterCore> {
  const [{ createHighlighterCore, createCssVariablesTheme }, { createJavaScriptRegexEngine }] = await Promise.all([
    import("shiki/core"),
    import("shiki/engine/javascript"),
  ]);
  return createHighlighterCore({
    themes: [createCssVariablesTheme({ name: "page", variablePrefix: "--shiki-" })],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
}

/** The coloured tokens of some code, line by line; nothing for a language that is not known, or for very long code. */
export async function highlight(code: string, language: string): Promise<ThemedToken[][] | undefined> {
  const wanted = language.toLowerCase();
  const name = aliases[wanted] ?? wanted;
  const load = languages[name];
  if (!load || code.length > longest) return undefined;
  highlighter ??= create();
  const shiki = await highlighter;
  if (!shiki.getLoadedLanguages().includes(name)) await shiki.loadLanguage((await load()).default);
  return shiki.codeToTokensBase(code, { lang: name, theme: "page" });
}
