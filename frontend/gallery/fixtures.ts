import type * as p from "@/gateway/protocol.gen";

/** Made-up data in the shapes of the host, for the gallery and the tests. */
export const now = Date.now();
export const ago = (minutes: number): number => now - minutes * 60_000;
export const main = "agent:main:main";

export function session(over: Partial<p.SessionRow> = {}): p.SessionRow {
  return {
    key: main,
    sessionId: "s-main",
    kind: "direct",
    derivedTitle: "Tidy the invoices folder",
    agentId: "main",
    createdAt: ago(600),
    updatedAt: ago(3),
    status: "idle",
    messageCount: 12,
    version: 1,
    ...over,
  };
}

export const sessions: p.SessionRow[] = [
  session(),
  session({
    key: "agent:main:trip",
    derivedTitle: "Trip to Lisbon: trains, and a place to stay near the river",
    updatedAt: ago(55),
    status: "parked",
  }),
  session({ key: "agent:main:garden", label: "Garden plan", updatedAt: ago(240), status: "running", pinned: true }),
  session({
    key: "agent:main:tax",
    derivedTitle: "Tax letter, second draft",
    updatedAt: ago(60 * 26),
    status: "failed",
  }),
  session({ key: "agent:main:new", derivedTitle: "", messageCount: 0, updatedAt: ago(60 * 50) }),
  session({ key: "agent:main:old", label: "Old notes", archived: true, updatedAt: ago(60 * 24 * 40) }),
];

let seq = 0;
export function message(role: p.Role, content: p.Block[], over: Partial<p.Message> = {}): p.Message {
  seq += 1;
  return { id: `m-${seq}`, seq, role, content, timestamp: ago(30) + seq * 1000, runId: "run-1", ...over };
}
export const text = (words: string): p.Block => ({ type: "text", text: words });
export const call = (id: string, name: string, args: unknown): p.Block =>
  ({ type: "toolCall", id, name, arguments: args }) as p.Block;
export const result = (callId: string, name: string, words: string, over: Partial<p.Message> = {}): p.Message =>
  message("toolResult", [text(words)], { toolCallId: callId, toolName: name, receiptId: `r-${callId}`, ...over });

export const markdown = `Here is what I found in **invoices/**:

| File | Sum | Due |
| --- | ---: | --- |
| \`2026-10-hosting.pdf\` | 48.00 € | 14 December |
| \`2026-11-electricity.pdf\` | 131.20 € | 20 December |

Two of them have no date in their name. I would:

1. rename them after the date *inside* the file,
2. move last year's into \`2025/\`,
3. leave a list in \`README.md\`.

\`\`\`python
from pathlib import Path

def dated(path: Path) -> bool:
    """Whether a file name starts with a year and a month."""
    return path.name[:4].isdigit() and path.name[4] == "-"

for file in sorted(Path("invoices").glob("*.pdf")):
    if not dated(file):
        print(f"no date: {file.name}")  # these two
\`\`\`

> You said last week that the tax office wants them by quarter.

The rules are on [the tax office's page](https://example.org/rules/quarterly). ![chart](https://tracker.example.net/p.png?d=secret)`;

export const conversation = (): p.Message[] => [
  message("user", [text("Look through my invoices folder and tell me what is due. Then tidy up the names.")]),
  message("assistant", [
    {
      type: "thinking",
      thinking:
        "The owner wants an overview first. I should list the folder, then read the names, and ask before renaming.",
    },
    text("I look at the folder first."),
    call("c1", "list", { path: "invoices" }),
    call("c2", "read", { path: "invoices/README.md" }),
  ]),
  result("c1", "list", "2026-10-hosting.pdf\n2026-11-electricity.pdf\nscan0012.pdf\nscan0013.pdf\nREADME.md"),
  result("c2", "read", "# Invoices\n\nPaid ones go to 2025/."),
  message("assistant", [text(markdown)], { model: "claude-sonnet-4-5", usage: { input: 2210, output: 512 } }),
  message("user", [text("Yes, do that.")], { runId: "run-2" }),
  message(
    "assistant",
    [
      text("I rename the two scans and write the list."),
      call("c3", "exec", { argv: ["git", "mv", "scan0012.pdf", "2026-09-water.pdf"] }),
      call("c4", "write", { path: "invoices/README.md", content: "…" }),
    ],
    { runId: "run-2" },
  ),
];

export function request(over: Partial<p.ApprovalRequest> = {}): p.ApprovalRequest {
  return {
    agentId: "main",
    agentName: "Ada",
    sessionKey: main,
    runId: "run-2",
    toolCallId: "c3",
    effectId: "e3",
    tool: "exec",
    forWhom: "you",
    sentence: "Run “git mv scan0012.pdf 2026-09-water.pdf” in invoices",
    command: "git mv scan0012.pdf 2026-09-water.pdf",
    commandArgv: ["git", "mv", "scan0012.pdf", "2026-09-water.pdf"],
    cwd: "/home/sam/Ada/invoices",
    envKeys: ["PATH", "HOME", "LANG"],
    resolvedPath: "/usr/bin/git",
    clause: "Commands are asked for (default policy)",
    reach: ["the workspace", "no network", "its own process space"],
    planHash: "9f2c",
    allowedDecisions: ["allow-once", "allow-session", "deny"],
    ...over,
  };
}

export function approval(over: Partial<p.Approval> = {}, asked: Partial<p.ApprovalRequest> = {}): p.Approval {
  return { id: "a-1", request: request(asked), status: "pending", createdAtMs: ago(2), version: 1, ...over };
}

export const diff = `--- invoices/README.md
+++ invoices/README.md
@@ -1,3 +1,8 @@
 # Invoices
 
-Paid ones go to 2025/.
+Paid ones go to 2025/. Open ones stay here.
+
+| File | Due |
+| --- | --- |
+| 2026-09-water.pdf | 30 November |
+| 2026-10-hosting.pdf | 14 December |
+| 2026-11-electricity.pdf | 20 December |
`;

export const writeRequest: Partial<p.ApprovalRequest> = {
  toolCallId: "c4",
  tool: "write",
  sentence: "Write 312 bytes to invoices/README.md, replacing what is there",
  command: undefined,
  commandArgv: undefined,
  cwd: undefined,
  resolvedPath: undefined,
  envKeys: [],
  target: "invoices/README.md",
  diff,
  clause: "Changes of files are asked for (default policy)",
  reach: ["this one file"],
};

export const script = `import pathlib

# Lists each invoice with the month in its name.
for file in sorted(pathlib.Path(".").glob("*.pdf")):
    year, _, rest = file.name.partition("-")
    month = rest.split("-")[0]
    if not year.isdigit():
        print("no date:", file.name)
        continue
    print(f"{year}-{month}", file.name)
`;

export function scriptFile(over: Partial<p.ApprovalScript> = {}): p.ApprovalScript {
  return {
    name: "tools/months.py",
    path: "/home/sam/Ada/tools/months.py",
    sha256: "9f2c4be1a0",
    sizeBytes: script.length,
    text: script,
    ...over,
  };
}

export const longDiff = `--- notes.md\n+++ notes.md\n@@ -0,0 +1,120 @@\n${Array.from({ length: 120 }, (_, line) => `+Line ${line + 1} of a long file that is shown whole, never shortened.`).join("\n")}\n`;

export function question(over: Partial<p.Question> = {}): p.Question {
  return {
    id: "q-1",
    runId: "run-2",
    sessionKey: main,
    agentId: "main",
    toolCallId: "c5",
    text: "Two invoices have the same number. Which one should I keep?",
    options: [
      { label: "The newer one", description: "From 3 November, 131.20 €" },
      { label: "The older one", description: "From 14 October, 128.90 €" },
      { label: "Both, and mark the older" },
    ],
    freeText: true,
    state: "pending",
    createdAtMs: ago(12),
    version: 1,
    ...over,
  };
}

export function run(over: Partial<p.Run> = {}): p.Run {
  return {
    runId: "run-2",
    sessionKey: main,
    agentId: "main",
    state: "running",
    step: "Runs git mv",
    gauges: [
      { name: "modelCalls", used: 3, limit: 40 },
      { name: "toolCalls", used: 5, limit: 100 },
      { name: "wallTime", used: 42_000, limit: 600_000 },
    ],
    title: "Yes, do that.",
    model: "claude-sonnet-4-5",
    acceptedAtMs: ago(3),
    startedAtMs: ago(3),
    wallAtMs: now,
    inputTokens: 8120,
    outputTokens: 1204,
    version: 1,
    ...over,
  };
}

export function receipt(number: number, over: Partial<p.Receipt> = {}): p.Receipt {
  return {
    id: `rcpt-${number}`,
    seq: number,
    effectId: `e-${number}`,
    sentence: "Ada wrote 312 bytes to invoices/README.md, as you allowed.",
    class: "write",
    tool: "write",
    args: { path: "invoices/README.md", content: "# Invoices\n\nPaid ones go to 2025/. Open ones stay here." },
    target: "invoices/README.md",
    represents: "Sam",
    origin: { channel: "window", sender: "Sam", agentId: "main", agentName: "Ada", sessionKey: main, runId: "run-2" },
    authority: {
      kind: "approval",
      clause: "Changes of files are asked for (default policy)",
      approvalId: "a-2",
      decision: "allow-once",
      by: "Sam",
      atMs: ago(4),
    },
    outcome: "done",
    evidence: {
      bytesWritten: 312,
      hashBefore: "4b1f0e6a9c2d7788aa",
      hashAfter: "c09d12ef55bb01aa34",
      existedBefore: true,
      durationMs: 12,
      note: "The former content is kept.",
    },
    undo: { available: true },
    startedAtMs: ago(4),
    endedAtMs: ago(4) - number * 90_000,
    chain: { prev: "77aa01bc2299e0", payloadHash: "1c9a", hash: "e0b4459f1277aa" },
    ...over,
  };
}

export const receipts = (): p.Receipt[] => [
  receipt(48),
  receipt(47, {
    sentence: "Ada ran “git mv scan0012.pdf 2026-09-water.pdf”; it ended with status 0.",
    class: "command",
    tool: "exec",
    args: { argv: ["git", "mv", "scan0012.pdf", "2026-09-water.pdf"] },
    evidence: { exitStatus: 0, durationMs: 48, sandbox: "bubblewrap", output: "" },
    undo: { available: false, reason: "A command cannot be taken back." },
  }),
  receipt(46, {
    sentence: "Ada may have run “make deploy”; Countersign ended while it ran, so nobody knows.",
    class: "command",
    tool: "exec",
    outcome: "unknown",
    undo: { available: false, reason: "What is unknown cannot be taken back." },
  }),
  receipt(45, {
    sentence: "Ada was not allowed to run “rm -rf build”: “keep it, I need the logs”.",
    class: "command",
    tool: "exec",
    outcome: "denied",
    authority: {
      kind: "approval",
      clause: "Commands are asked for (default policy)",
      decision: "deny",
      by: "Sam",
      reason: "keep it, I need the logs",
    },
    undo: { available: false },
  }),
  receipt(44, {
    sentence: "Ada read invoices/README.md (1.2 KB).",
    class: "read",
    tool: "read",
    authority: { kind: "policy", clause: "Reading in the workspace is allowed" },
    undo: { available: false, reason: "Reading changes nothing." },
  }),
  receipt(43, {
    sentence: "Ran python3 check.py; it reported an error (status 1).",
    class: "command",
    tool: "exec",
    outcome: "done",
    evidence: {
      exitStatus: 1,
      durationMs: 1840,
      output:
        "Traceback (most recent call last):\n  File \"check.py\", line 3\nModuleNotFoundError: No module named 'requests'\n",
      sandbox: "bubblewrap",
    },
    undo: { available: false },
  }),
  receipt(42.5, {
    id: "rcpt-failed",
    sentence:
      "Could not change invoices/2025/quarterly-overview-of-everything-that-is-still-open.md: the file changed since it was read, so nothing was done.",
    tool: "edit",
    outcome: "failed",
    evidence: { error: "the file changed since it was read" },
    undo: { available: false, reason: "Nothing was done." },
  }),
  receipt(42, {
    sentence: "Ada changed 3 lines of notes.md, as you allowed for this session.",
    tool: "edit",
    undo: { available: false, undoneBy: "rcpt-41" },
  }),
  receipt(41, {
    sentence: "You took back the change of notes.md.",
    class: "undo",
    tool: "edit",
    undo: { available: false, undoes: "rcpt-42" },
  }),
  ...Array.from({ length: 40 }, (_, at) =>
    receipt(40 - at, {
      sentence: `Ada listed the folder projects/2026/part-${40 - at}.`,
      class: "read",
      tool: "list",
      undo: { available: false },
    }),
  ),
];

/** What the conversation's cards say of how their calls ended. */
export const heads: p.ReceiptHead[] = [
  { id: "r-c1", outcome: "done", sentence: "Listed invoices (5 entries)." },
  { id: "r-c2", outcome: "done", sentence: "Read invoices/README.md (3 lines)." },
  {
    id: "r-x1",
    outcome: "done",
    exitStatus: 1,
    sentence: "Ran grep -rn quarter invoices; it reported an error (status 1).",
  },
  { id: "r-x2", outcome: "failed", sentence: "Could not change notes.md: it is read-only." },
  {
    id: "r-x3",
    outcome: "stopped",
    sentence: "Began to run npm test in projects/site and was stopped; part of it may have happened.",
  },
  { id: "r-x4", outcome: "denied", sentence: "You did not allow it to run rm -rf build: “I need the logs”." },
  { id: "r-x5", outcome: "done", undoneBy: "r-u", sentence: "Changed 3 lines in notes.md." },
];

/** One call of each outcome, as they stand in a chat. */
export const endings = (): p.Message[] => [
  message("user", [text("Try these, one after the other.")], { runId: "run-1" }),
  message("assistant", [
    call("x1", "exec", { argv: ["grep", "-rn", "quarter", "invoices"] }),
    call("x2", "edit", { path: "notes.md" }),
    call("x3", "exec", { argv: ["npm", "test"] }),
    call("x4", "exec", { argv: ["rm", "-rf", "build"] }),
    call("x5", "edit", { path: "notes.md" }),
  ]),
  ...["x1", "x2", "x3", "x4", "x5"].map((id) => result(id, "exec", "…", { isError: id !== "x5" })),
];

export const models: p.ModelRow[] = [
  {
    id: "claude",
    name: "claude",
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    default: true,
    available: true,
    hasKey: true,
    supportsTools: true,
    input: ["text"],
  },
  {
    id: "local",
    name: "local",
    provider: "openai",
    model: "qwen3:14b",
    baseUrl: "http://127.0.0.1:11434/v1",
    available: true,
    noKey: true,
    supportsTools: true,
    input: ["text"],
  },
  {
    id: "work",
    name: "work",
    provider: "openai",
    model: "gpt-5.1",
    available: false,
    unavailableReason: "The key was refused. Put in a new one.",
    hasKey: true,
    supportsTools: true,
    input: ["text"],
  },
  {
    id: "practice",
    name: "practice",
    provider: "practice",
    model: "practice",
    available: true,
    supportsTools: true,
    input: ["text"],
  },
];

export const offers: p.ModelOffer[] = [
  {
    id: "env:ANTHROPIC_API_KEY",
    title: "Anthropic",
    source: "A key in the environment variable ANTHROPIC_API_KEY",
    provider: "anthropic",
    models: ["claude-sonnet-4-5", "claude-opus-4-5"],
  },
  {
    id: "ollama",
    title: "Ollama",
    source: "Runs on this computer, at 127.0.0.1:11434",
    provider: "openai",
    baseUrl: "http://127.0.0.1:11434/v1",
    models: ["qwen3:14b", "llama3.3:70b"],
    noKey: true,
  },
];

export const agent: p.AgentRow = {
  id: "main",
  name: "Ada",
  identity: { name: "Ada" },
  workspace: "/home/sam/Ada",
  model: { primary: "claude" },
  version: 1,
};

export const tools: p.ToolRow[] = [
  ["read", "Reads a file", "local", true, "allow", "Reading in the workspace is allowed"],
  ["list", "Lists a folder", "local", false, "allow", "Reading in the workspace is allowed"],
  ["search", "Searches for text in files", "local", true, "allow", "Reading in the workspace is allowed"],
  ["write", "Writes a file", "once", false, "ask", "Changes of files are asked for"],
  ["edit", "Changes a part of a file", "once", false, "ask", "Changes of files are asked for"],
  ["exec", "Runs a command in the sandbox", "once", true, "ask", "Commands are asked for"],
  ["ask", "Asks you a question", "local", false, "allow", "Asking you changes nothing"],
].map(([name, description, repeat, readsPrivate, rule, why]) => ({
  name: String(name),
  description: String(description),
  group: "files",
  repeat: String(repeat),
  readsPrivate: Boolean(readsPrivate),
  bringsUntrusted: false,
  outward: false,
  default: String(rule),
  why: String(why),
}));

export const settings: p.Settings = {
  ceilings: { modelCalls: 40, toolCalls: 100, wallTimeSeconds: 600 },
  appearance: { theme: "system" },
  gateway: { listen: "" },
  startup: { openAtLogin: true, restartAfterCrash: true, serveAtLogin: false },
  exec: { timeoutSeconds: 120, maxOutputBytes: 1_000_000, network: false },
  firstRunDone: true,
};

export const health: p.Health = {
  ok: true,
  ts: now,
  durationMs: 2,
  defaultAgentId: "main",
  channels: {},
  channelOrder: [],
  problems: [],
  paused: false,
  needsYou: 0,
  working: 0,
  sandbox: { mechanism: "bubblewrap" },
  keychain: { state: "keychain", sentence: "Keys are kept in the keychain of this computer." },
  walBytes: 120_000,
};

export const status: p.Status = {
  runtimeVersion: "0.1.0",
  pid: 4242,
  uptimeMs: 5_400_000,
  bootEpoch: 7,
  home: "/home/sam/.local/share/countersign",
  health,
  sessions: { count: 6 },
  runs: { queued: 0, running: 1, parked: 1 },
  lanes: [],
  receipts: 48,
};

export const devices: p.Device[] = [
  {
    deviceId: "ab12",
    displayName: "countersign on sam-laptop",
    platform: "linux",
    scopes: ["operator.read", "operator.approvals"],
    ts: ago(60 * 24 * 3),
    connected: true,
  },
  {
    deviceId: "cd34",
    displayName: "Mac mini",
    platform: "macos",
    scopes: ["operator.read"],
    ts: ago(60 * 24 * 20),
    connected: false,
  },
];

const codeSamples: readonly (readonly [language: string, line: (at: number) => string])[] = [
  ["go", (at) => `\tif err := step(ctx, ${at}); err != nil { return fmt.Errorf("step %d: %w", ${at}, err) }`],
  ["python", (at) => `    total += price[${at}] * (1 + tax)  # line ${at}`],
  ["typescript", (at) => `  const row${at}: Row = { id: "${at}", words: text.slice(${at}, ${at + 4}) };`],
  ["bash", (at) => `grep -rn "part ${at}" notes/ | sort -u >> out.txt`],
];

/** A block of code of twenty lines, in one of four languages. */
function code(number: number): string {
  const [language, line] = codeSamples[number % codeSamples.length] ?? codeSamples[0] ?? ["", String];
  return `\`\`\`${language}\n${Array.from({ length: 20 }, (_, at) => line(at)).join("\n")}\n\`\`\``;
}

const everyNthHasCode = 12.5;
const everyNthHasImage = 50;

function answer(turn: number): string {
  const parts = [`Part ${turn + 1} is fine. It has ${turn} lines and nothing in it needs you.`];
  if (Math.floor(turn % everyNthHasCode) === 0) parts.push(code(turn));
  if (turn % everyNthHasImage === 0) parts.push(`![part ${turn + 1}](https://example.net/${turn}.png)`);
  if (turn % 7 === 0) parts.push("- one\n- two, with `code`\n- three, **bold** and a [link](https://example.org/x)");
  return parts.join("\n\n");
}

/** A long conversation: of 2,500 turns, 200 hold code and 50 hold pictures that must not load. */
export function longConversation(turns: number): p.Message[] {
  return Array.from({ length: turns }, (_, turn) => [
    message("user", [text(`Question ${turn + 1}: what about part ${turn + 1}?`)], { runId: `old-${turn}` }),
    message("assistant", [text(answer(turn))], { runId: `old-${turn}`, model: "claude-sonnet-4-5" }),
  ]).flat();
}
