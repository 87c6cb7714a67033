import type { ReactNode } from "react";
import type { ApprovalRequest, ApprovalScript } from "@/gateway/protocol.gen";
import { reveal } from "@/markdown/reveal";
import { formatBytes } from "@/ui/format";
import styles from "./cards.module.css";
import { Diff } from "./Diff";
import { Scrolled } from "./Scrolled";

/** One argument, with its borders visible, so that "a b" and "a" "b" never look the same. */
function Argument({ text }: { text: string }) {
  return <span className={styles.argument}>{text === "" ? <em>empty</em> : reveal(text)}</span>;
}

/** Exactly what would run or change: the argv, the shell text, the diff, or the arguments. Never shortened. */
export function Plan({ request }: { request: ApprovalRequest }) {
  return (
    <>
      <Main request={request} />
      {request.input ? (
        <Part title="What it reads from its standard input">
          <Scrolled label="The standard input">
            <pre>{reveal(request.input)}</pre>
          </Scrolled>
        </Part>
      ) : null}
      {(request.scripts ?? []).map((script) => (
        <Script key={script.path} script={script} />
      ))}
    </>
  );
}

// A command that names a script runs what stands in it, so the script is part of what is read before it is allowed.
function Script({ script }: { script: ApprovalScript }) {
  const { name, path, text, sizeBytes, sha256 } = script;
  return (
    <Part title={`The script it runs: ${reveal(name)}`}>
      {script.binary ? (
        <p className={styles.quiet}>This file is no text, so what it does cannot be shown.</p>
      ) : (
        <Scrolled label={`The text of ${reveal(name)}`}>
          <pre>{text === "" ? <em>empty</em> : reveal(text)}</pre>
        </Scrolled>
      )}
      <p className={styles.quiet} title={`${reveal(path)}\nSHA-256 ${sha256}`}>
        {script.cut
          ? `Only its beginning is shown, of ${formatBytes(sizeBytes)}.`
          : `${formatBytes(sizeBytes)}. If it changes, you are asked again.`}
      </p>
    </Part>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className={styles.part}>
      <h3>{title}</h3>
      {children}
    </div>
  );
}

function Main({ request }: { request: ApprovalRequest }) {
  if (request.diff) return <Diff text={request.diff} />;
  if (request.commandArgv && request.commandArgv.length > 0) {
    return (
      <Scrolled label="The command, argument by argument">
        <p className={styles.argv}>
          {request.commandArgv.map((argument, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: arguments of a fixed command; their place is their identity.
            <Argument key={at} text={argument} />
          ))}
        </p>
      </Scrolled>
    );
  }
  const text = request.command ?? JSON.stringify(request.args ?? {}, null, 2);
  return (
    <Scrolled label={request.command ? "The command" : "The arguments"}>
      <pre>{reveal(text)}</pre>
    </Scrolled>
  );
}
