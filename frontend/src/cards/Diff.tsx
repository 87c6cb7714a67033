import { reveal } from "@/markdown/reveal";
import styles from "./cards.module.css";
import { Scrolled } from "./Scrolled";

type LineKind = "added" | "removed" | "place" | "same";

function kindOf(line: string): LineKind {
  if (line.startsWith("+++") || line.startsWith("---") || line.startsWith("@@")) return "place";
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "removed";
  return "same";
}

const words: Record<LineKind, string> = { added: "added: ", removed: "removed: ", place: "", same: "" };

/** A change of a file, whole, line by line. The sign says what each line is; colour only repeats it. */
export function Diff({ text }: { text: string }) {
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <Scrolled label={`The change, ${lines.length} lines`}>
      <pre className={styles.diff}>
        {lines.map((line, at) => {
          const kind = kindOf(line);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines of fixed text; their place is their identity.
            <span key={at} className={styles[kind]}>
              <span className="visually-hidden">{words[kind]}</span>
              {reveal(line)}
              {"\n"}
            </span>
          );
        })}
      </pre>
    </Scrolled>
  );
}
