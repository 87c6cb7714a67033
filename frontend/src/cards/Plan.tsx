import type { ApprovalRequest } from "@/gateway/protocol.gen";
import { reveal } from "@/markdown/reveal";
import styles from "./cards.module.css";
import { Diff } from "./Diff";

/** One argument, with its borders visible, so that "a b" and "a" "b" never look the same. */
function Argument({ text }: { text: string }) {
  return <span className={styles.argument}>{text === "" ? <em>empty</em> : reveal(text)}</span>;
}

/** Exactly what would run or change: the argv, the shell text, the diff, or the arguments. Never shortened. */
export function Plan({ request }: { request: ApprovalRequest }) {
  if (request.diff) return <Diff text={request.diff} />;
  if (request.commandArgv && request.commandArgv.length > 0) {
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
      <section className={styles.plan} aria-label="The command, argument by argument" tabIndex={0}>
        <p className={styles.argv}>
          {request.commandArgv.map((argument, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: arguments of a fixed command; their place is their identity.
            <Argument key={at} text={argument} />
          ))}
        </p>
      </section>
    );
  }
  const text = request.command ?? JSON.stringify(request.args ?? {}, null, 2);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section className={styles.plan} aria-label={request.command ? "The command" : "The arguments"} tabIndex={0}>
      <pre>{reveal(text)}</pre>
    </section>
  );
}
